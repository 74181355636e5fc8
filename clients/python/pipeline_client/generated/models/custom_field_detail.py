from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="CustomFieldDetail")


@_attrs_define
class CustomFieldDetail:
    """The definition of a custom field, as events have it.

    Attributes:
        id (UUID): The custom field's id.
        entity (str): The objects that have the field. One of LEAD, APPOINTMENT; more may be added.
        key (str): Its key, which doesn't change.
        label (str): Its name for people.
        type_ (str): The type of its values. One of TEXT, NUMBER, BOOLEAN, DATE, SELECT; more may be added.
        options (list[str]): The values that a SELECT can have; empty for other types.
        position (int): Custom fields are shown in the order of position and key.
    """

    id: UUID
    entity: str
    key: str
    label: str
    type_: str
    options: list[str]
    position: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        entity = self.entity

        key = self.key

        label = self.label

        type_ = self.type_

        options = self.options

        position = self.position

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "entity": entity,
                "key": key,
                "label": label,
                "type": type_,
                "options": options,
                "position": position,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        entity = d.pop("entity")

        key = d.pop("key")

        label = d.pop("label")

        type_ = d.pop("type")

        options = cast(list[str], d.pop("options"))

        position = d.pop("position")

        custom_field_detail = cls(
            id=id,
            entity=entity,
            key=key,
            label=label,
            type_=type_,
            options=options,
            position=position,
        )

        custom_field_detail.additional_properties = d
        return custom_field_detail

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
