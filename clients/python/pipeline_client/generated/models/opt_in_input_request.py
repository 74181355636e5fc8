from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.opt_in_input_request_source import (
    OptInInputRequestSource,
    check_opt_in_input_request_source,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.question_answer_input_request import QuestionAnswerInputRequest
    from ..models.traffic_input_request import TrafficInputRequest


T = TypeVar("T", bound="OptInInputRequest")


@_attrs_define
class OptInInputRequest:
    """A form submission.

    Attributes:
        email (str): Finds or creates the lead.
        first_name (str): Used only for a new lead.
        source (OptInInputRequestSource): Where the form was submitted.
        questions_answers (list[QuestionAnswerInputRequest] | Unset): The questions of the form with their answers.
        last_name (None | str | Unset): Used only for a new lead.
        phone_e164 (None | str | Unset): E.164.
        phone_country (None | str | Unset): ISO 3166-1 alpha-2, in either letter case; required with phone_e164.
        provider_form_id (None | str | Unset): The provider's id of the form.
        provider_form_name (None | str | Unset): The provider's name of the form.
        traffic (TrafficInputRequest | Unset): The traffic source of the visit. Each value is stored as text, trimmed
            and cut to 8,192 characters.

            Nothing is refused here: another type is stored as text, and anything in place of the object counts as absent.
        external_reference (None | str | Unset): Idempotency key, together with source.
    """

    email: str
    first_name: str
    source: OptInInputRequestSource
    questions_answers: list[QuestionAnswerInputRequest] | Unset = UNSET
    last_name: None | str | Unset = UNSET
    phone_e164: None | str | Unset = UNSET
    phone_country: None | str | Unset = UNSET
    provider_form_id: None | str | Unset = UNSET
    provider_form_name: None | str | Unset = UNSET
    traffic: TrafficInputRequest | Unset = UNSET
    external_reference: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        email = self.email

        first_name = self.first_name

        source: str = self.source

        questions_answers: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.questions_answers, Unset):
            questions_answers = []
            for questions_answers_item_data in self.questions_answers:
                questions_answers_item = questions_answers_item_data.to_dict()
                questions_answers.append(questions_answers_item)

        last_name: None | str | Unset
        if isinstance(self.last_name, Unset):
            last_name = UNSET
        else:
            last_name = self.last_name

        phone_e164: None | str | Unset
        if isinstance(self.phone_e164, Unset):
            phone_e164 = UNSET
        else:
            phone_e164 = self.phone_e164

        phone_country: None | str | Unset
        if isinstance(self.phone_country, Unset):
            phone_country = UNSET
        else:
            phone_country = self.phone_country

        provider_form_id: None | str | Unset
        if isinstance(self.provider_form_id, Unset):
            provider_form_id = UNSET
        else:
            provider_form_id = self.provider_form_id

        provider_form_name: None | str | Unset
        if isinstance(self.provider_form_name, Unset):
            provider_form_name = UNSET
        else:
            provider_form_name = self.provider_form_name

        traffic: dict[str, Any] | Unset = UNSET
        if not isinstance(self.traffic, Unset):
            traffic = self.traffic.to_dict()

        external_reference: None | str | Unset
        if isinstance(self.external_reference, Unset):
            external_reference = UNSET
        else:
            external_reference = self.external_reference

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "email": email,
                "first_name": first_name,
                "source": source,
            }
        )
        if questions_answers is not UNSET:
            field_dict["questions_answers"] = questions_answers
        if last_name is not UNSET:
            field_dict["last_name"] = last_name
        if phone_e164 is not UNSET:
            field_dict["phone_e164"] = phone_e164
        if phone_country is not UNSET:
            field_dict["phone_country"] = phone_country
        if provider_form_id is not UNSET:
            field_dict["provider_form_id"] = provider_form_id
        if provider_form_name is not UNSET:
            field_dict["provider_form_name"] = provider_form_name
        if traffic is not UNSET:
            field_dict["traffic"] = traffic
        if external_reference is not UNSET:
            field_dict["external_reference"] = external_reference

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.question_answer_input_request import QuestionAnswerInputRequest  # noqa: PLC0415
        from ..models.traffic_input_request import TrafficInputRequest  # noqa: PLC0415

        d = dict(src_dict)
        email = d.pop("email")

        first_name = d.pop("first_name")

        source = check_opt_in_input_request_source(d.pop("source"))

        _questions_answers = d.pop("questions_answers", UNSET)
        questions_answers: list[QuestionAnswerInputRequest] | Unset = UNSET
        if _questions_answers is not UNSET:
            questions_answers = []
            for questions_answers_item_data in _questions_answers:
                questions_answers_item = QuestionAnswerInputRequest.from_dict(questions_answers_item_data)

                questions_answers.append(questions_answers_item)

        def _parse_last_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        last_name = _parse_last_name(d.pop("last_name", UNSET))

        def _parse_phone_e164(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        phone_e164 = _parse_phone_e164(d.pop("phone_e164", UNSET))

        def _parse_phone_country(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        phone_country = _parse_phone_country(d.pop("phone_country", UNSET))

        def _parse_provider_form_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        provider_form_id = _parse_provider_form_id(d.pop("provider_form_id", UNSET))

        def _parse_provider_form_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        provider_form_name = _parse_provider_form_name(d.pop("provider_form_name", UNSET))

        _traffic = d.pop("traffic", UNSET)
        traffic: TrafficInputRequest | Unset
        if isinstance(_traffic, Unset):
            traffic = UNSET
        else:
            traffic = TrafficInputRequest.from_dict(_traffic)

        def _parse_external_reference(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        external_reference = _parse_external_reference(d.pop("external_reference", UNSET))

        opt_in_input_request = cls(
            email=email,
            first_name=first_name,
            source=source,
            questions_answers=questions_answers,
            last_name=last_name,
            phone_e164=phone_e164,
            phone_country=phone_country,
            provider_form_id=provider_form_id,
            provider_form_name=provider_form_name,
            traffic=traffic,
            external_reference=external_reference,
        )

        opt_in_input_request.additional_properties = d
        return opt_in_input_request

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
