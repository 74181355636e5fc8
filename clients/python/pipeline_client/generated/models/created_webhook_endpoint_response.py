from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.created_webhook_endpoint_response_status import (
    CreatedWebhookEndpointResponseStatus,
    check_created_webhook_endpoint_response_status,
)

if TYPE_CHECKING:
    from ..models.created_webhook_endpoint import CreatedWebhookEndpoint


T = TypeVar("T", bound="CreatedWebhookEndpointResponse")


@_attrs_define
class CreatedWebhookEndpointResponse:
    """Webhook endpoint created.

    Attributes:
        status (CreatedWebhookEndpointResponseStatus): Always success.
        message (str): A sentence for people, whose words may change.
        data (CreatedWebhookEndpoint): A new webhook endpoint, with its signing secret, which is shown only once.
    """

    status: CreatedWebhookEndpointResponseStatus
    message: str
    data: CreatedWebhookEndpoint
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
        from ..models.created_webhook_endpoint import CreatedWebhookEndpoint  # noqa: PLC0415

        d = dict(src_dict)
        status = check_created_webhook_endpoint_response_status(d.pop("status"))

        message = d.pop("message")

        data = CreatedWebhookEndpoint.from_dict(d.pop("data"))

        created_webhook_endpoint_response = cls(
            status=status,
            message=message,
            data=data,
        )

        created_webhook_endpoint_response.additional_properties = d
        return created_webhook_endpoint_response

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
