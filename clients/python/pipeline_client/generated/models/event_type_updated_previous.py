from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.event_type_updated_previous_call_category import (
    EventTypeUpdatedPreviousCallCategory,
    check_event_type_updated_previous_call_category,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="EventTypeUpdatedPrevious")


@_attrs_define
class EventTypeUpdatedPrevious:
    """The fields that changed, with their old values.

    Attributes:
        name (str | Unset): Its name, which appointments show as appointment_type.
        call_category (EventTypeUpdatedPreviousCallCategory | Unset): The category of new appointments.
        provider (None | str | Unset): The scheduler that it comes from. One of SCHEDULER_A, SCHEDULER_B, SCHEDULER_C;
            more may be added.
        owner_name (None | str | Unset): The owner's name at the scheduler.
        duration_minutes (int | Unset): How long its calls are, in minutes.
    """

    name: str | Unset = UNSET
    call_category: EventTypeUpdatedPreviousCallCategory | Unset = UNSET
    provider: None | str | Unset = UNSET
    owner_name: None | str | Unset = UNSET
    duration_minutes: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        call_category: str | Unset = UNSET
        if not isinstance(self.call_category, Unset):
            call_category = self.call_category

        provider: None | str | Unset
        if isinstance(self.provider, Unset):
            provider = UNSET
        else:
            provider = self.provider

        owner_name: None | str | Unset
        if isinstance(self.owner_name, Unset):
            owner_name = UNSET
        else:
            owner_name = self.owner_name

        duration_minutes = self.duration_minutes

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if name is not UNSET:
            field_dict["name"] = name
        if call_category is not UNSET:
            field_dict["call_category"] = call_category
        if provider is not UNSET:
            field_dict["provider"] = provider
        if owner_name is not UNSET:
            field_dict["owner_name"] = owner_name
        if duration_minutes is not UNSET:
            field_dict["duration_minutes"] = duration_minutes

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name", UNSET)

        _call_category = d.pop("call_category", UNSET)
        call_category: EventTypeUpdatedPreviousCallCategory | Unset
        if isinstance(_call_category, Unset):
            call_category = UNSET
        else:
            call_category = check_event_type_updated_previous_call_category(_call_category)

        def _parse_provider(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        provider = _parse_provider(d.pop("provider", UNSET))

        def _parse_owner_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        owner_name = _parse_owner_name(d.pop("owner_name", UNSET))

        duration_minutes = d.pop("duration_minutes", UNSET)

        event_type_updated_previous = cls(
            name=name,
            call_category=call_category,
            provider=provider,
            owner_name=owner_name,
            duration_minutes=duration_minutes,
        )

        return event_type_updated_previous
