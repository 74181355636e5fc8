from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="MemberUpdatedPrevious")


@_attrs_define
class MemberUpdatedPrevious:
    """The fields that changed, with their old values.

    Attributes:
        first_name (str | Unset): First name.
        last_name (str | Unset): Last name.
        email (str | Unset): E-mail address.
        profile_image_url (None | str | Unset): Picture.
        role (str | Unset): The member's role. One of OWNER, MANAGER, SALES_OPS, CLOSER, SETTER, VIEWER; more may be
            added.
    """

    first_name: str | Unset = UNSET
    last_name: str | Unset = UNSET
    email: str | Unset = UNSET
    profile_image_url: None | str | Unset = UNSET
    role: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        first_name = self.first_name

        last_name = self.last_name

        email = self.email

        profile_image_url: None | str | Unset
        if isinstance(self.profile_image_url, Unset):
            profile_image_url = UNSET
        else:
            profile_image_url = self.profile_image_url

        role = self.role

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if first_name is not UNSET:
            field_dict["first_name"] = first_name
        if last_name is not UNSET:
            field_dict["last_name"] = last_name
        if email is not UNSET:
            field_dict["email"] = email
        if profile_image_url is not UNSET:
            field_dict["profile_image_url"] = profile_image_url
        if role is not UNSET:
            field_dict["role"] = role

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        first_name = d.pop("first_name", UNSET)

        last_name = d.pop("last_name", UNSET)

        email = d.pop("email", UNSET)

        def _parse_profile_image_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        profile_image_url = _parse_profile_image_url(d.pop("profile_image_url", UNSET))

        role = d.pop("role", UNSET)

        member_updated_previous = cls(
            first_name=first_name,
            last_name=last_name,
            email=email,
            profile_image_url=profile_image_url,
            role=role,
        )

        return member_updated_previous
