from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.booking_input_request_custom_fields_type_0 import (
        BookingInputRequestCustomFieldsType0,
    )
    from ..models.utm_input_request import UTMInputRequest


T = TypeVar("T", bound="BookingInputRequest")


@_attrs_define
class BookingInputRequest:
    """A booking.

    Attributes:
        external_reference (str): Unique booking ID of the source system, compared exactly.
        schedule_time (datetime.datetime): Start time, in UTC unless it has an offset. Stored with milliseconds.
        lead_email (None | str | Unset): Finds or creates the lead. Required unless lead_id is given.
        event_type_name (None | str | Unset): Finds the event type, case-insensitively, or creates it. Required unless
            event_type_id is given.
        lead_id (None | Unset | UUID): An existing lead. Takes precedence over lead_email.
        event_type_id (None | Unset | UUID): An existing event type. Takes precedence over event_type_name.
        lead_first_name (None | str | Unset): Used only for a new lead. Defaults to the part of the e-mail before the @.
        lead_last_name (None | str | Unset): Used only for a new lead.
        lead_phone (None | str | Unset): Used only if the lead has no phone yet. E.164 preferred; an unreadable number
            is ignored.
        host_email (None | str | Unset): An active member of the organization who is not a viewer.
        setter_email (None | str | Unset): An active member of the organization who is not a viewer. Defaults to the
            lead's setter.
        triager_email (None | str | Unset): An active member of the organization who is not a viewer.
        meeting_url (None | str | Unset): Where the call takes place: an http or https URL.
        notes (None | str | Unset): Stored as a note of the appointment.
        traffic (UTMInputRequest | Unset): The UTM values of the visit. Each is stored as text, trimmed and cut to 8,192
            characters.

            Nothing is refused here: another type is stored as text, and anything in place of the object counts as absent.
        duration_minutes (int | None | Unset): How long this call is. Defaults to the duration of the event type.
        custom_fields (BookingInputRequestCustomFieldsType0 | None | Unset): Values of the appointment's custom fields,
            by their keys. Blank ones are ignored.
        notify (bool | None | Unset): false: no one is notified about this booking. Events are recorded. Default: True.
    """

    external_reference: str
    schedule_time: datetime.datetime
    lead_email: None | str | Unset = UNSET
    event_type_name: None | str | Unset = UNSET
    lead_id: None | Unset | UUID = UNSET
    event_type_id: None | Unset | UUID = UNSET
    lead_first_name: None | str | Unset = UNSET
    lead_last_name: None | str | Unset = UNSET
    lead_phone: None | str | Unset = UNSET
    host_email: None | str | Unset = UNSET
    setter_email: None | str | Unset = UNSET
    triager_email: None | str | Unset = UNSET
    meeting_url: None | str | Unset = UNSET
    notes: None | str | Unset = UNSET
    traffic: UTMInputRequest | Unset = UNSET
    duration_minutes: int | None | Unset = UNSET
    custom_fields: BookingInputRequestCustomFieldsType0 | None | Unset = UNSET
    notify: bool | None | Unset = True
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.booking_input_request_custom_fields_type_0 import (
            BookingInputRequestCustomFieldsType0,  # noqa: PLC0415
        )

        external_reference = self.external_reference

        schedule_time = self.schedule_time.isoformat()

        lead_email: None | str | Unset
        if isinstance(self.lead_email, Unset):
            lead_email = UNSET
        else:
            lead_email = self.lead_email

        event_type_name: None | str | Unset
        if isinstance(self.event_type_name, Unset):
            event_type_name = UNSET
        else:
            event_type_name = self.event_type_name

        lead_id: None | str | Unset
        if isinstance(self.lead_id, Unset):
            lead_id = UNSET
        elif isinstance(self.lead_id, UUID):
            lead_id = str(self.lead_id)
        else:
            lead_id = self.lead_id

        event_type_id: None | str | Unset
        if isinstance(self.event_type_id, Unset):
            event_type_id = UNSET
        elif isinstance(self.event_type_id, UUID):
            event_type_id = str(self.event_type_id)
        else:
            event_type_id = self.event_type_id

        lead_first_name: None | str | Unset
        if isinstance(self.lead_first_name, Unset):
            lead_first_name = UNSET
        else:
            lead_first_name = self.lead_first_name

        lead_last_name: None | str | Unset
        if isinstance(self.lead_last_name, Unset):
            lead_last_name = UNSET
        else:
            lead_last_name = self.lead_last_name

        lead_phone: None | str | Unset
        if isinstance(self.lead_phone, Unset):
            lead_phone = UNSET
        else:
            lead_phone = self.lead_phone

        host_email: None | str | Unset
        if isinstance(self.host_email, Unset):
            host_email = UNSET
        else:
            host_email = self.host_email

        setter_email: None | str | Unset
        if isinstance(self.setter_email, Unset):
            setter_email = UNSET
        else:
            setter_email = self.setter_email

        triager_email: None | str | Unset
        if isinstance(self.triager_email, Unset):
            triager_email = UNSET
        else:
            triager_email = self.triager_email

        meeting_url: None | str | Unset
        if isinstance(self.meeting_url, Unset):
            meeting_url = UNSET
        else:
            meeting_url = self.meeting_url

        notes: None | str | Unset
        if isinstance(self.notes, Unset):
            notes = UNSET
        else:
            notes = self.notes

        traffic: dict[str, Any] | Unset = UNSET
        if not isinstance(self.traffic, Unset):
            traffic = self.traffic.to_dict()

        duration_minutes: int | None | Unset
        if isinstance(self.duration_minutes, Unset):
            duration_minutes = UNSET
        else:
            duration_minutes = self.duration_minutes

        custom_fields: dict[str, Any] | None | Unset
        if isinstance(self.custom_fields, Unset):
            custom_fields = UNSET
        elif isinstance(self.custom_fields, BookingInputRequestCustomFieldsType0):
            custom_fields = self.custom_fields.to_dict()
        else:
            custom_fields = self.custom_fields

        notify: bool | None | Unset
        if isinstance(self.notify, Unset):
            notify = UNSET
        else:
            notify = self.notify

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "external_reference": external_reference,
                "schedule_time": schedule_time,
            }
        )
        if lead_email is not UNSET:
            field_dict["lead_email"] = lead_email
        if event_type_name is not UNSET:
            field_dict["event_type_name"] = event_type_name
        if lead_id is not UNSET:
            field_dict["lead_id"] = lead_id
        if event_type_id is not UNSET:
            field_dict["event_type_id"] = event_type_id
        if lead_first_name is not UNSET:
            field_dict["lead_first_name"] = lead_first_name
        if lead_last_name is not UNSET:
            field_dict["lead_last_name"] = lead_last_name
        if lead_phone is not UNSET:
            field_dict["lead_phone"] = lead_phone
        if host_email is not UNSET:
            field_dict["host_email"] = host_email
        if setter_email is not UNSET:
            field_dict["setter_email"] = setter_email
        if triager_email is not UNSET:
            field_dict["triager_email"] = triager_email
        if meeting_url is not UNSET:
            field_dict["meeting_url"] = meeting_url
        if notes is not UNSET:
            field_dict["notes"] = notes
        if traffic is not UNSET:
            field_dict["traffic"] = traffic
        if duration_minutes is not UNSET:
            field_dict["duration_minutes"] = duration_minutes
        if custom_fields is not UNSET:
            field_dict["custom_fields"] = custom_fields
        if notify is not UNSET:
            field_dict["notify"] = notify

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.booking_input_request_custom_fields_type_0 import (
            BookingInputRequestCustomFieldsType0,  # noqa: PLC0415
        )
        from ..models.utm_input_request import UTMInputRequest  # noqa: PLC0415

        d = dict(src_dict)
        external_reference = d.pop("external_reference")

        schedule_time = datetime.datetime.fromisoformat(d.pop("schedule_time"))

        def _parse_lead_email(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        lead_email = _parse_lead_email(d.pop("lead_email", UNSET))

        def _parse_event_type_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        event_type_name = _parse_event_type_name(d.pop("event_type_name", UNSET))

        def _parse_lead_id(data: object) -> None | Unset | UUID:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                lead_id_type_0 = UUID(data)

                return lead_id_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | UUID, data)

        lead_id = _parse_lead_id(d.pop("lead_id", UNSET))

        def _parse_event_type_id(data: object) -> None | Unset | UUID:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                event_type_id_type_0 = UUID(data)

                return event_type_id_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | UUID, data)

        event_type_id = _parse_event_type_id(d.pop("event_type_id", UNSET))

        def _parse_lead_first_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        lead_first_name = _parse_lead_first_name(d.pop("lead_first_name", UNSET))

        def _parse_lead_last_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        lead_last_name = _parse_lead_last_name(d.pop("lead_last_name", UNSET))

        def _parse_lead_phone(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        lead_phone = _parse_lead_phone(d.pop("lead_phone", UNSET))

        def _parse_host_email(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        host_email = _parse_host_email(d.pop("host_email", UNSET))

        def _parse_setter_email(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        setter_email = _parse_setter_email(d.pop("setter_email", UNSET))

        def _parse_triager_email(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        triager_email = _parse_triager_email(d.pop("triager_email", UNSET))

        def _parse_meeting_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        meeting_url = _parse_meeting_url(d.pop("meeting_url", UNSET))

        def _parse_notes(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        notes = _parse_notes(d.pop("notes", UNSET))

        _traffic = d.pop("traffic", UNSET)
        traffic: UTMInputRequest | Unset
        if isinstance(_traffic, Unset):
            traffic = UNSET
        else:
            traffic = UTMInputRequest.from_dict(_traffic)

        def _parse_duration_minutes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        duration_minutes = _parse_duration_minutes(d.pop("duration_minutes", UNSET))

        def _parse_custom_fields(data: object) -> BookingInputRequestCustomFieldsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                custom_fields_type_0 = BookingInputRequestCustomFieldsType0.from_dict(data)

                return custom_fields_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BookingInputRequestCustomFieldsType0 | None | Unset, data)

        custom_fields = _parse_custom_fields(d.pop("custom_fields", UNSET))

        def _parse_notify(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        notify = _parse_notify(d.pop("notify", UNSET))

        booking_input_request = cls(
            external_reference=external_reference,
            schedule_time=schedule_time,
            lead_email=lead_email,
            event_type_name=event_type_name,
            lead_id=lead_id,
            event_type_id=event_type_id,
            lead_first_name=lead_first_name,
            lead_last_name=lead_last_name,
            lead_phone=lead_phone,
            host_email=host_email,
            setter_email=setter_email,
            triager_email=triager_email,
            meeting_url=meeting_url,
            notes=notes,
            traffic=traffic,
            duration_minutes=duration_minutes,
            custom_fields=custom_fields,
            notify=notify,
        )

        booking_input_request.additional_properties = d
        return booking_input_request

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
