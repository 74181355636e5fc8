"""Input serializers (what requests may contain) and output serializers (compiled to SQL)."""

from typing import Any

from rest_framework import serializers

from leads.phones import Phone, calling_code, is_country_code, parse_phone
from optins.models import ACCEPTED_ON_SUBMIT, OptIn, OptInSource, QuestionAnswer
from pipeline_backend.api import sql_serializers as sql
from pipeline_backend.api.fields import (
    MAX_TEXT_LENGTH,
    MAX_URL_LENGTH,
    BoundedListField,
    ChoiceField,
    EmailField,
    InputSerializer,
    IntegerField,
    StringField,
)


class OptInListSerializer(sql.SQLSerializer):
    """An opt-in, as lists and appointments show it (interface 2.8)."""

    component_name = "OptInItem"
    model = OptIn

    id = sql.UUIDField()
    lead_id = sql.UUIDField(help="The lead it created or matched.")
    source = sql.ChoiceField(OptInSource)
    provider_form_id = sql.StringField(null=True)
    provider_form_name = sql.StringField(null=True)
    external_reference = sql.StringField(null=True, help="The provider's reference of the submission.")
    created_at = sql.DateTimeField()


class QuestionAnswerSerializer(sql.SQLSerializer):
    """A question and its answer (interface 2.8)."""

    model = QuestionAnswer

    id = sql.UUIDField()
    question = sql.StringField()
    answer = sql.StringField(null=True, help="Null if skipped.")
    position = sql.IntegerField(help="Display order, from 1.")


class TrafficAttributionSerializer(sql.SQLSerializer):
    """Where the visit came from (interface 2.8)."""

    model = OptIn

    utm_source = sql.StringField(null=True)
    utm_medium = sql.StringField(null=True)
    utm_campaign = sql.StringField(null=True)
    utm_content = sql.StringField(null=True)
    utm_term = sql.StringField(null=True)
    referrer = sql.StringField(null=True)
    landing_page = sql.StringField(null=True)


class SameRowObject(sql.NestedObject):
    """Columns of the same row, grouped as an object."""

    def expression(self, name, prefix):  # type: ignore[no-untyped-def]
        """The inner object, of the same row."""
        return self.shape.expression(prefix)


class OptInDetailSerializer(OptInListSerializer):
    """An opt-in with its answers and traffic (interface 2.8)."""

    question_answers = sql.NestedList(
        QuestionAnswerSerializer, lambda outer: QuestionAnswer.unscoped.filter(opt_in=outer("pk")).order_by("position")
    )
    traffic_attribution = SameRowObject(TrafficAttributionSerializer)


MAX_ANSWERS = 50
MAX_POSITION = 10_000


class QuestionAnswerInputSerializer(InputSerializer):
    """A question and its answer; without a position, its place in the array counts."""

    question = StringField(MAX_TEXT_LENGTH)
    answer = StringField(MAX_TEXT_LENGTH, required=False, help_text="Absent, null or blank: skipped.")
    position = IntegerField(1, MAX_POSITION, required=False)


class TrafficInputSerializer(InputSerializer):
    """Where the visit came from."""

    utm_source = StringField(required=False)
    utm_medium = StringField(required=False)
    utm_campaign = StringField(required=False)
    utm_content = StringField(required=False, help_text="A user id (user_…) makes that member the lead's setter.")
    utm_term = StringField(required=False)
    referrer = StringField(MAX_URL_LENGTH, required=False)
    landing_page = StringField(MAX_URL_LENGTH, required=False)


class OptInInputSerializer(InputSerializer):
    """A submission (interface 4.5)."""

    email = EmailField()
    first_name = StringField(trim=True)
    source = ChoiceField(ACCEPTED_ON_SUBMIT)  # type: ignore[assignment]  # DRF's own `source` is an attribute of fields
    last_name = StringField(trim=True, required=False)
    phone_e164 = StringField(required=False, trim=True, help_text="E.164.")
    phone_country = StringField(required=False, trim=True, help_text="ISO 3166-1 alpha-2; required with phone_e164.")
    provider_form_id = StringField(required=False)
    provider_form_name = StringField(required=False)
    external_reference = StringField(required=False, help_text="Idempotency key, together with source.")
    questions_answers = BoundedListField(child=QuestionAnswerInputSerializer(), required=False, max_length=MAX_ANSWERS)
    traffic = TrafficInputSerializer(required=False)

    def validate_questions_answers(self, answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Every answer with a position of its own."""
        taken: set[int] = set()
        errors: dict[Any, Any] = {}
        for index, answer in enumerate(answers):
            answer.setdefault("position", index + 1)
            if answer["position"] in taken:
                errors[index] = {"position": ["must be unique"]}
            taken.add(answer["position"])
        if errors:
            raise serializers.ValidationError(errors)
        return answers

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Phone and country belong together (decision 15)."""
        text, country = values.pop("phone_e164", None), values.pop("phone_country", None)
        if country and not is_country_code(country):
            raise serializers.ValidationError({"phone_country": ["must be an ISO 3166-1 alpha-2 country code"]})
        return {**values, "phone": require_phone(text, country) if text else None}


def require_phone(text: str, country: str | None) -> Phone:
    """The number, or 400 for one that is none or belongs elsewhere."""
    if not country:
        raise serializers.ValidationError({"phone_country": ["is required when phone_e164 is given"]})
    phone = parse_phone(text, country) if text.startswith("+") else None
    if phone is None:
        raise serializers.ValidationError(
            {"phone_e164": ["must be a phone number in E.164 form, such as +14155552671"]}
        )
    if calling_code(phone.country) != calling_code(country):
        raise serializers.ValidationError({"phone_country": ["must be a country of phone_e164"]})
    return Phone(phone.e164, country)
