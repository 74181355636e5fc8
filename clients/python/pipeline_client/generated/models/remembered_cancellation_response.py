from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.remembered_cancellation_response_status import (
    RememberedCancellationResponseStatus,
    check_remembered_cancellation_response_status,
)

if TYPE_CHECKING:
    from ..models.remembered_cancellation import RememberedCancellation


T = TypeVar("T", bound="RememberedCancellationResponse")


@_attrs_define
class RememberedCancellationResponse:
    """Cancellation remembered.

    Attributes:
        status (RememberedCancellationResponseStatus): Always success.
        message (str): A sentence for people, whose words may change.
        data (RememberedCancellation): A cancellation that waits for its booking.
    """

    status: RememberedCancellationResponseStatus
    message: str
    data: RememberedCancellation
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
        from ..models.remembered_cancellation import RememberedCancellation  # noqa: PLC0415

        d = dict(src_dict)
        status = check_remembered_cancellation_response_status(d.pop("status"))

        message = d.pop("message")

        data = RememberedCancellation.from_dict(d.pop("data"))

        remembered_cancellation_response = cls(
            status=status,
            message=message,
            data=data,
        )

        remembered_cancellation_response.additional_properties = d
        return remembered_cancellation_response

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
