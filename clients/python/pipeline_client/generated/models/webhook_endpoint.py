from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.webhook_endpoint_metadata import WebhookEndpointMetadata


T = TypeVar("T", bound="WebhookEndpoint")


@_attrs_define
class WebhookEndpoint:
    """A webhook endpoint that an API key made.

    Attributes:
        id (UUID): The endpoint's id.
        url (str): The URL that deliveries are sent to.
        topics (list[str]): The topics that it receives; none means all.
        description (str): What the admin shows instead of the URL; may be empty.
        metadata (WebhookEndpointMetadata): Texts of your own, by name.
        is_active (bool): A disabled endpoint receives nothing.
        disabled_reason (str): Why it is disabled; empty if it isn't.
        failing_since (datetime.datetime | None): The first of its latest failures; null after a success.
        last_success_at (datetime.datetime | None): Its last successful delivery, to 10 seconds.
        created_at (datetime.datetime): When it was made.
    """

    id: UUID
    url: str
    topics: list[str]
    description: str
    metadata: WebhookEndpointMetadata
    is_active: bool
    disabled_reason: str
    failing_since: datetime.datetime | None
    last_success_at: datetime.datetime | None
    created_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        url = self.url

        topics = self.topics

        description = self.description

        metadata = self.metadata.to_dict()

        is_active = self.is_active

        disabled_reason = self.disabled_reason

        failing_since: None | str
        if isinstance(self.failing_since, datetime.datetime):
            failing_since = self.failing_since.isoformat()
        else:
            failing_since = self.failing_since

        last_success_at: None | str
        if isinstance(self.last_success_at, datetime.datetime):
            last_success_at = self.last_success_at.isoformat()
        else:
            last_success_at = self.last_success_at

        created_at = self.created_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "url": url,
                "topics": topics,
                "description": description,
                "metadata": metadata,
                "is_active": is_active,
                "disabled_reason": disabled_reason,
                "failing_since": failing_since,
                "last_success_at": last_success_at,
                "created_at": created_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.webhook_endpoint_metadata import WebhookEndpointMetadata  # noqa: PLC0415

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        url = d.pop("url")

        topics = cast(list[str], d.pop("topics"))

        description = d.pop("description")

        metadata = WebhookEndpointMetadata.from_dict(d.pop("metadata"))

        is_active = d.pop("is_active")

        disabled_reason = d.pop("disabled_reason")

        def _parse_failing_since(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                failing_since_type_0 = datetime.datetime.fromisoformat(data)

                return failing_since_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        failing_since = _parse_failing_since(d.pop("failing_since"))

        def _parse_last_success_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_success_at_type_0 = datetime.datetime.fromisoformat(data)

                return last_success_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        last_success_at = _parse_last_success_at(d.pop("last_success_at"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        webhook_endpoint = cls(
            id=id,
            url=url,
            topics=topics,
            description=description,
            metadata=metadata,
            is_active=is_active,
            disabled_reason=disabled_reason,
            failing_since=failing_since,
            last_success_at=last_success_at,
            created_at=created_at,
        )

        webhook_endpoint.additional_properties = d
        return webhook_endpoint

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
