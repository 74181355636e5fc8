from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="CustomFieldItem")


@_attrs_define
class CustomFieldItem:
    """A custom field in the custom fields list.

    Attributes:
        id (UUID): The custom field's id.
        name (str): Its name for people, which leads and appointments show as label.
        entity (str): The objects that have the field. One of LEAD, APPOINTMENT; more may be added.
        key (str): Its key, which doesn't change.
        type_ (str): The type of its values. One of TEXT, NUMBER, BOOLEAN, DATE, SELECT; more may be added.
        options (list[str]): The values that a SELECT can have; empty for other types.
        position (int): Objects show their custom fields in the order of position and key.
        is_active (bool): Always true: a custom field is deleted, not retired.
        updated_at (datetime.datetime): When the definition last changed.
    """

    id: UUID
    name: str
    entity: str
    key: str
    type_: str
    options: list[str]
    position: int
    is_active: bool
    updated_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        name = self.name

        entity = self.entity

        key = self.key

        type_ = self.type_

        options = self.options

        position = self.position

        is_active = self.is_active

        updated_at = self.updated_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "entity": entity,
                "key": key,
                "type": type_,
                "options": options,
                "position": position,
                "is_active": is_active,
                "updated_at": updated_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        name = d.pop("name")

        entity = d.pop("entity")

        key = d.pop("key")

        type_ = d.pop("type")

        options = cast(list[str], d.pop("options"))

        position = d.pop("position")

        is_active = d.pop("is_active")

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at"))

        custom_field_item = cls(
            id=id,
            name=name,
            entity=entity,
            key=key,
            type_=type_,
            options=options,
            position=position,
            is_active=is_active,
            updated_at=updated_at,
        )

        custom_field_item.additional_properties = d
        return custom_field_item

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
