from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SyncedOptIn")


@_attrs_define
class SyncedOptIn:
    """The result of a sync.

    Attributes:
        opt_in_id (UUID): The opt-in's id.
        lead_id (UUID): The lead's id.
        applied (bool): false if the state is older than the stored one.
    """

    opt_in_id: UUID
    lead_id: UUID
    applied: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        opt_in_id = str(self.opt_in_id)

        lead_id = str(self.lead_id)

        applied = self.applied

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "opt_in_id": opt_in_id,
                "lead_id": lead_id,
                "applied": applied,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        opt_in_id = UUID(d.pop("opt_in_id"))

        lead_id = UUID(d.pop("lead_id"))

        applied = d.pop("applied")

        synced_opt_in = cls(
            opt_in_id=opt_in_id,
            lead_id=lead_id,
            applied=applied,
        )

        synced_opt_in.additional_properties = d
        return synced_opt_in

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
