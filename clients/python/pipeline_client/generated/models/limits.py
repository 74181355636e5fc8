from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Limits")


@_attrs_define
class Limits:
    """Limits of requests.

    Attributes:
        requests_per_minute (int): Requests in each window of 60 seconds, over all keys together.
        body_bytes (int): The largest body of a request, in bytes.
        page_limit (int): The largest limit of a page.
    """

    requests_per_minute: int
    body_bytes: int
    page_limit: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        requests_per_minute = self.requests_per_minute

        body_bytes = self.body_bytes

        page_limit = self.page_limit

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "requests_per_minute": requests_per_minute,
                "body_bytes": body_bytes,
                "page_limit": page_limit,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        requests_per_minute = d.pop("requests_per_minute")

        body_bytes = d.pop("body_bytes")

        page_limit = d.pop("page_limit")

        limits = cls(
            requests_per_minute=requests_per_minute,
            body_bytes=body_bytes,
            page_limit=page_limit,
        )

        limits.additional_properties = d
        return limits

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
