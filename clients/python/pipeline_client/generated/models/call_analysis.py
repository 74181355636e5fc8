from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="CallAnalysis")


@_attrs_define
class CallAnalysis:
    """The analysis of the recorded call.

    Attributes:
        id (UUID): The analysis's id.
        call_analysis_call_id (str): The call's id on the analysis platform.
        ai_generated_title (str): The call's title.
        ai_rationale (str): Why this outcome is suggested.
        ai_suggested_outcome (str): The name of the suggested outcome.
        ai_confidence_score (float): From 0 to 1.
        appointment_id (UUID): The appointment that the call belongs to.
        created_at (datetime.datetime): When the analysis was stored.
    """

    id: UUID
    call_analysis_call_id: str
    ai_generated_title: str
    ai_rationale: str
    ai_suggested_outcome: str
    ai_confidence_score: float
    appointment_id: UUID
    created_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        call_analysis_call_id = self.call_analysis_call_id

        ai_generated_title = self.ai_generated_title

        ai_rationale = self.ai_rationale

        ai_suggested_outcome = self.ai_suggested_outcome

        ai_confidence_score = self.ai_confidence_score

        appointment_id = str(self.appointment_id)

        created_at = self.created_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "call_analysis_call_id": call_analysis_call_id,
                "ai_generated_title": ai_generated_title,
                "ai_rationale": ai_rationale,
                "ai_suggested_outcome": ai_suggested_outcome,
                "ai_confidence_score": ai_confidence_score,
                "appointment_id": appointment_id,
                "created_at": created_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        call_analysis_call_id = d.pop("call_analysis_call_id")

        ai_generated_title = d.pop("ai_generated_title")

        ai_rationale = d.pop("ai_rationale")

        ai_suggested_outcome = d.pop("ai_suggested_outcome")

        ai_confidence_score = d.pop("ai_confidence_score")

        appointment_id = UUID(d.pop("appointment_id"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        call_analysis = cls(
            id=id,
            call_analysis_call_id=call_analysis_call_id,
            ai_generated_title=ai_generated_title,
            ai_rationale=ai_rationale,
            ai_suggested_outcome=ai_suggested_outcome,
            ai_confidence_score=ai_confidence_score,
            appointment_id=appointment_id,
            created_at=created_at,
        )

        call_analysis.additional_properties = d
        return call_analysis

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
