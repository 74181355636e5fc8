from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.event_type_detail_call_category import (
    EventTypeDetailCallCategory,
    check_event_type_detail_call_category,
)

T = TypeVar("T", bound="EventTypeDetail")


@_attrs_define
class EventTypeDetail:
    """An event type, as events have it.

    Attributes:
        id (UUID): The event type's id.
        name (str): Its name, which appointments show as appointment_type.
        call_category (EventTypeDetailCallCategory): The category of new appointments.
        provider (None | str): The scheduler that it comes from. One of SCHEDULER_A, SCHEDULER_B, SCHEDULER_C; more may
            be added.
        owner_name (None | str): The owner's name at the scheduler.
        duration_minutes (int): How long its calls are, in minutes.
    """

    id: UUID
    name: str
    call_category: EventTypeDetailCallCategory
    provider: None | str
    owner_name: None | str
    duration_minutes: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        name = self.name

        call_category: str = self.call_category

        provider: None | str
        provider = self.provider

        owner_name: None | str
        owner_name = self.owner_name

        duration_minutes = self.duration_minutes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "call_category": call_category,
                "provider": provider,
                "owner_name": owner_name,
                "duration_minutes": duration_minutes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = UUID(d.pop("id"))

        name = d.pop("name")

        call_category = check_event_type_detail_call_category(d.pop("call_category"))

        def _parse_provider(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        provider = _parse_provider(d.pop("provider"))

        def _parse_owner_name(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        owner_name = _parse_owner_name(d.pop("owner_name"))

        duration_minutes = d.pop("duration_minutes")

        event_type_detail = cls(
            id=id,
            name=name,
            call_category=call_category,
            provider=provider,
            owner_name=owner_name,
            duration_minutes=duration_minutes,
        )

        event_type_detail.additional_properties = d
        return event_type_detail

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
