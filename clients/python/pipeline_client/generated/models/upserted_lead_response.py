from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.upserted_lead_response_status import (
    UpsertedLeadResponseStatus,
    check_upserted_lead_response_status,
)

if TYPE_CHECKING:
    from ..models.upserted_lead import UpsertedLead


T = TypeVar("T", bound="UpsertedLeadResponse")


@_attrs_define
class UpsertedLeadResponse:
    """Lead updated.

    Attributes:
        status (UpsertedLeadResponseStatus): Always success.
        message (str): A sentence for people, whose words may change.
        data (UpsertedLead): The result of creating or completing a lead.
    """

    status: UpsertedLeadResponseStatus
    message: str
    data: UpsertedLead
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status: str = self.status

        message = self.message

        data = self.data.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
                "message": message,
                "data": data,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.upserted_lead import UpsertedLead  # noqa: PLC0415

        d = dict(src_dict)
        status = check_upserted_lead_response_status(d.pop("status"))

        message = d.pop("message")

        data = UpsertedLead.from_dict(d.pop("data"))

        upserted_lead_response = cls(
            status=status,
            message=message,
            data=data,
        )

        upserted_lead_response.additional_properties = d
        return upserted_lead_response

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
