from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.event_type_updated_event_type import (
    EventTypeUpdatedEventType,
    check_event_type_updated_event_type,
)

if TYPE_CHECKING:
    from ..models.actor import Actor
    from ..models.event_type_detail import EventTypeDetail
    from ..models.event_type_updated_previous import EventTypeUpdatedPrevious


T = TypeVar("T", bound="EventTypeUpdatedEvent")


@_attrs_define
class EventTypeUpdatedEvent:
    """An event type was renamed or changed. Appointments show its present name, provider and owner.

    Attributes:
        id (UUID): The event's id. Equals the header webhook-id of its deliveries.
        type_ (EventTypeUpdatedEventType): The topic, such as appointment.created. More may be added: ignore unknown
            ones.
        timestamp (datetime.datetime): When it happened.
        organization_id (UUID): The organization that it happened in.
        is_test (bool): Whether it is a test organization. Older events lack it.
        request_id (None | str): The X-Request-Id of the request that caused the event; null if none did. Older events
            lack it.
        data (EventTypeDetail): An event type, as events have it.
        previous (EventTypeUpdatedPrevious): The fields that changed, with their old values.
        actor (Actor): Who made a change: a staff member, an API key or the system.
    """

    id: UUID
    type_: EventTypeUpdatedEventType
    timestamp: datetime.datetime
    organization_id: UUID
    is_test: bool
    request_id: None | str
    data: EventTypeDetail
    previous: EventTypeUpdatedPrevious
    actor: Actor
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        type_: str = self.type_

        timestamp = self.timestamp.isoformat()

        organization_id = str(self.organization_id)

        is_test = self.is_test

        request_id: None | str
        request_id = self.request_id

        data = self.data.to_dict()

        previous = self.previous.to_dict()

        actor = self.actor.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "type": type_,
                "timestamp": timestamp,
                "organization_id": organization_id,
                "is_test": is_test,
                "request_id": request_id,
                "data": data,
                "previous": previous,
                "actor": actor,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.actor import Actor  # noqa: PLC0415
        from ..models.event_type_detail import EventTypeDetail  # noqa: PLC0415
        from ..models.event_type_updated_previous import EventTypeUpdatedPrevious  # noqa: PLC0415

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        type_ = check_event_type_updated_event_type(d.pop("type"))

        timestamp = datetime.datetime.fromisoformat(d.pop("timestamp"))

        organization_id = UUID(d.pop("organization_id"))

        is_test = d.pop("is_test")

        def _parse_request_id(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        request_id = _parse_request_id(d.pop("request_id"))

        data = EventTypeDetail.from_dict(d.pop("data"))

        previous = EventTypeUpdatedPrevious.from_dict(d.pop("previous"))

        actor = Actor.from_dict(d.pop("actor"))

        event_type_updated_event = cls(
            id=id,
            type_=type_,
            timestamp=timestamp,
            organization_id=organization_id,
            is_test=is_test,
            request_id=request_id,
            data=data,
            previous=previous,
            actor=actor,
        )

        event_type_updated_event.additional_properties = d
        return event_type_updated_event

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
