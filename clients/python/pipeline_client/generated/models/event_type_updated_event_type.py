from typing import Literal

EventTypeUpdatedEventType = Literal["event_type.updated"]

EVENT_TYPE_UPDATED_EVENT_TYPE_VALUES: set[EventTypeUpdatedEventType] = {
    "event_type.updated",
}


def check_event_type_updated_event_type(value: str) -> EventTypeUpdatedEventType:
    if value in EVENT_TYPE_UPDATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {EVENT_TYPE_UPDATED_EVENT_TYPE_VALUES!r}")
