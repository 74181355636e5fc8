from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.event import Event


T = TypeVar("T", bound="EventListResponse")


@_attrs_define
class EventListResponse:
    """Events retrieved.

    Attributes:
        success (bool): Always true.
        message (str): A sentence for people, whose words may change.
        data (list[Event]): The items, in the order of the list.
        has_more (bool): Whether there are events after these.
        last_event_id (None | UUID): Pass it as `after` to continue: the id of the last event here, or your `after` if
            there is none. With `after=latest` the id of the organization's latest event. Null if there is no such event;
            omit `after` then.
    """

    success: bool
    message: str
    data: list[Event]
    has_more: bool
    last_event_id: None | UUID
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        success = self.success

        message = self.message

        data = []
        for data_item_data in self.data:
            data_item = data_item_data.to_dict()
            data.append(data_item)

        has_more = self.has_more

        last_event_id: None | str
        if isinstance(self.last_event_id, UUID):
            last_event_id = str(self.last_event_id)
        else:
            last_event_id = self.last_event_id

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "success": success,
                "message": message,
                "data": data,
                "has_more": has_more,
                "last_event_id": last_event_id,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.event import Event  # noqa: PLC0415

        d = dict(src_dict)
        success = d.pop("success")

        message = d.pop("message")

        data = []
        _data = d.pop("data")
        for data_item_data in _data:
            data_item = Event.from_dict(data_item_data)

            data.append(data_item)

        has_more = d.pop("has_more")

        def _parse_last_event_id(data: object) -> None | UUID:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_event_id_type_0 = UUID(data)

                return last_event_id_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | UUID, data)

        last_event_id = _parse_last_event_id(d.pop("last_event_id"))

        event_list_response = cls(
            success=success,
            message=message,
            data=data,
            has_more=has_more,
            last_event_id=last_event_id,
        )

        event_list_response.additional_properties = d
        return event_list_response

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
