from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="CallMatchInputRequest")


@_attrs_define
class CallMatchInputRequest:
    """What is known of a call, to find its appointment.

    Attributes:
        host_email (str): The appointment's host, active or not.
        started_at (datetime.datetime): When the call began; the nearest appointment within an hour is found.
        lead_email (None | str | Unset): If given, only this lead's appointments are found.
        meeting_url (None | str | Unset): If given, only appointments with this URL are found.
    """

    host_email: str
    started_at: datetime.datetime
    lead_email: None | str | Unset = UNSET
    meeting_url: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        host_email = self.host_email

        started_at = self.started_at.isoformat()

        lead_email: None | str | Unset
        if isinstance(self.lead_email, Unset):
            lead_email = UNSET
        else:
            lead_email = self.lead_email

        meeting_url: None | str | Unset
        if isinstance(self.meeting_url, Unset):
            meeting_url = UNSET
        else:
            meeting_url = self.meeting_url

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "host_email": host_email,
                "started_at": started_at,
            }
        )
        if lead_email is not UNSET:
            field_dict["lead_email"] = lead_email
        if meeting_url is not UNSET:
            field_dict["meeting_url"] = meeting_url

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        host_email = d.pop("host_email")

        started_at = datetime.datetime.fromisoformat(d.pop("started_at"))

        def _parse_lead_email(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        lead_email = _parse_lead_email(d.pop("lead_email", UNSET))

        def _parse_meeting_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        meeting_url = _parse_meeting_url(d.pop("meeting_url", UNSET))

        call_match_input_request = cls(
            host_email=host_email,
            started_at=started_at,
            lead_email=lead_email,
            meeting_url=meeting_url,
        )

        call_match_input_request.additional_properties = d
        return call_match_input_request

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
