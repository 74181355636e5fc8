from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.call_match_input_request import CallMatchInputRequest


T = TypeVar("T", bound="CallAnalysisInputRequest")


@_attrs_define
class CallAnalysisInputRequest:
    """The analysis of a call, and the appointment that it belongs to.

    Attributes:
        ai_generated_title (str): The call's title.
        ai_rationale (str): Why this outcome is suggested.
        ai_suggested_outcome (str): The name of the suggested outcome.
        ai_confidence_score (float): From 0 to 1.
        appointment_id (None | Unset | UUID): The appointment. Required unless external_reference or match is given.
        external_reference (None | str | Unset): A reference of the appointment. Used only without appointment_id.
        match (CallMatchInputRequest | Unset): What is known of a call, to find its appointment.
    """

    ai_generated_title: str
    ai_rationale: str
    ai_suggested_outcome: str
    ai_confidence_score: float
    appointment_id: None | Unset | UUID = UNSET
    external_reference: None | str | Unset = UNSET
    match: CallMatchInputRequest | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ai_generated_title = self.ai_generated_title

        ai_rationale = self.ai_rationale

        ai_suggested_outcome = self.ai_suggested_outcome

        ai_confidence_score = self.ai_confidence_score

        appointment_id: None | str | Unset
        if isinstance(self.appointment_id, Unset):
            appointment_id = UNSET
        elif isinstance(self.appointment_id, UUID):
            appointment_id = str(self.appointment_id)
        else:
            appointment_id = self.appointment_id

        external_reference: None | str | Unset
        if isinstance(self.external_reference, Unset):
            external_reference = UNSET
        else:
            external_reference = self.external_reference

        match: dict[str, Any] | Unset = UNSET
        if not isinstance(self.match, Unset):
            match = self.match.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ai_generated_title": ai_generated_title,
                "ai_rationale": ai_rationale,
                "ai_suggested_outcome": ai_suggested_outcome,
                "ai_confidence_score": ai_confidence_score,
            }
        )
        if appointment_id is not UNSET:
            field_dict["appointment_id"] = appointment_id
        if external_reference is not UNSET:
            field_dict["external_reference"] = external_reference
        if match is not UNSET:
            field_dict["match"] = match

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.call_match_input_request import CallMatchInputRequest  # noqa: PLC0415

        d = dict(src_dict)
        ai_generated_title = d.pop("ai_generated_title")

        ai_rationale = d.pop("ai_rationale")

        ai_suggested_outcome = d.pop("ai_suggested_outcome")

        ai_confidence_score = d.pop("ai_confidence_score")

        def _parse_appointment_id(data: object) -> None | Unset | UUID:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                appointment_id_type_0 = UUID(data)

                return appointment_id_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | UUID, data)

        appointment_id = _parse_appointment_id(d.pop("appointment_id", UNSET))

        def _parse_external_reference(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        external_reference = _parse_external_reference(d.pop("external_reference", UNSET))

        _match = d.pop("match", UNSET)
        match: CallMatchInputRequest | Unset
        if isinstance(_match, Unset):
            match = UNSET
        else:
            match = CallMatchInputRequest.from_dict(_match)

        call_analysis_input_request = cls(
            ai_generated_title=ai_generated_title,
            ai_rationale=ai_rationale,
            ai_suggested_outcome=ai_suggested_outcome,
            ai_confidence_score=ai_confidence_score,
            appointment_id=appointment_id,
            external_reference=external_reference,
            match=match,
        )

        call_analysis_input_request.additional_properties = d
        return call_analysis_input_request

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
