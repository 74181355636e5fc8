from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SourceItem")


@_attrs_define
class SourceItem:
    """A source in the sources list.

    Attributes:
        id (UUID): The source's id.
        name (str): Its name.
        is_active (bool): Always true: sources are never retired.
        updated_at (datetime.datetime): When it was stored: a source never changes.
    """

    id: UUID
    name: str
    is_active: bool
    updated_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        name = self.name

        is_active = self.is_active

        updated_at = self.updated_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
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

        is_active = d.pop("is_active")

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at"))

        source_item = cls(
            id=id,
            name=name,
            is_active=is_active,
            updated_at=updated_at,
        )

        source_item.additional_properties = d
        return source_item

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
