from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Organization")


@_attrs_define
class Organization:
    """The organization that the key belongs to.

    Attributes:
        id (UUID): The organization's id, as in events.
        name (str): Its name.
        country (str): ISO 3166-1 alpha-2. Phone numbers without + are read as numbers of it.
        time_zone (str): IANA name, such as Europe/Berlin.
        is_test (bool): Whether it is a test organization, whose data can be reset.
    """

    id: UUID
    name: str
    country: str
    time_zone: str
    is_test: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        name = self.name

        country = self.country

        time_zone = self.time_zone

        is_test = self.is_test

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "country": country,
                "time_zone": time_zone,
                "is_test": is_test,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        name = d.pop("name")

        country = d.pop("country")

        time_zone = d.pop("time_zone")

        is_test = d.pop("is_test")

        organization = cls(
            id=id,
            name=name,
            country=country,
            time_zone=time_zone,
            is_test=is_test,
        )

        organization.additional_properties = d
        return organization

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
