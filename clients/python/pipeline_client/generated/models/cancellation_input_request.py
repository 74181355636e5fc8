from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.cancellation_input_request_canceled_by import (
    CancellationInputRequestCanceledBy,
    check_cancellation_input_request_canceled_by,
)
from ..models.cancellation_input_request_if_unknown import (
    CancellationInputRequestIfUnknown,
    check_cancellation_input_request_if_unknown,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="CancellationInputRequest")


@_attrs_define
class CancellationInputRequest:
    """A cancellation.

    Attributes:
        external_reference (str): The reference that the appointment was booked with.
        notes (None | str | Unset): The reason. Stored as a note; repeating the request does not store it again.
        canceled_by (CancellationInputRequestCanceledBy | Unset): Who canceled: LEAD, HOST or SYSTEM. Shown in the
            event.
        reason (None | str | Unset): Why. Shown in the event only.
        rescheduled_to (None | str | Unset): The reference of the booking that replaces this one. Shown in the event. If
            the appointment has it already, because it was rescheduled under it, nothing is canceled.
        if_unknown (CancellationInputRequestIfUnknown | Unset): remember: an unknown reference is a 202, and its booking
            is canceled if it comes within 24 hours.
    """

    external_reference: str
    notes: None | str | Unset = UNSET
    canceled_by: CancellationInputRequestCanceledBy | Unset = UNSET
    reason: None | str | Unset = UNSET
    rescheduled_to: None | str | Unset = UNSET
    if_unknown: CancellationInputRequestIfUnknown | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        external_reference = self.external_reference

        notes: None | str | Unset
        if isinstance(self.notes, Unset):
            notes = UNSET
        else:
            notes = self.notes

        canceled_by: str | Unset = UNSET
        if not isinstance(self.canceled_by, Unset):
            canceled_by = self.canceled_by

        reason: None | str | Unset
        if isinstance(self.reason, Unset):
            reason = UNSET
        else:
            reason = self.reason

        rescheduled_to: None | str | Unset
        if isinstance(self.rescheduled_to, Unset):
            rescheduled_to = UNSET
        else:
            rescheduled_to = self.rescheduled_to

        if_unknown: str | Unset = UNSET
        if not isinstance(self.if_unknown, Unset):
            if_unknown = self.if_unknown

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "external_reference": external_reference,
            }
        )
        if notes is not UNSET:
            field_dict["notes"] = notes
        if canceled_by is not UNSET:
            field_dict["canceled_by"] = canceled_by
        if reason is not UNSET:
            field_dict["reason"] = reason
        if rescheduled_to is not UNSET:
            field_dict["rescheduled_to"] = rescheduled_to
        if if_unknown is not UNSET:
            field_dict["if_unknown"] = if_unknown

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        external_reference = d.pop("external_reference")

        def _parse_notes(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        notes = _parse_notes(d.pop("notes", UNSET))

        _canceled_by = d.pop("canceled_by", UNSET)
        canceled_by: CancellationInputRequestCanceledBy | Unset
        if isinstance(_canceled_by, Unset):
            canceled_by = UNSET
        else:
            canceled_by = check_cancellation_input_request_canceled_by(_canceled_by)

        def _parse_reason(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        reason = _parse_reason(d.pop("reason", UNSET))

        def _parse_rescheduled_to(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        rescheduled_to = _parse_rescheduled_to(d.pop("rescheduled_to", UNSET))

        _if_unknown = d.pop("if_unknown", UNSET)
        if_unknown: CancellationInputRequestIfUnknown | Unset
        if isinstance(_if_unknown, Unset):
            if_unknown = UNSET
        else:
            if_unknown = check_cancellation_input_request_if_unknown(_if_unknown)

        cancellation_input_request = cls(
            external_reference=external_reference,
            notes=notes,
            canceled_by=canceled_by,
            reason=reason,
            rescheduled_to=rescheduled_to,
            if_unknown=if_unknown,
        )

        cancellation_input_request.additional_properties = d
        return cancellation_input_request

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
