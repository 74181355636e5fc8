from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.appointment_item_call_category import (
    AppointmentItemCallCategory,
    check_appointment_item_call_category,
)
from ..models.appointment_item_source import (
    AppointmentItemSource,
    check_appointment_item_source,
)

if TYPE_CHECKING:
    from ..models.call_analysis import CallAnalysis
    from ..models.custom_field_value import CustomFieldValue
    from ..models.event_type import EventType
    from ..models.lead_summary import LeadSummary
    from ..models.note import Note
    from ..models.outcome import Outcome
    from ..models.user import User


T = TypeVar("T", bound="AppointmentItem")


@_attrs_define
class AppointmentItem:
    """An appointment in lists.

    Attributes:
        id (UUID): The appointment's id.
        lead (LeadSummary): The lead of an appointment.
        schedule_time (datetime.datetime): Start time, UTC.
        host (None | User): The closer.
        setter (None | User): Who set the call up.
        triager (None | User): Who qualifies the lead before the call.
        meeting_url (None | str): Where the call takes place.
        appointment_type (None | str): The event type's name.
        call_category (AppointmentItemCallCategory): The kind of call.
        appointment_event_type (EventType): The event type of an appointment. Every field is null if the appointment has
            no event type.
        outcome (None | Outcome): What came of the call; null until it is set.
        notes (None | Note): The latest note.
        recording_url (None | str): The call's recording.
        no_show (bool): Whether the lead missed the call.
        source (AppointmentItemSource): MANUAL if it was created through this API or by staff.
        external_reference (None | str): The source system's id of the booking.
        utm_source (None | str): The URL's utm_source.
        utm_medium (None | str): The URL's utm_medium.
        utm_campaign (None | str): The URL's utm_campaign.
        utm_content (None | str): The URL's utm_content.
        utm_term (None | str): The URL's utm_term.
        call_analysis (CallAnalysis | None): The analysis of the recorded call.
        custom_fields (list[CustomFieldValue]): Every custom field that the organization has defined, in its display
            order.
        created_at (datetime.datetime): When the appointment was stored.
        updated_at (datetime.datetime): When a value of the appointment last changed.
    """

    id: UUID
    lead: LeadSummary
    schedule_time: datetime.datetime
    host: None | User
    setter: None | User
    triager: None | User
    meeting_url: None | str
    appointment_type: None | str
    call_category: AppointmentItemCallCategory
    appointment_event_type: EventType
    outcome: None | Outcome
    notes: None | Note
    recording_url: None | str
    no_show: bool
    source: AppointmentItemSource
    external_reference: None | str
    utm_source: None | str
    utm_medium: None | str
    utm_campaign: None | str
    utm_content: None | str
    utm_term: None | str
    call_analysis: CallAnalysis | None
    custom_fields: list[CustomFieldValue]
    created_at: datetime.datetime
    updated_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.call_analysis import CallAnalysis  # noqa: PLC0415
        from ..models.note import Note  # noqa: PLC0415
        from ..models.outcome import Outcome  # noqa: PLC0415
        from ..models.user import User  # noqa: PLC0415

        id = str(self.id)

        lead = self.lead.to_dict()

        schedule_time = self.schedule_time.isoformat()

        host: dict[str, Any] | None
        if isinstance(self.host, User):
            host = self.host.to_dict()
        else:
            host = self.host

        setter: dict[str, Any] | None
        if isinstance(self.setter, User):
            setter = self.setter.to_dict()
        else:
            setter = self.setter

        triager: dict[str, Any] | None
        if isinstance(self.triager, User):
            triager = self.triager.to_dict()
        else:
            triager = self.triager

        meeting_url: None | str
        meeting_url = self.meeting_url

        appointment_type: None | str
        appointment_type = self.appointment_type

        call_category: str = self.call_category

        appointment_event_type = self.appointment_event_type.to_dict()

        outcome: dict[str, Any] | None
        if isinstance(self.outcome, Outcome):
            outcome = self.outcome.to_dict()
        else:
            outcome = self.outcome

        notes: dict[str, Any] | None
        if isinstance(self.notes, Note):
            notes = self.notes.to_dict()
        else:
            notes = self.notes

        recording_url: None | str
        recording_url = self.recording_url

        no_show = self.no_show

        source: str = self.source

        external_reference: None | str
        external_reference = self.external_reference

        utm_source: None | str
        utm_source = self.utm_source

        utm_medium: None | str
        utm_medium = self.utm_medium

        utm_campaign: None | str
        utm_campaign = self.utm_campaign

        utm_content: None | str
        utm_content = self.utm_content

        utm_term: None | str
        utm_term = self.utm_term

        call_analysis: dict[str, Any] | None
        if isinstance(self.call_analysis, CallAnalysis):
            call_analysis = self.call_analysis.to_dict()
        else:
            call_analysis = self.call_analysis

        custom_fields = []
        for custom_fields_item_data in self.custom_fields:
            custom_fields_item = custom_fields_item_data.to_dict()
            custom_fields.append(custom_fields_item)

        created_at = self.created_at.isoformat()

        updated_at = self.updated_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "lead": lead,
                "schedule_time": schedule_time,
                "host": host,
                "setter": setter,
                "triager": triager,
                "meeting_url": meeting_url,
                "appointment_type": appointment_type,
                "call_category": call_category,
                "appointment_event_type": appointment_event_type,
                "outcome": outcome,
                "notes": notes,
                "recording_url": recording_url,
                "no_show": no_show,
                "source": source,
                "external_reference": external_reference,
                "utm_source": utm_source,
                "utm_medium": utm_medium,
                "utm_campaign": utm_campaign,
                "utm_content": utm_content,
                "utm_term": utm_term,
                "call_analysis": call_analysis,
                "custom_fields": custom_fields,
                "created_at": created_at,
                "updated_at": updated_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.call_analysis import CallAnalysis  # noqa: PLC0415
        from ..models.custom_field_value import CustomFieldValue  # noqa: PLC0415
        from ..models.event_type import EventType  # noqa: PLC0415
        from ..models.lead_summary import LeadSummary  # noqa: PLC0415
        from ..models.note import Note  # noqa: PLC0415
        from ..models.outcome import Outcome  # noqa: PLC0415
        from ..models.user import User  # noqa: PLC0415

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        lead = LeadSummary.from_dict(d.pop("lead"))

        schedule_time = datetime.datetime.fromisoformat(d.pop("schedule_time"))

        def _parse_host(data: object) -> None | User:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                host_type_0 = User.from_dict(data)

                return host_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | User, data)

        host = _parse_host(d.pop("host"))

        def _parse_setter(data: object) -> None | User:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                setter_type_0 = User.from_dict(data)

                return setter_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | User, data)

        setter = _parse_setter(d.pop("setter"))

        def _parse_triager(data: object) -> None | User:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                triager_type_0 = User.from_dict(data)

                return triager_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | User, data)

        triager = _parse_triager(d.pop("triager"))

        def _parse_meeting_url(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        meeting_url = _parse_meeting_url(d.pop("meeting_url"))

        def _parse_appointment_type(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        appointment_type = _parse_appointment_type(d.pop("appointment_type"))

        call_category = check_appointment_item_call_category(d.pop("call_category"))

        appointment_event_type = EventType.from_dict(d.pop("appointment_event_type"))

        def _parse_outcome(data: object) -> None | Outcome:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                outcome_type_0 = Outcome.from_dict(data)

                return outcome_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Outcome, data)

        outcome = _parse_outcome(d.pop("outcome"))

        def _parse_notes(data: object) -> None | Note:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                notes_type_0 = Note.from_dict(data)

                return notes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Note, data)

        notes = _parse_notes(d.pop("notes"))

        def _parse_recording_url(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        recording_url = _parse_recording_url(d.pop("recording_url"))

        no_show = d.pop("no_show")

        source = check_appointment_item_source(d.pop("source"))

        def _parse_external_reference(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        external_reference = _parse_external_reference(d.pop("external_reference"))

        def _parse_utm_source(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        utm_source = _parse_utm_source(d.pop("utm_source"))

        def _parse_utm_medium(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        utm_medium = _parse_utm_medium(d.pop("utm_medium"))

        def _parse_utm_campaign(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        utm_campaign = _parse_utm_campaign(d.pop("utm_campaign"))

        def _parse_utm_content(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        utm_content = _parse_utm_content(d.pop("utm_content"))

        def _parse_utm_term(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        utm_term = _parse_utm_term(d.pop("utm_term"))

        def _parse_call_analysis(data: object) -> CallAnalysis | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                call_analysis_type_0 = CallAnalysis.from_dict(data)

                return call_analysis_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CallAnalysis | None, data)

        call_analysis = _parse_call_analysis(d.pop("call_analysis"))

        custom_fields = []
        _custom_fields = d.pop("custom_fields")
        for custom_fields_item_data in _custom_fields:
            custom_fields_item = CustomFieldValue.from_dict(custom_fields_item_data)

            custom_fields.append(custom_fields_item)

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at"))

        appointment_item = cls(
            id=id,
            lead=lead,
            schedule_time=schedule_time,
            host=host,
            setter=setter,
            triager=triager,
            meeting_url=meeting_url,
            appointment_type=appointment_type,
            call_category=call_category,
            appointment_event_type=appointment_event_type,
            outcome=outcome,
            notes=notes,
            recording_url=recording_url,
            no_show=no_show,
            source=source,
            external_reference=external_reference,
            utm_source=utm_source,
            utm_medium=utm_medium,
            utm_campaign=utm_campaign,
            utm_content=utm_content,
            utm_term=utm_term,
            call_analysis=call_analysis,
            custom_fields=custom_fields,
            created_at=created_at,
            updated_at=updated_at,
        )

        appointment_item.additional_properties = d
        return appointment_item

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
