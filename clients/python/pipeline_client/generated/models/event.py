from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.actor import Actor
    from ..models.attribution import Attribution
    from ..models.event_data import EventData
    from ..models.event_details import EventDetails
    from ..models.event_previous import EventPrevious


T = TypeVar("T", bound="Event")


@_attrs_define
class Event:
    """An event. Deliveries of those that older versions recorded have the `id` in the header webhook-id only.

    Attributes:
        id (UUID): The event's id. Equals the header webhook-id of its deliveries.
        type_ (str): The topic, such as appointment.created. More may be added: ignore unknown ones.
        timestamp (datetime.datetime): When it happened.
        organization_id (UUID): The organization that it happened in.
        data (EventData): The object, as its detail endpoint returned it when the event was recorded. Its shape depends
            on `type`: the document's webhooks have each.
        is_test (bool | Unset): Whether it is a test organization. Older events lack it.
        request_id (None | str | Unset): The X-Request-Id of the request that caused the event; null if none did. Older
            events lack it.
        previous (EventPrevious | Unset): Present only on changes: the fields that changed, with their old values.
        attribution (Attribution | Unset): The UTM values of a booking: those of the lead's latest opt-in before it.
        details (EventDetails | Unset): Present only on events of an appointment that was rescheduled or canceled: what
            the request said about it. Older events lack it.
        actor (Actor | Unset): Who made a change: a staff member, an API key or the system.
    """

    id: UUID
    type_: str
    timestamp: datetime.datetime
    organization_id: UUID
    data: EventData
    is_test: bool | Unset = UNSET
    request_id: None | str | Unset = UNSET
    previous: EventPrevious | Unset = UNSET
    attribution: Attribution | Unset = UNSET
    details: EventDetails | Unset = UNSET
    actor: Actor | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        type_ = self.type_

        timestamp = self.timestamp.isoformat()

        organization_id = str(self.organization_id)

        data = self.data.to_dict()

        is_test = self.is_test

        request_id: None | str | Unset
        if isinstance(self.request_id, Unset):
            request_id = UNSET
        else:
            request_id = self.request_id

        previous: dict[str, Any] | Unset = UNSET
        if not isinstance(self.previous, Unset):
            previous = self.previous.to_dict()

        attribution: dict[str, Any] | Unset = UNSET
        if not isinstance(self.attribution, Unset):
            attribution = self.attribution.to_dict()

        details: dict[str, Any] | Unset = UNSET
        if not isinstance(self.details, Unset):
            details = self.details.to_dict()

        actor: dict[str, Any] | Unset = UNSET
        if not isinstance(self.actor, Unset):
            actor = self.actor.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "type": type_,
                "timestamp": timestamp,
                "organization_id": organization_id,
                "data": data,
            }
        )
        if is_test is not UNSET:
            field_dict["is_test"] = is_test
        if request_id is not UNSET:
            field_dict["request_id"] = request_id
        if previous is not UNSET:
            field_dict["previous"] = previous
        if attribution is not UNSET:
            field_dict["attribution"] = attribution
        if details is not UNSET:
            field_dict["details"] = details
        if actor is not UNSET:
            field_dict["actor"] = actor

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.actor import Actor  # noqa: PLC0415
        from ..models.attribution import Attribution  # noqa: PLC0415
        from ..models.event_data import EventData  # noqa: PLC0415
        from ..models.event_details import EventDetails  # noqa: PLC0415
        from ..models.event_previous import EventPrevious  # noqa: PLC0415

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        type_ = d.pop("type")

        timestamp = datetime.datetime.fromisoformat(d.pop("timestamp"))

        organization_id = UUID(d.pop("organization_id"))

        data = EventData.from_dict(d.pop("data"))

        is_test = d.pop("is_test", UNSET)

        def _parse_request_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        request_id = _parse_request_id(d.pop("request_id", UNSET))

        _previous = d.pop("previous", UNSET)
        previous: EventPrevious | Unset
        if isinstance(_previous, Unset):
            previous = UNSET
        else:
            previous = EventPrevious.from_dict(_previous)

        _attribution = d.pop("attribution", UNSET)
        attribution: Attribution | Unset
        if isinstance(_attribution, Unset):
            attribution = UNSET
        else:
            attribution = Attribution.from_dict(_attribution)

        _details = d.pop("details", UNSET)
        details: EventDetails | Unset
        if isinstance(_details, Unset):
            details = UNSET
        else:
            details = EventDetails.from_dict(_details)

        _actor = d.pop("actor", UNSET)
        actor: Actor | Unset
        if isinstance(_actor, Unset):
            actor = UNSET
        else:
            actor = Actor.from_dict(_actor)

        event = cls(
            id=id,
            type_=type_,
            timestamp=timestamp,
            organization_id=organization_id,
            data=data,
            is_test=is_test,
            request_id=request_id,
            previous=previous,
            attribution=attribution,
            details=details,
            actor=actor,
        )

        event.additional_properties = d
        return event

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
