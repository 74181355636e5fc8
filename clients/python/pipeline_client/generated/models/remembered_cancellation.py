from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="RememberedCancellation")


@_attrs_define
class RememberedCancellation:
    """A cancellation that waits for its booking.

    Attributes:
        external_reference (str): The reference that is canceled as soon as it is booked.
        remembered_until (datetime.datetime): A later booking is not canceled.
    """

    external_reference: str
    remembered_until: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        external_reference = self.external_reference

        remembered_until = self.remembered_until.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "external_reference": external_reference,
                "remembered_until": remembered_until,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        external_reference = d.pop("external_reference")

        remembered_until = datetime.datetime.fromisoformat(d.pop("remembered_until"))

        remembered_cancellation = cls(
            external_reference=external_reference,
            remembered_until=remembered_until,
        )

        remembered_cancellation.additional_properties = d
        return remembered_cancellation

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
