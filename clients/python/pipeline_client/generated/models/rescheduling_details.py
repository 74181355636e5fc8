from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ReschedulingDetails")


@_attrs_define
class ReschedulingDetails:
    """What the request that rescheduled an appointment said about it. All are null if staff did it.

    Attributes:
        rescheduled_by (None | str): Who wanted another time. One of LEAD, HOST; more may be added.
        reason (None | str): Why.
        duration_minutes (int | None): How long the call is from now on, if the request said so.
    """

    rescheduled_by: None | str
    reason: None | str
    duration_minutes: int | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        rescheduled_by: None | str
        rescheduled_by = self.rescheduled_by

        reason: None | str
        reason = self.reason

        duration_minutes: int | None
        duration_minutes = self.duration_minutes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "rescheduled_by": rescheduled_by,
                "reason": reason,
                "duration_minutes": duration_minutes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_rescheduled_by(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        rescheduled_by = _parse_rescheduled_by(d.pop("rescheduled_by"))

        def _parse_reason(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        reason = _parse_reason(d.pop("reason"))

        def _parse_duration_minutes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        duration_minutes = _parse_duration_minutes(d.pop("duration_minutes"))

        rescheduling_details = cls(
            rescheduled_by=rescheduled_by,
            reason=reason,
            duration_minutes=duration_minutes,
        )

        rescheduling_details.additional_properties = d
        return rescheduling_details

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
