from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.outcome_role import OutcomeRole, check_outcome_role

T = TypeVar("T", bound="Outcome")


@_attrs_define
class Outcome:
    """The outcome of an appointment: a status without its type.

    Attributes:
        id (UUID): Used to update a lead's status.
        name (str): Its name for people.
        role (OutcomeRole): What it means, whatever its name.
        description (str): Empty when not set.
        text_color (str): The label's text color as hex.
        bg_color (str): The label's background color as hex.
        created_at (datetime.datetime): When the status was created.
    """

    id: UUID
    name: str
    role: OutcomeRole
    description: str
    text_color: str
    bg_color: str
    created_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        name = self.name

        role: str = self.role

        description = self.description

        text_color = self.text_color

        bg_color = self.bg_color

        created_at = self.created_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "role": role,
                "description": description,
                "text_color": text_color,
                "bg_color": bg_color,
                "created_at": created_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        name = d.pop("name")

        role = check_outcome_role(d.pop("role"))

        description = d.pop("description")

        text_color = d.pop("text_color")

        bg_color = d.pop("bg_color")

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        outcome = cls(
            id=id,
            name=name,
            role=role,
            description=description,
            text_color=text_color,
            bg_color=bg_color,
            created_at=created_at,
        )

        outcome.additional_properties = d
        return outcome

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
