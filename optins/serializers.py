"""Serializers of opt-ins: first what the API returns and webhooks send, then what requests contain.

To add a field to the output, add one line to `OptInItemSerializer` (lists, the detail, appointments and events) or to
`OptInDetailSerializer`. To accept a field, add one line to `OptInInputSerializer`; `submit` passes it to the model.
"""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, NotRequired, TypedDict

from foundation.api import sql_serializers as sql
from foundation.api.fields import (
    MAX_TEXT_LENGTH,
    AnyTextField,
    BoundedListField,
    ChoiceField,
    DateTimeField,
    EmailField,
    InputSerializer,
    IntegerField,
    LenientInputSerializer,
    LongStringField,
    NameField,
    PathTextField,
    StringField,
    is_blank,
)
from leads.serializers import PhoneInputSerializer
from optins.models import ACCEPTED_ON_SUBMIT, MAX_TRAFFIC_LENGTH, OptIn, OptInSource, QuestionAnswer
from webhooks.topics import AttributionSerializer

# --- Output, read from the database as finished JSON


class OptInItemSerializer(sql.SQLSerializer):
    """An opt-in in lists and in an appointment."""

    model = OptIn

    id = sql.UUIDField(help_text="The opt-in's id.")
    lead_id = sql.UUIDField(help_text="The lead it created or matched.")
    source = sql.ChoiceField(OptInSource, help_text="Where the form was submitted.")
    provider_form_id = sql.StringField(null=True, help_text="The provider's id of the form.")
    provider_form_name = sql.StringField(null=True, help_text="The provider's name of the form.")
    external_reference = sql.StringField(null=True, help_text="The provider's reference of the submission.")
    created_at = sql.DateTimeField(help_text="When the opt-in was stored.")


class QuestionAnswerSerializer(sql.SQLSerializer):
    """A question and its answer."""

    model = QuestionAnswer

    id = sql.UUIDField(help_text="The answer's id.")
    question = sql.StringField(help_text="The question as the form showed it.")
    answer = sql.StringField(null=True, help_text="Null if skipped.")
    position = sql.IntegerField(help_text="Display order, from 1.")


class TrafficAttributionSerializer(AttributionSerializer):
    """The traffic source of the visit."""

    model = OptIn

    referrer = sql.StringField(null=True, help_text="The page that the visitor came from.")
    landing_page = sql.StringField(null=True, help_text="The first page that the visitor saw.")


class OptInDetailSerializer(OptInItemSerializer):
    """An opt-in with its answers and its traffic source."""

    question_answers = sql.NestedList(
        QuestionAnswerSerializer,
        lambda outer: QuestionAnswer.unscoped.filter(opt_in=outer("pk")).order_by("position"),
        help_text="The questions and answers, in the order of position.",
    )
    traffic_attribution = sql.SameRowObject(TrafficAttributionSerializer, help_text="The traffic source of the visit.")


class SubmittedSerializer(sql.SQLSerializer):
    """The result of a submission."""

    opt_in_id = sql.UUIDField(help_text="The opt-in's id.")
    lead_id = sql.UUIDField(help_text="The lead's id.")
    is_new_lead = sql.BooleanField(help_text="Whether the submission created the lead.")


class SyncedOptInSerializer(sql.SQLSerializer):
    """The result of a sync."""

    opt_in_id = sql.UUIDField(help_text="The opt-in's id.")
    lead_id = sql.UUIDField(help_text="The lead's id.")
    applied = sql.BooleanField(help_text="false if the state is older than the stored one, or its lead was erased.")


# --- Input

MAX_ANSWERS = 50
MAX_POSITION = 10_000


class QuestionAnswerData(TypedDict):
    question: str
    answer: NotRequired[str | None]  # absent or None if the question was skipped
    position: int


class QuestionAnswerInputSerializer(InputSerializer):
    """A question and its answer. The position defaults to the place in the array, from 1."""

    question = LongStringField(help_text="The question as the form showed it.")
    answer = AnyTextField(
        max_length=MAX_TEXT_LENGTH,
        help_text="A string. Numbers, booleans and lists are accepted, too, and stored as text, a list joined by "
        "commas. Absent, null or blank if the question was skipped.",
    )
    position = IntegerField(
        min_value=1,
        max_value=MAX_POSITION,
        required=False,
        allow_null=True,
        help_text="Display order, from 1; by default the place in the array.",
    )


def traffic_field(help_text: str) -> AnyTextField:
    """Return a field that refuses nothing, because no submission is worth losing for it."""
    return AnyTextField(max_length=MAX_TRAFFIC_LENGTH, cut=True, help_text=help_text)


class UTMInputSerializer(LenientInputSerializer):
    """The UTM values of the visit. Each is stored as text, trimmed and cut to 8,192 characters.

    Nothing is refused here: another type is stored as text, and anything in place of the object counts as absent.
    """

    utm_source = traffic_field("The URL's utm_source.")
    utm_medium = traffic_field("The URL's utm_medium.")
    utm_campaign = traffic_field("The URL's utm_campaign.")
    utm_content = traffic_field(
        "The URL's utm_content. The user id (user_…) of an active member who is not a viewer makes that member the "
        "lead's setter."
    )
    utm_term = traffic_field("The URL's utm_term.")


class TrafficInputSerializer(UTMInputSerializer):
    """The traffic source of the visit. Each value is stored as text, trimmed and cut to 8,192 characters.

    Nothing is refused here: another type is stored as text, and anything in place of the object counts as absent.
    """

    referrer = traffic_field("The page that the visitor came from.")
    landing_page = traffic_field("The first page that the visitor saw.")


class AnswersInputSerializer(InputSerializer):
    questions_answers = BoundedListField(
        child=QuestionAnswerInputSerializer(),
        required=False,
        max_length=MAX_ANSWERS,
        help_text="The questions of the form with their answers.",
    )

    def to_internal_value(self, data: object) -> dict[str, Any]:
        """Accept the name that responses have, `question_answers`, where the other is absent."""
        if isinstance(data, Mapping) and is_blank(data.get("questions_answers")) and "question_answers" in data:
            data = {**data, "questions_answers": data["question_answers"]}
        return super().to_internal_value(data)

    def validate_questions_answers(self, answers: list[QuestionAnswerData]) -> list[QuestionAnswerData]:
        """Return the answers in their order, each with a position of its own (docs/interface.md, O5)."""
        for place, answer in enumerate(answers, start=1):
            answer.setdefault("position", place)
        position = 0
        # Sorting is stable: equal positions keep the order in which they came.
        for answer in sorted(answers, key=itemgetter("position")):
            position = answer["position"] = max(answer["position"], position + 1)
        return answers


class FormInputSerializer(AnswersInputSerializer, PhoneInputSerializer):
    """What a form says of the person, the form and the visit."""

    email = EmailField(help_text="Finds or creates the lead.")
    first_name = NameField(help_text="Used only for a new lead.")
    last_name = NameField(required=False, help_text="Used only for a new lead.")
    phone_e164 = NameField(required=False, help_text="E.164.")
    phone_country = NameField(
        required=False, help_text="ISO 3166-1 alpha-2, in either letter case; required with phone_e164."
    )
    provider_form_id = StringField(required=False, help_text="The provider's id of the form.")
    provider_form_name = StringField(required=False, help_text="The provider's name of the form.")
    traffic = TrafficInputSerializer(required=False, help_text="The traffic source of the visit.")


class OptInInputSerializer(FormInputSerializer):
    """A form submission."""

    source = ChoiceField(  # type: ignore[assignment]  # DRF's own `source` is an attribute of fields
        ACCEPTED_ON_SUBMIT, help_text="Where the form was submitted."
    )
    external_reference = StringField(required=False, help_text="Idempotency key, together with source.")


class SyncedOptInInputSerializer(FormInputSerializer):
    """The whole state of a form submission, as its source system knows it."""

    changed_at = DateTimeField(help_text="When the submission was changed. An older state is not applied.")


class SyncedOptInPathSerializer(InputSerializer):
    source = ChoiceField(OptInSource.values)  # type: ignore[assignment]  # as above
    reference = PathTextField()
