from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.status_role import StatusRole, check_status_role
from ..models.status_type import StatusType, check_status_type

T = TypeVar("T", bound="Status")


@_attrs_define
class Status:
    """A sales status.

    Attributes:
        id (UUID): Used to update a lead's status.
        name (str): Its name for people.
        role (StatusRole): What it means, whatever its name.
        type_ (StatusType): The boards that have it: leads', appointments', or both.
        description (None | str): Null when not set.
        text_color (str): The label's text color as hex.
        bg_color (str): The label's background color as hex.
    """

    id: UUID
    name: str
    role: StatusRole
    type_: StatusType
    description: None | str
    text_color: str
    bg_color: str
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
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        name = d.pop("name")

        role = check_status_role(d.pop("role"))

        type_ = check_status_type(d.pop("type"))

        def _parse_description(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        description = _parse_description(d.pop("description"))

        text_color = d.pop("text_color")

        bg_color = d.pop("bg_color")

        status = cls(
            id=id,
            name=name,
            role=role,
            type_=type_,
            description=description,
            text_color=text_color,
            bg_color=bg_color,
        )

        status.additional_properties = d
        return status

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
