from typing import Literal

CustomFieldUpdatedEventType = Literal["custom_field.updated"]

CUSTOM_FIELD_UPDATED_EVENT_TYPE_VALUES: set[CustomFieldUpdatedEventType] = {
    "custom_field.updated",
}


def check_custom_field_updated_event_type(value: str) -> CustomFieldUpdatedEventType:
    if value in CUSTOM_FIELD_UPDATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {CUSTOM_FIELD_UPDATED_EVENT_TYPE_VALUES!r}")
