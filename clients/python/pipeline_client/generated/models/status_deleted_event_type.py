from typing import Literal

StatusDeletedEventType = Literal["status.deleted"]

STATUS_DELETED_EVENT_TYPE_VALUES: set[StatusDeletedEventType] = {
    "status.deleted",
}


def check_status_deleted_event_type(value: str) -> StatusDeletedEventType:
    if value in STATUS_DELETED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {STATUS_DELETED_EVENT_TYPE_VALUES!r}")
