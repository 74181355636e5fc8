"""What submit takes (interface 4.5)."""

from typing import Any

from rest_framework import serializers

from leads.phones import Phone, calling_code, is_country, read_phone
from optins.models import ACCEPTED_ON_SUBMIT
from pipeline_backend.api.fields import FREE_TEXT, URL, Email, Input, ListOf, OneOf, Text, WholeNumber

MAX_ANSWERS = 50
MAX_POSITION = 10_000


class QuestionAnswerInput(Input):
    """A question and its answer; without a position, its place in the array counts."""

    question = Text(FREE_TEXT)
    answer = Text(FREE_TEXT, required=False, help_text="Absent, null or blank: skipped.")
    position = WholeNumber(1, MAX_POSITION, required=False)


class TrafficInput(Input):
    """Where the visit came from."""

    utm_source = Text(required=False)
    utm_medium = Text(required=False)
    utm_campaign = Text(required=False)
    utm_content = Text(required=False, help_text="A user id (user_…) makes that member the lead's setter.")
    utm_term = Text(required=False)
    referrer = Text(URL, required=False)
    landing_page = Text(URL, required=False)


class OptInInput(Input):
    """A submission (interface 4.5)."""

    email = Email()
    first_name = Text(trim=True)
    source = OneOf(ACCEPTED_ON_SUBMIT)  # type: ignore[assignment]  # DRF's own `source` is an attribute of fields
    last_name = Text(trim=True, required=False)
    phone_e164 = Text(required=False, trim=True, help_text="E.164.")
    phone_country = Text(required=False, trim=True, help_text="ISO 3166-1 alpha-2; required with phone_e164.")
    provider_form_id = Text(required=False)
    provider_form_name = Text(required=False)
    external_reference = Text(required=False, help_text="Idempotency key, together with source.")
    questions_answers = ListOf(child=QuestionAnswerInput(), required=False, max_length=MAX_ANSWERS)
    traffic = TrafficInput(required=False)

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
        if country and not is_country(country):
            raise serializers.ValidationError({"phone_country": ["must be an ISO 3166-1 alpha-2 country code"]})
        return {**values, "phone": phone_of(text, country) if text else None}


def phone_of(text: str, country: str | None) -> Phone:
    """The number, or 400 for one that is none or belongs elsewhere."""
    if not country:
        raise serializers.ValidationError({"phone_country": ["is required when phone_e164 is given"]})
    phone = read_phone(text, country) if text.startswith("+") else None
    if phone is None:
        raise serializers.ValidationError({"phone_e164": ["must be a phone number in E.164 form, such as +14155552671"]})
    if calling_code(phone.country) != calling_code(country):
        raise serializers.ValidationError({"phone_country": ["must be a country of phone_e164"]})
    return Phone(phone.e164, country)
