from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.sync_input_request_canceled_by import (
    SyncInputRequestCanceledBy,
    check_sync_input_request_canceled_by,
)
from ..models.sync_input_request_state import (
    SyncInputRequestState,
    check_sync_input_request_state,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.question_answer_input_request import QuestionAnswerInputRequest
    from ..models.synced_lead_input_request import SyncedLeadInputRequest
    from ..models.utm_input_request import UTMInputRequest


T = TypeVar("T", bound="SyncInputRequest")


@_attrs_define
class SyncInputRequest:
    """The whole state of a booking, as its scheduler's integration knows it.

    Attributes:
        changed_at (datetime.datetime): When the scheduler changed the booking. An older state is not applied.
        state (SyncInputRequestState): BOOKED, CANCELED or NO_SHOW.
        schedule_time (datetime.datetime): Start time, in UTC unless it has an offset.
        lead (SyncedLeadInputRequest): The lead of a scheduler's booking.
        event_type (str): The event type's name. A known appointment keeps its own event type.
        questions_answers (list[QuestionAnswerInputRequest] | Unset): The questions of the form with their answers.
        duration_minutes (int | None | Unset): How long the call is. Without it, the stored duration stays.
        host_email (None | str | Unset): An active member. Without it, the stored host stays.
        meeting_url (None | str | Unset): Where the call takes place. Without it, the stored one stays.
        traffic (UTMInputRequest | Unset): The UTM values of the visit. Each is stored as text, trimmed and cut to 8,192
            characters.

            Nothing is refused here: another type is stored as text, and anything in place of the object counts as absent.
        previous_reference (None | str | Unset): The reference of the booking that this one replaces. Both lead to the
            appointment.
        canceled_by (SyncInputRequestCanceledBy | Unset): Who canceled. Counts only with CANCELED.
        reason (None | str | Unset): Why. Counts only with CANCELED.
        notify (bool | None | Unset): true: participants are notified of the change. Default: False.
    """

    changed_at: datetime.datetime
    state: SyncInputRequestState
    schedule_time: datetime.datetime
    lead: SyncedLeadInputRequest
    event_type: str
    questions_answers: list[QuestionAnswerInputRequest] | Unset = UNSET
    duration_minutes: int | None | Unset = UNSET
    host_email: None | str | Unset = UNSET
    meeting_url: None | str | Unset = UNSET
    traffic: UTMInputRequest | Unset = UNSET
    previous_reference: None | str | Unset = UNSET
    canceled_by: SyncInputRequestCanceledBy | Unset = UNSET
    reason: None | str | Unset = UNSET
    notify: bool | None | Unset = False
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        changed_at = self.changed_at.isoformat()

        state: str = self.state

        schedule_time = self.schedule_time.isoformat()

        lead = self.lead.to_dict()

        event_type = self.event_type

        questions_answers: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.questions_answers, Unset):
            questions_answers = []
            for questions_answers_item_data in self.questions_answers:
                questions_answers_item = questions_answers_item_data.to_dict()
                questions_answers.append(questions_answers_item)

        duration_minutes: int | None | Unset
        if isinstance(self.duration_minutes, Unset):
            duration_minutes = UNSET
        else:
            duration_minutes = self.duration_minutes

        host_email: None | str | Unset
        if isinstance(self.host_email, Unset):
            host_email = UNSET
        else:
            host_email = self.host_email

        meeting_url: None | str | Unset
        if isinstance(self.meeting_url, Unset):
            meeting_url = UNSET
        else:
            meeting_url = self.meeting_url

        traffic: dict[str, Any] | Unset = UNSET
        if not isinstance(self.traffic, Unset):
            traffic = self.traffic.to_dict()

        previous_reference: None | str | Unset
        if isinstance(self.previous_reference, Unset):
            previous_reference = UNSET
        else:
            previous_reference = self.previous_reference

        canceled_by: str | Unset = UNSET
        if not isinstance(self.canceled_by, Unset):
            canceled_by = self.canceled_by

        reason: None | str | Unset
        if isinstance(self.reason, Unset):
            reason = UNSET
        else:
            reason = self.reason

        notify: bool | None | Unset
        if isinstance(self.notify, Unset):
            notify = UNSET
        else:
            notify = self.notify

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "changed_at": changed_at,
                "state": state,
                "schedule_time": schedule_time,
                "lead": lead,
                "event_type": event_type,
            }
        )
        if questions_answers is not UNSET:
            field_dict["questions_answers"] = questions_answers
        if duration_minutes is not UNSET:
            field_dict["duration_minutes"] = duration_minutes
        if host_email is not UNSET:
            field_dict["host_email"] = host_email
        if meeting_url is not UNSET:
            field_dict["meeting_url"] = meeting_url
        if traffic is not UNSET:
            field_dict["traffic"] = traffic
        if previous_reference is not UNSET:
            field_dict["previous_reference"] = previous_reference
        if canceled_by is not UNSET:
            field_dict["canceled_by"] = canceled_by
        if reason is not UNSET:
            field_dict["reason"] = reason
        if notify is not UNSET:
            field_dict["notify"] = notify

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.question_answer_input_request import QuestionAnswerInputRequest  # noqa: PLC0415
        from ..models.synced_lead_input_request import SyncedLeadInputRequest  # noqa: PLC0415
        from ..models.utm_input_request import UTMInputRequest  # noqa: PLC0415

        d = dict(src_dict)
        changed_at = datetime.datetime.fromisoformat(d.pop("changed_at"))

        state = check_sync_input_request_state(d.pop("state"))

        schedule_time = datetime.datetime.fromisoformat(d.pop("schedule_time"))

        lead = SyncedLeadInputRequest.from_dict(d.pop("lead"))

        event_type = d.pop("event_type")

        _questions_answers = d.pop("questions_answers", UNSET)
        questions_answers: list[QuestionAnswerInputRequest] | Unset = UNSET
        if _questions_answers is not UNSET:
            questions_answers = []
            for questions_answers_item_data in _questions_answers:
                questions_answers_item = QuestionAnswerInputRequest.from_dict(questions_answers_item_data)

                questions_answers.append(questions_answers_item)

        def _parse_duration_minutes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        duration_minutes = _parse_duration_minutes(d.pop("duration_minutes", UNSET))

        def _parse_host_email(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        host_email = _parse_host_email(d.pop("host_email", UNSET))

        def _parse_meeting_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        meeting_url = _parse_meeting_url(d.pop("meeting_url", UNSET))

        _traffic = d.pop("traffic", UNSET)
        traffic: UTMInputRequest | Unset
        if isinstance(_traffic, Unset):
            traffic = UNSET
        else:
            traffic = UTMInputRequest.from_dict(_traffic)

        def _parse_previous_reference(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        previous_reference = _parse_previous_reference(d.pop("previous_reference", UNSET))

        _canceled_by = d.pop("canceled_by", UNSET)
        canceled_by: SyncInputRequestCanceledBy | Unset
        if isinstance(_canceled_by, Unset):
            canceled_by = UNSET
        else:
            canceled_by = check_sync_input_request_canceled_by(_canceled_by)

        def _parse_reason(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        reason = _parse_reason(d.pop("reason", UNSET))

        def _parse_notify(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        notify = _parse_notify(d.pop("notify", UNSET))

        sync_input_request = cls(
            changed_at=changed_at,
            state=state,
            schedule_time=schedule_time,
            lead=lead,
            event_type=event_type,
            questions_answers=questions_answers,
            duration_minutes=duration_minutes,
            host_email=host_email,
            meeting_url=meeting_url,
            traffic=traffic,
            previous_reference=previous_reference,
            canceled_by=canceled_by,
            reason=reason,
            notify=notify,
        )

        sync_input_request.additional_properties = d
        return sync_input_request

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
