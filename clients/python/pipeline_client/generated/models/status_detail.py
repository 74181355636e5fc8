from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.status_detail_role import StatusDetailRole, check_status_detail_role
from ..models.status_detail_type import StatusDetailType, check_status_detail_type

T = TypeVar("T", bound="StatusDetail")


@_attrs_define
class StatusDetail:
    """A status as shown in its own events.

    Attributes:
        id (UUID): Used to update a lead's status.
        name (str): Its name for people.
        role (StatusDetailRole): What it means, whatever its name.
        type_ (StatusDetailType): The boards that have it: leads', appointments', or both.
        description (None | str): Null when not set.
        text_color (str): The label's text color as hex.
        bg_color (str): The label's background color as hex.
        is_active (bool): False for a retired status: it can't be set any more.
    """

    id: UUID
    name: str
    role: StatusDetailRole
    type_: StatusDetailType
    description: None | str
    text_color: str
    bg_color: str
    is_active: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        name = self.name

        role: str = self.role

        type_: str = self.type_

        description: None | str
        description = self.description

        text_color = self.text_color

        bg_color = self.bg_color

        is_active = self.is_active

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "role": role,
                "type": type_,
                "description": description,
                "text_color": text_color,
                "bg_color": bg_color,
                "is_active": is_active,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        name = d.pop("name")

        role = check_status_detail_role(d.pop("role"))

        type_ = check_status_detail_type(d.pop("type"))

        def _parse_description(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        description = _parse_description(d.pop("description"))

        text_color = d.pop("text_color")

        bg_color = d.pop("bg_color")

        is_active = d.pop("is_active")

        status_detail = cls(
            id=id,
            name=name,
            role=role,
            type_=type_,
            description=description,
            text_color=text_color,
            bg_color=bg_color,
            is_active=is_active,
        )

        status_detail.additional_properties = d
        return status_detail

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
