from typing import Literal

StatusUpdatedEventType = Literal["status.updated"]

STATUS_UPDATED_EVENT_TYPE_VALUES: set[StatusUpdatedEventType] = {
    "status.updated",
}


def check_status_updated_event_type(value: str) -> StatusUpdatedEventType:
    if value in STATUS_UPDATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {STATUS_UPDATED_EVENT_TYPE_VALUES!r}")
