from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.appointment_update_input_request_call_category import (
    AppointmentUpdateInputRequestCallCategory,
    check_appointment_update_input_request_call_category,
)
from ..models.appointment_update_input_request_outcome_role import (
    AppointmentUpdateInputRequestOutcomeRole,
    check_appointment_update_input_request_outcome_role,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.appointment_update_input_request_custom_fields import (
        AppointmentUpdateInputRequestCustomFields,
    )


T = TypeVar("T", bound="AppointmentUpdateInputRequest")


@_attrs_define
class AppointmentUpdateInputRequest:
    """Changes of an appointment. An absent field keeps its value; null clears one that may be null.

    Attributes:
        status_id (UUID | Unset): The outcome: a status of the appointment board. Takes precedence over outcome_role.
        outcome_role (AppointmentUpdateInputRequestOutcomeRole | Unset): Sets the outcome to the default status of this
            role.
        host_email (None | str | Unset): An active member of the organization who is not a viewer.
        setter_email (None | str | Unset): An active member of the organization who is not a viewer.
        triager_email (None | str | Unset): An active member of the organization who is not a viewer.
        meeting_url (None | str | Unset): Where the call takes place: an http or https URL.
        recording_url (None | str | Unset): The call's recording: an http or https URL.
        call_category (AppointmentUpdateInputRequestCallCategory | Unset): The kind of call.
        custom_fields (AppointmentUpdateInputRequestCustomFields | Unset): New values by the custom fields' keys. null
            removes one; others stay.
    """

    status_id: UUID | Unset = UNSET
    outcome_role: AppointmentUpdateInputRequestOutcomeRole | Unset = UNSET
    host_email: None | str | Unset = UNSET
    setter_email: None | str | Unset = UNSET
    triager_email: None | str | Unset = UNSET
    meeting_url: None | str | Unset = UNSET
    recording_url: None | str | Unset = UNSET
    call_category: AppointmentUpdateInputRequestCallCategory | Unset = UNSET
    custom_fields: AppointmentUpdateInputRequestCustomFields | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status_id: str | Unset = UNSET
        if not isinstance(self.status_id, Unset):
            status_id = str(self.status_id)

        outcome_role: str | Unset = UNSET
        if not isinstance(self.outcome_role, Unset):
            outcome_role = self.outcome_role

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

        recording_url: None | str | Unset
        if isinstance(self.recording_url, Unset):
            recording_url = UNSET
        else:
            recording_url = self.recording_url

        call_category: str | Unset = UNSET
        if not isinstance(self.call_category, Unset):
            call_category = self.call_category

        custom_fields: dict[str, Any] | Unset = UNSET
        if not isinstance(self.custom_fields, Unset):
            custom_fields = self.custom_fields.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if status_id is not UNSET:
            field_dict["status_id"] = status_id
        if outcome_role is not UNSET:
            field_dict["outcome_role"] = outcome_role
        if host_email is not UNSET:
            field_dict["host_email"] = host_email
        if setter_email is not UNSET:
            field_dict["setter_email"] = setter_email
        if triager_email is not UNSET:
            field_dict["triager_email"] = triager_email
        if meeting_url is not UNSET:
            field_dict["meeting_url"] = meeting_url
        if recording_url is not UNSET:
            field_dict["recording_url"] = recording_url
        if call_category is not UNSET:
            field_dict["call_category"] = call_category
        if custom_fields is not UNSET:
            field_dict["custom_fields"] = custom_fields

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.appointment_update_input_request_custom_fields import (
            AppointmentUpdateInputRequestCustomFields,  # noqa: PLC0415
        )

        d = dict(src_dict)
        _status_id = d.pop("status_id", UNSET)
        status_id: UUID | Unset
        if isinstance(_status_id, Unset):
            status_id = UNSET
        else:
            status_id = UUID(_status_id)

        _outcome_role = d.pop("outcome_role", UNSET)
        outcome_role: AppointmentUpdateInputRequestOutcomeRole | Unset
        if isinstance(_outcome_role, Unset):
            outcome_role = UNSET
        else:
            outcome_role = check_appointment_update_input_request_outcome_role(_outcome_role)

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

        def _parse_recording_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        recording_url = _parse_recording_url(d.pop("recording_url", UNSET))

        _call_category = d.pop("call_category", UNSET)
        call_category: AppointmentUpdateInputRequestCallCategory | Unset
        if isinstance(_call_category, Unset):
            call_category = UNSET
        else:
            call_category = check_appointment_update_input_request_call_category(_call_category)

        _custom_fields = d.pop("custom_fields", UNSET)
        custom_fields: AppointmentUpdateInputRequestCustomFields | Unset
        if isinstance(_custom_fields, Unset):
            custom_fields = UNSET
        else:
            custom_fields = AppointmentUpdateInputRequestCustomFields.from_dict(_custom_fields)

        appointment_update_input_request = cls(
            status_id=status_id,
            outcome_role=outcome_role,
            host_email=host_email,
            setter_email=setter_email,
            triager_email=triager_email,
            meeting_url=meeting_url,
            recording_url=recording_url,
            call_category=call_category,
            custom_fields=custom_fields,
        )

        appointment_update_input_request.additional_properties = d
        return appointment_update_input_request

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
