from typing import Literal

StatusCreatedEventType = Literal["status.created"]

STATUS_CREATED_EVENT_TYPE_VALUES: set[StatusCreatedEventType] = {
    "status.created",
}


def check_status_created_event_type(value: str) -> StatusCreatedEventType:
    if value in STATUS_CREATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {STATUS_CREATED_EVENT_TYPE_VALUES!r}")
