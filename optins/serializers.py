"""Serializers of opt-ins: first what the API returns and webhooks send, then what requests contain.

To add a field to the output, add one line to `OptInListSerializer` (lists, the detail, appointments and events) or to
`OptInDetailSerializer`. To accept a field, add one line to `OptInInputSerializer`; `submit` passes it to the model.
"""

from operator import itemgetter
from typing import Any, NotRequired, TypedDict

from phonenumbers import country_code_for_region
from rest_framework import serializers

from foundation.api import sql_serializers as sql
from foundation.api.fields import (
    MAX_TEXT_LENGTH,
    AnyTextField,
    BoundedListField,
    ChoiceField,
    EmailField,
    InputSerializer,
    IntegerField,
    LenientInputSerializer,
    StringField,
)
from leads.phones import Phone, parse_phone, read_country_code
from optins.models import ACCEPTED_ON_SUBMIT, MAX_TRAFFIC_LENGTH, OptIn, OptInSource, QuestionAnswer
from webhooks.topics import AttributionSerializer

# --- Output, read from the database as finished JSON


class OptInListSerializer(sql.SQLSerializer):
    """An opt-in in lists and in an appointment."""

    component_name = "OptInItem"
    model = OptIn

    id = sql.UUIDField()
    lead_id = sql.UUIDField(help_text="The lead it created or matched.")
    source = sql.ChoiceField(OptInSource)
    provider_form_id = sql.StringField(null=True)
    provider_form_name = sql.StringField(null=True)
    external_reference = sql.StringField(null=True, help_text="The provider's reference of the submission.")
    created_at = sql.DateTimeField()


class QuestionAnswerSerializer(sql.SQLSerializer):
    """A question and its answer."""

    model = QuestionAnswer

    id = sql.UUIDField()
    question = sql.StringField()
    answer = sql.StringField(null=True, help_text="Null if skipped.")
    position = sql.IntegerField(help_text="Display order, from 1.")


class TrafficAttributionSerializer(AttributionSerializer):
    """The traffic source of the visit."""

    model = OptIn

    referrer = sql.StringField(null=True)
    landing_page = sql.StringField(null=True)


class OptInDetailSerializer(OptInListSerializer):
    """An opt-in with its answers and its traffic source."""

    question_answers = sql.NestedList(
        QuestionAnswerSerializer, lambda outer: QuestionAnswer.unscoped.filter(opt_in=outer("pk")).order_by("position")
    )
    traffic_attribution = sql.SameRowObject(TrafficAttributionSerializer)


class SubmissionSerializer(sql.SQLSerializer):
    """The result of a submission."""

    component_name = "Submitted"

    opt_in_id = sql.UUIDField()
    lead_id = sql.UUIDField()
    is_new_lead = sql.BooleanField()


# --- Input

MAX_ANSWERS = 50
MAX_POSITION = 10_000


class QuestionAnswerData(TypedDict):
    question: str
    answer: NotRequired[str | None]  # absent or None if the question was skipped
    position: int


class QuestionAnswerInputSerializer(InputSerializer):
    """A question and its answer. The position defaults to the place in the array, from 1."""

    question = StringField(max_length=MAX_TEXT_LENGTH)
    answer = AnyTextField(
        max_length=MAX_TEXT_LENGTH,
        help_text="Stored as text, a list joined by commas. Absent, null or blank if the question was skipped.",
    )
    position = IntegerField(min_value=1, max_value=MAX_POSITION, required=False, allow_null=True)


def traffic_field(help_text: str = "") -> AnyTextField:
    """Return a field that refuses nothing, because no submission is worth losing for it."""
    return AnyTextField(max_length=MAX_TRAFFIC_LENGTH, cut=True, help_text=help_text)


class TrafficInputSerializer(LenientInputSerializer):
    """The traffic source of the visit. Each value is stored as text, trimmed and cut to 8,192 characters."""

    utm_source = traffic_field()
    utm_medium = traffic_field()
    utm_campaign = traffic_field()
    utm_content = traffic_field(
        "The user id (user_…) of an active member who is not a viewer makes that member the lead's setter."
    )
    utm_term = traffic_field()
    referrer = traffic_field()
    landing_page = traffic_field()


class OptInInputSerializer(InputSerializer):
    """A form submission."""

    email = EmailField()
    first_name = StringField(trim_whitespace=True)
    source = ChoiceField(ACCEPTED_ON_SUBMIT)  # type: ignore[assignment]  # DRF's own `source` is an attribute of fields
    last_name = StringField(trim_whitespace=True, required=False)
    phone_e164 = StringField(required=False, trim_whitespace=True, help_text="E.164.")
    phone_country = StringField(
        required=False,
        trim_whitespace=True,
        help_text="ISO 3166-1 alpha-2, in either letter case; required with phone_e164.",
    )
    provider_form_id = StringField(required=False)
    provider_form_name = StringField(required=False)
    external_reference = StringField(required=False, help_text="Idempotency key, together with source.")
    questions_answers = BoundedListField(child=QuestionAnswerInputSerializer(), required=False, max_length=MAX_ANSWERS)
    traffic = TrafficInputSerializer(required=False)

    def validate_questions_answers(self, answers: list[QuestionAnswerData]) -> list[QuestionAnswerData]:
        """Return the answers in their order, each with a position of its own (docs/interface.md, O5)."""
        for place, answer in enumerate(answers, start=1):
            answer.setdefault("position", place)
        position = 0
        # Sorting is stable: equal positions keep the order in which they came.
        for answer in sorted(answers, key=itemgetter("position")):
            position = answer["position"] = max(answer["position"], position + 1)
        return answers

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        text, country = values.pop("phone_e164", None), values.pop("phone_country", None)
        if country:
            country = read_country_code(country)
            if country is None:
                raise serializers.ValidationError({"phone_country": ["must be an ISO 3166-1 alpha-2 country code"]})
        return {**values, "phone": parse_phone_with_country(text, country) if text else None}


def parse_phone_with_country(text: str, country: str | None) -> Phone:
    """Return the number. Raises ValidationError if it is invalid or does not fit the country."""
    if not country:
        raise serializers.ValidationError({"phone_country": ["is required when phone_e164 is given"]})
    phone = parse_phone(text, country) if text.startswith("+") else None
    if phone is None:
        raise serializers.ValidationError(
            {"phone_e164": ["must be a phone number in E.164 form, such as +14155552671"]}
        )
    # Countries share calling codes (+1 is US and CA), so the country is stored as sent, not as parsed.
    if country_code_for_region(phone.country) != country_code_for_region(country):
        raise serializers.ValidationError({"phone_country": ["must be a country of phone_e164"]})
    return Phone(phone.e164, country)
