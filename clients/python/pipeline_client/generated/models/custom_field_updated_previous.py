from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="CustomFieldUpdatedPrevious")


@_attrs_define
class CustomFieldUpdatedPrevious:
    """The fields that changed, with their old values.

    Attributes:
        entity (str | Unset): The objects that have the field. One of LEAD, APPOINTMENT; more may be added.
        key (str | Unset): Its key, which doesn't change.
        label (str | Unset): Its name for people.
        type_ (str | Unset): The type of its values. One of TEXT, NUMBER, BOOLEAN, DATE, SELECT; more may be added.
        options (list[str] | Unset): The values that a SELECT can have; empty for other types.
        position (int | Unset): Custom fields are shown in the order of position and key.
    """

    entity: str | Unset = UNSET
    key: str | Unset = UNSET
    label: str | Unset = UNSET
    type_: str | Unset = UNSET
    options: list[str] | Unset = UNSET
    position: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        entity = self.entity

        key = self.key

        label = self.label

        type_ = self.type_

        options: list[str] | Unset = UNSET
        if not isinstance(self.options, Unset):
            options = self.options

        position = self.position

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if entity is not UNSET:
            field_dict["entity"] = entity
        if key is not UNSET:
            field_dict["key"] = key
        if label is not UNSET:
            field_dict["label"] = label
        if type_ is not UNSET:
            field_dict["type"] = type_
        if options is not UNSET:
            field_dict["options"] = options
        if position is not UNSET:
            field_dict["position"] = position

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        entity = d.pop("entity", UNSET)

        key = d.pop("key", UNSET)

        label = d.pop("label", UNSET)

        type_ = d.pop("type", UNSET)

        options = cast(list[str], d.pop("options", UNSET))

        position = d.pop("position", UNSET)

        custom_field_updated_previous = cls(
            entity=entity,
            key=key,
            label=label,
            type_=type_,
            options=options,
            position=position,
        )

        return custom_field_updated_previous
