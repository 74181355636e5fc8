from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="CancellationDetails")


@_attrs_define
class CancellationDetails:
    """What the request that canceled an appointment said about it. All are null if staff did it.

    Attributes:
        canceled_by (None | str): Who canceled. One of LEAD, HOST, SYSTEM; more may be added.
        reason (None | str): Why.
        rescheduled_to (None | str): The reference of the booking that replaces this one.
    """

    canceled_by: None | str
    reason: None | str
    rescheduled_to: None | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        canceled_by: None | str
        canceled_by = self.canceled_by

        reason: None | str
        reason = self.reason

        rescheduled_to: None | str
        rescheduled_to = self.rescheduled_to

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "canceled_by": canceled_by,
                "reason": reason,
                "rescheduled_to": rescheduled_to,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_canceled_by(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        canceled_by = _parse_canceled_by(d.pop("canceled_by"))

        def _parse_reason(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        reason = _parse_reason(d.pop("reason"))

        def _parse_rescheduled_to(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        rescheduled_to = _parse_rescheduled_to(d.pop("rescheduled_to"))

        cancellation_details = cls(
            canceled_by=canceled_by,
            reason=reason,
            rescheduled_to=rescheduled_to,
        )

        cancellation_details.additional_properties = d
        return cancellation_details

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
