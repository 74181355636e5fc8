from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.appointment_rescheduled_previous_call_category import (
    AppointmentRescheduledPreviousCallCategory,
    check_appointment_rescheduled_previous_call_category,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.call_analysis import CallAnalysis
    from ..models.custom_field_value import CustomFieldValue
    from ..models.event_type import EventType
    from ..models.outcome import Outcome
    from ..models.user import User


T = TypeVar("T", bound="AppointmentRescheduledPrevious")


@_attrs_define
class AppointmentRescheduledPrevious:
    """The fields that changed, with their old values.

    Attributes:
        schedule_time (datetime.datetime | Unset): Start time, UTC.
        host (None | Unset | User): The closer.
        setter (None | Unset | User): Who set the call up.
        triager (None | Unset | User): Who qualifies the lead before the call.
        meeting_url (None | str | Unset): Where the call takes place.
        appointment_type (None | str | Unset): The event type's name.
        call_category (AppointmentRescheduledPreviousCallCategory | Unset): The kind of call.
        appointment_event_type (EventType | Unset): The event type of an appointment. Every field is null if the
            appointment has no event type.
        outcome (None | Outcome | Unset): What came of the call; null until it is set.
        recording_url (None | str | Unset): The call's recording.
        no_show (bool | Unset): Whether the lead missed the call.
        external_reference (None | str | Unset): The source system's id of the booking.
        call_analysis (CallAnalysis | None | Unset): The analysis of the recorded call.
        custom_fields (list[CustomFieldValue] | Unset): Every custom field that the organization has defined, in its
            display order.
    """

    schedule_time: datetime.datetime | Unset = UNSET
    host: None | Unset | User = UNSET
    setter: None | Unset | User = UNSET
    triager: None | Unset | User = UNSET
    meeting_url: None | str | Unset = UNSET
    appointment_type: None | str | Unset = UNSET
    call_category: AppointmentRescheduledPreviousCallCategory | Unset = UNSET
    appointment_event_type: EventType | Unset = UNSET
    outcome: None | Outcome | Unset = UNSET
    recording_url: None | str | Unset = UNSET
    no_show: bool | Unset = UNSET
    external_reference: None | str | Unset = UNSET
    call_analysis: CallAnalysis | None | Unset = UNSET
    custom_fields: list[CustomFieldValue] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.call_analysis import CallAnalysis  # noqa: PLC0415
        from ..models.outcome import Outcome  # noqa: PLC0415
        from ..models.user import User  # noqa: PLC0415

        schedule_time: str | Unset = UNSET
        if not isinstance(self.schedule_time, Unset):
            schedule_time = self.schedule_time.isoformat()

        host: dict[str, Any] | None | Unset
        if isinstance(self.host, Unset):
            host = UNSET
        elif isinstance(self.host, User):
            host = self.host.to_dict()
        else:
            host = self.host

        setter: dict[str, Any] | None | Unset
        if isinstance(self.setter, Unset):
            setter = UNSET
        elif isinstance(self.setter, User):
            setter = self.setter.to_dict()
        else:
            setter = self.setter

        triager: dict[str, Any] | None | Unset
        if isinstance(self.triager, Unset):
            triager = UNSET
        elif isinstance(self.triager, User):
            triager = self.triager.to_dict()
        else:
            triager = self.triager

        meeting_url: None | str | Unset
        if isinstance(self.meeting_url, Unset):
            meeting_url = UNSET
        else:
            meeting_url = self.meeting_url

        appointment_type: None | str | Unset
        if isinstance(self.appointment_type, Unset):
            appointment_type = UNSET
        else:
            appointment_type = self.appointment_type

        call_category: str | Unset = UNSET
        if not isinstance(self.call_category, Unset):
            call_category = self.call_category

        appointment_event_type: dict[str, Any] | Unset = UNSET
        if not isinstance(self.appointment_event_type, Unset):
            appointment_event_type = self.appointment_event_type.to_dict()

        outcome: dict[str, Any] | None | Unset
        if isinstance(self.outcome, Unset):
            outcome = UNSET
        elif isinstance(self.outcome, Outcome):
            outcome = self.outcome.to_dict()
        else:
            outcome = self.outcome

        recording_url: None | str | Unset
        if isinstance(self.recording_url, Unset):
            recording_url = UNSET
        else:
            recording_url = self.recording_url

        no_show = self.no_show

        external_reference: None | str | Unset
        if isinstance(self.external_reference, Unset):
            external_reference = UNSET
        else:
            external_reference = self.external_reference

        call_analysis: dict[str, Any] | None | Unset
        if isinstance(self.call_analysis, Unset):
            call_analysis = UNSET
        elif isinstance(self.call_analysis, CallAnalysis):
            call_analysis = self.call_analysis.to_dict()
        else:
            call_analysis = self.call_analysis

        custom_fields: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.custom_fields, Unset):
            custom_fields = []
            for custom_fields_item_data in self.custom_fields:
                custom_fields_item = custom_fields_item_data.to_dict()
                custom_fields.append(custom_fields_item)

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if schedule_time is not UNSET:
            field_dict["schedule_time"] = schedule_time
        if host is not UNSET:
            field_dict["host"] = host
        if setter is not UNSET:
            field_dict["setter"] = setter
        if triager is not UNSET:
            field_dict["triager"] = triager
        if meeting_url is not UNSET:
            field_dict["meeting_url"] = meeting_url
        if appointment_type is not UNSET:
            field_dict["appointment_type"] = appointment_type
        if call_category is not UNSET:
            field_dict["call_category"] = call_category
        if appointment_event_type is not UNSET:
            field_dict["appointment_event_type"] = appointment_event_type
        if outcome is not UNSET:
            field_dict["outcome"] = outcome
        if recording_url is not UNSET:
            field_dict["recording_url"] = recording_url
        if no_show is not UNSET:
            field_dict["no_show"] = no_show
        if external_reference is not UNSET:
            field_dict["external_reference"] = external_reference
        if call_analysis is not UNSET:
            field_dict["call_analysis"] = call_analysis
        if custom_fields is not UNSET:
            field_dict["custom_fields"] = custom_fields

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.call_analysis import CallAnalysis  # noqa: PLC0415
        from ..models.custom_field_value import CustomFieldValue  # noqa: PLC0415
        from ..models.event_type import EventType  # noqa: PLC0415
        from ..models.outcome import Outcome  # noqa: PLC0415
        from ..models.user import User  # noqa: PLC0415

        d = dict(src_dict)
        _schedule_time = d.pop("schedule_time", UNSET)
        schedule_time: datetime.datetime | Unset
        if isinstance(_schedule_time, Unset):
            schedule_time = UNSET
        else:
            schedule_time = datetime.datetime.fromisoformat(_schedule_time)

        def _parse_host(data: object) -> None | Unset | User:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                host_type_0 = User.from_dict(data)

                return host_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | User, data)

        host = _parse_host(d.pop("host", UNSET))

        def _parse_setter(data: object) -> None | Unset | User:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                setter_type_0 = User.from_dict(data)

                return setter_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | User, data)

        setter = _parse_setter(d.pop("setter", UNSET))

        def _parse_triager(data: object) -> None | Unset | User:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                triager_type_0 = User.from_dict(data)

                return triager_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | User, data)

        triager = _parse_triager(d.pop("triager", UNSET))

        def _parse_meeting_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        meeting_url = _parse_meeting_url(d.pop("meeting_url", UNSET))

        def _parse_appointment_type(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        appointment_type = _parse_appointment_type(d.pop("appointment_type", UNSET))

        _call_category = d.pop("call_category", UNSET)
        call_category: AppointmentRescheduledPreviousCallCategory | Unset
        if isinstance(_call_category, Unset):
            call_category = UNSET
        else:
            call_category = check_appointment_rescheduled_previous_call_category(_call_category)

        _appointment_event_type = d.pop("appointment_event_type", UNSET)
        appointment_event_type: EventType | Unset
        if isinstance(_appointment_event_type, Unset):
            appointment_event_type = UNSET
        else:
            appointment_event_type = EventType.from_dict(_appointment_event_type)

        def _parse_outcome(data: object) -> None | Outcome | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                outcome_type_0 = Outcome.from_dict(data)

                return outcome_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Outcome | Unset, data)

        outcome = _parse_outcome(d.pop("outcome", UNSET))

        def _parse_recording_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        recording_url = _parse_recording_url(d.pop("recording_url", UNSET))

        no_show = d.pop("no_show", UNSET)

        def _parse_external_reference(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        external_reference = _parse_external_reference(d.pop("external_reference", UNSET))

        def _parse_call_analysis(data: object) -> CallAnalysis | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                call_analysis_type_0 = CallAnalysis.from_dict(data)

                return call_analysis_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CallAnalysis | None | Unset, data)

        call_analysis = _parse_call_analysis(d.pop("call_analysis", UNSET))

        _custom_fields = d.pop("custom_fields", UNSET)
        custom_fields: list[CustomFieldValue] | Unset = UNSET
        if _custom_fields is not UNSET:
            custom_fields = []
            for custom_fields_item_data in _custom_fields:
                custom_fields_item = CustomFieldValue.from_dict(custom_fields_item_data)

                custom_fields.append(custom_fields_item)

        appointment_rescheduled_previous = cls(
            schedule_time=schedule_time,
            host=host,
            setter=setter,
            triager=triager,
            meeting_url=meeting_url,
            appointment_type=appointment_type,
            call_category=call_category,
            appointment_event_type=appointment_event_type,
            outcome=outcome,
            recording_url=recording_url,
            no_show=no_show,
            external_reference=external_reference,
            call_analysis=call_analysis,
            custom_fields=custom_fields,
        )

        return appointment_rescheduled_previous
