from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="LeadSummary")


@_attrs_define
class LeadSummary:
    """The lead of an appointment.

    Attributes:
        id (UUID): The lead's id.
        first_name (str): First name.
        last_name (str): Last name; empty if it isn't known.
        email (str): E-mail address.
        phone_e164 (None | str): E.164.
        phone_country (None | str): ISO 3166-1 alpha-2.
        next_touch_point_at (datetime.datetime | None): The next contact with the lead.
        next_touch_point_type (None | str): Its kind. One of APPOINTMENT, CALL, EMAIL, SMS, FOLLOW_UP, OTHER; more may
            be added.
    """

    id: UUID
    first_name: str
    last_name: str
    email: str
    phone_e164: None | str
    phone_country: None | str
    next_touch_point_at: datetime.datetime | None
    next_touch_point_type: None | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        first_name = self.first_name

        last_name = self.last_name

        email = self.email

        phone_e164: None | str
        phone_e164 = self.phone_e164

        phone_country: None | str
        phone_country = self.phone_country

        next_touch_point_at: None | str
        if isinstance(self.next_touch_point_at, datetime.datetime):
            next_touch_point_at = self.next_touch_point_at.isoformat()
        else:
            next_touch_point_at = self.next_touch_point_at

        next_touch_point_type: None | str
        next_touch_point_type = self.next_touch_point_type

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "first_name": first_name,
                "last_name": last_name,
                "email": email,
                "phone_e164": phone_e164,
                "phone_country": phone_country,
                "next_touch_point_at": next_touch_point_at,
                "next_touch_point_type": next_touch_point_type,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        first_name = d.pop("first_name")

        last_name = d.pop("last_name")

        email = d.pop("email")

        def _parse_phone_e164(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        phone_e164 = _parse_phone_e164(d.pop("phone_e164"))

        def _parse_phone_country(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        phone_country = _parse_phone_country(d.pop("phone_country"))

        def _parse_next_touch_point_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                next_touch_point_at_type_0 = datetime.datetime.fromisoformat(data)

                return next_touch_point_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        next_touch_point_at = _parse_next_touch_point_at(d.pop("next_touch_point_at"))

        def _parse_next_touch_point_type(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        next_touch_point_type = _parse_next_touch_point_type(d.pop("next_touch_point_type"))

        lead_summary = cls(
            id=id,
            first_name=first_name,
            last_name=last_name,
            email=email,
            phone_e164=phone_e164,
            phone_country=phone_country,
            next_touch_point_at=next_touch_point_at,
            next_touch_point_type=next_touch_point_type,
        )

        lead_summary.additional_properties = d
        return lead_summary

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
