from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="UpsertedLead")


@_attrs_define
class UpsertedLead:
    """The result of creating or completing a lead.

    Attributes:
        id (UUID): The lead's id.
        is_new (bool): Whether the request created the lead.
        changed (list[str]): The given fields whose values the lead has only now.
        kept (list[str]): The given fields of which the lead has another value, which it keeps.
    """

    id: UUID
    is_new: bool
    changed: list[str]
    kept: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        is_new = self.is_new

        changed = self.changed

        kept = self.kept

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "is_new": is_new,
                "changed": changed,
                "kept": kept,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        is_new = d.pop("is_new")

        changed = cast(list[str], d.pop("changed"))

        kept = cast(list[str], d.pop("kept"))

        upserted_lead = cls(
            id=id,
            is_new=is_new,
            changed=changed,
            kept=kept,
        )

        upserted_lead.additional_properties = d
        return upserted_lead

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
