from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.status_updated_previous_role import (
    StatusUpdatedPreviousRole,
    check_status_updated_previous_role,
)
from ..models.status_updated_previous_type import (
    StatusUpdatedPreviousType,
    check_status_updated_previous_type,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="StatusUpdatedPrevious")


@_attrs_define
class StatusUpdatedPrevious:
    """The fields that changed, with their old values.

    Attributes:
        name (str | Unset): Its name for people.
        role (StatusUpdatedPreviousRole | Unset): What it means, whatever its name.
        type_ (StatusUpdatedPreviousType | Unset): The boards that have it: leads', appointments', or both.
        description (None | str | Unset): Null when not set.
        text_color (str | Unset): The label's text color as hex.
        bg_color (str | Unset): The label's background color as hex.
        is_active (bool | Unset): False for a retired status: it can't be set any more.
    """

    name: str | Unset = UNSET
    role: StatusUpdatedPreviousRole | Unset = UNSET
    type_: StatusUpdatedPreviousType | Unset = UNSET
    description: None | str | Unset = UNSET
    text_color: str | Unset = UNSET
    bg_color: str | Unset = UNSET
    is_active: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        role: str | Unset = UNSET
        if not isinstance(self.role, Unset):
            role = self.role

        type_: str | Unset = UNSET
        if not isinstance(self.type_, Unset):
            type_ = self.type_

        description: None | str | Unset
        if isinstance(self.description, Unset):
            description = UNSET
        else:
            description = self.description

        text_color = self.text_color

        bg_color = self.bg_color

        is_active = self.is_active

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if name is not UNSET:
            field_dict["name"] = name
        if role is not UNSET:
            field_dict["role"] = role
        if type_ is not UNSET:
            field_dict["type"] = type_
        if description is not UNSET:
            field_dict["description"] = description
        if text_color is not UNSET:
            field_dict["text_color"] = text_color
        if bg_color is not UNSET:
            field_dict["bg_color"] = bg_color
        if is_active is not UNSET:
            field_dict["is_active"] = is_active

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name", UNSET)

        _role = d.pop("role", UNSET)
        role: StatusUpdatedPreviousRole | Unset
        if isinstance(_role, Unset):
            role = UNSET
        else:
            role = check_status_updated_previous_role(_role)

        _type_ = d.pop("type", UNSET)
        type_: StatusUpdatedPreviousType | Unset
        if isinstance(_type_, Unset):
            type_ = UNSET
        else:
            type_ = check_status_updated_previous_type(_type_)

        def _parse_description(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        description = _parse_description(d.pop("description", UNSET))

        text_color = d.pop("text_color", UNSET)

        bg_color = d.pop("bg_color", UNSET)

        is_active = d.pop("is_active", UNSET)

        status_updated_previous = cls(
            name=name,
            role=role,
            type_=type_,
            description=description,
            text_color=text_color,
            bg_color=bg_color,
            is_active=is_active,
        )

        return status_updated_previous
