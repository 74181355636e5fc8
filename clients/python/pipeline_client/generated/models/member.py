from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Member")


@_attrs_define
class Member:
    """A member of the organization, active or not.

    Attributes:
        id (str): Begins with user_.
        name (str): First and last name, or the e-mail address if both are empty.
        email (str): E-mail address.
        role (str): The member's role. One of OWNER, MANAGER, SALES_OPS, CLOSER, SETTER, VIEWER; more may be added.
        time_zone (str): IANA name, such as Europe/Berlin.
        is_active (bool): False for a former member.
        can_be_named (bool): Whether requests can name the member as host, setter or triager.
        updated_at (datetime.datetime): When one of these values last changed.
    """

    id: str
    name: str
    email: str
    role: str
    time_zone: str
    is_active: bool
    can_be_named: bool
    updated_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        email = self.email

        role = self.role

        time_zone = self.time_zone

        is_active = self.is_active

        can_be_named = self.can_be_named

        updated_at = self.updated_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "email": email,
                "role": role,
                "time_zone": time_zone,
                "is_active": is_active,
                "can_be_named": can_be_named,
                "updated_at": updated_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        email = d.pop("email")

        role = d.pop("role")

        time_zone = d.pop("time_zone")

        is_active = d.pop("is_active")

        can_be_named = d.pop("can_be_named")

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at"))

        member = cls(
            id=id,
            name=name,
            email=email,
            role=role,
            time_zone=time_zone,
            is_active=is_active,
            can_be_named=can_be_named,
            updated_at=updated_at,
        )

        member.additional_properties = d
        return member

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
