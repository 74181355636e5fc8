from typing import Literal

CustomFieldDeletedEventType = Literal["custom_field.deleted"]

CUSTOM_FIELD_DELETED_EVENT_TYPE_VALUES: set[CustomFieldDeletedEventType] = {
    "custom_field.deleted",
}


def check_custom_field_deleted_event_type(value: str) -> CustomFieldDeletedEventType:
    if value in CUSTOM_FIELD_DELETED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {CUSTOM_FIELD_DELETED_EVENT_TYPE_VALUES!r}")
