from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.rescheduling_input_request_rescheduled_by import (
    ReschedulingInputRequestRescheduledBy,
    check_rescheduling_input_request_rescheduled_by,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="ReschedulingInputRequest")


@_attrs_define
class ReschedulingInputRequest:
    """A rescheduling.

    Attributes:
        external_reference (str): A reference of the appointment: its present one or a former one.
        schedule_time (datetime.datetime): The new time, in UTC unless it has an offset. Stored with milliseconds.
        new_external_reference (None | str | Unset): The source system's new id of the booking. The former one leads to
            the appointment, too.
        meeting_url (None | str | Unset): The new place of the call. Without it, the present one stays.
        duration_minutes (int | None | Unset): How long the call is from now on. Without it, the present duration stays.
        notes (None | str | Unset): Stored as a note of the appointment; repeating the request does not store it again.
        rescheduled_by (ReschedulingInputRequestRescheduledBy | Unset): Who wanted another time: LEAD or HOST. Shown in
            the event.
        reason (None | str | Unset): Why. Shown in the event only.
    """

    external_reference: str
    schedule_time: datetime.datetime
    new_external_reference: None | str | Unset = UNSET
    meeting_url: None | str | Unset = UNSET
    duration_minutes: int | None | Unset = UNSET
    notes: None | str | Unset = UNSET
    rescheduled_by: ReschedulingInputRequestRescheduledBy | Unset = UNSET
    reason: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        external_reference = self.external_reference

        schedule_time = self.schedule_time.isoformat()

        new_external_reference: None | str | Unset
        if isinstance(self.new_external_reference, Unset):
            new_external_reference = UNSET
        else:
            new_external_reference = self.new_external_reference

        meeting_url: None | str | Unset
        if isinstance(self.meeting_url, Unset):
            meeting_url = UNSET
        else:
            meeting_url = self.meeting_url

        duration_minutes: int | None | Unset
        if isinstance(self.duration_minutes, Unset):
            duration_minutes = UNSET
        else:
            duration_minutes = self.duration_minutes

        notes: None | str | Unset
        if isinstance(self.notes, Unset):
            notes = UNSET
        else:
            notes = self.notes

        rescheduled_by: str | Unset = UNSET
        if not isinstance(self.rescheduled_by, Unset):
            rescheduled_by = self.rescheduled_by

        reason: None | str | Unset
        if isinstance(self.reason, Unset):
            reason = UNSET
        else:
            reason = self.reason

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "external_reference": external_reference,
                "schedule_time": schedule_time,
            }
        )
        if new_external_reference is not UNSET:
            field_dict["new_external_reference"] = new_external_reference
        if meeting_url is not UNSET:
            field_dict["meeting_url"] = meeting_url
        if duration_minutes is not UNSET:
            field_dict["duration_minutes"] = duration_minutes
        if notes is not UNSET:
            field_dict["notes"] = notes
        if rescheduled_by is not UNSET:
            field_dict["rescheduled_by"] = rescheduled_by
        if reason is not UNSET:
            field_dict["reason"] = reason

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        external_reference = d.pop("external_reference")

        schedule_time = datetime.datetime.fromisoformat(d.pop("schedule_time"))

        def _parse_new_external_reference(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        new_external_reference = _parse_new_external_reference(d.pop("new_external_reference", UNSET))

        def _parse_meeting_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        meeting_url = _parse_meeting_url(d.pop("meeting_url", UNSET))

        def _parse_duration_minutes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        duration_minutes = _parse_duration_minutes(d.pop("duration_minutes", UNSET))

        def _parse_notes(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        notes = _parse_notes(d.pop("notes", UNSET))

        _rescheduled_by = d.pop("rescheduled_by", UNSET)
        rescheduled_by: ReschedulingInputRequestRescheduledBy | Unset
        if isinstance(_rescheduled_by, Unset):
            rescheduled_by = UNSET
        else:
            rescheduled_by = check_rescheduling_input_request_rescheduled_by(_rescheduled_by)

        def _parse_reason(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        reason = _parse_reason(d.pop("reason", UNSET))

        rescheduling_input_request = cls(
            external_reference=external_reference,
            schedule_time=schedule_time,
            new_external_reference=new_external_reference,
            meeting_url=meeting_url,
            duration_minutes=duration_minutes,
            notes=notes,
            rescheduled_by=rescheduled_by,
            reason=reason,
        )

        rescheduling_input_request.additional_properties = d
        return rescheduling_input_request

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
