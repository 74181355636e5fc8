from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="User")


@_attrs_define
class User:
    """A member of the organization: host, setter or triager.

    Attributes:
        first_name (str): First name.
        last_name (str): Last name.
        email (str): E-mail address.
        profile_image_url (None | str): Picture.
        id (str): Begins with user_.
        role (str): The member's role. One of OWNER, MANAGER, SALES_OPS, CLOSER, SETTER, VIEWER; more may be added.
    """

    first_name: str
    last_name: str
    email: str
    profile_image_url: None | str
    id: str
    role: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        first_name = self.first_name

        last_name = self.last_name

        email = self.email

        profile_image_url: None | str
        profile_image_url = self.profile_image_url

        id = self.id

        role = self.role

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "first_name": first_name,
                "last_name": last_name,
                "email": email,
                "profile_image_url": profile_image_url,
                "id": id,
                "role": role,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        first_name = d.pop("first_name")

        last_name = d.pop("last_name")

        email = d.pop("email")

        def _parse_profile_image_url(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        profile_image_url = _parse_profile_image_url(d.pop("profile_image_url"))

        id = d.pop("id")

        role = d.pop("role")

        user = cls(
            first_name=first_name,
            last_name=last_name,
            email=email,
            profile_image_url=profile_image_url,
            id=id,
            role=role,
        )

        user.additional_properties = d
        return user

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
