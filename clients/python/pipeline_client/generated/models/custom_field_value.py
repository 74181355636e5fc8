from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="CustomFieldValue")


@_attrs_define
class CustomFieldValue:
    """A custom field and its value: a string, number, boolean, YYYY-MM-DD date, or null.

    Attributes:
        id (UUID): The custom field's id.
        key (str): Its key, which doesn't change.
        label (str): Its name for people.
        type_ (str): The type of the value. One of TEXT, NUMBER, BOOLEAN, DATE, SELECT; more may be added.
        value (Any): The value, of the field's type; null if it has none.
    """

    id: UUID
    key: str
    label: str
    type_: str
    value: Any
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        key = self.key

        label = self.label

        type_ = self.type_

        value = self.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "key": key,
                "label": label,
                "type": type_,
                "value": value,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        key = d.pop("key")

        label = d.pop("label")

        type_ = d.pop("type")

        value = d.pop("value")

        custom_field_value = cls(
            id=id,
            key=key,
            label=label,
            type_=type_,
            value=value,
        )

        custom_field_value.additional_properties = d
        return custom_field_value

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
