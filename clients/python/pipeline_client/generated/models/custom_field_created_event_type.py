from typing import Literal

CustomFieldCreatedEventType = Literal["custom_field.created"]

CUSTOM_FIELD_CREATED_EVENT_TYPE_VALUES: set[CustomFieldCreatedEventType] = {
    "custom_field.created",
}


def check_custom_field_created_event_type(value: str) -> CustomFieldCreatedEventType:
    if value in CUSTOM_FIELD_CREATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {CUSTOM_FIELD_CREATED_EVENT_TYPE_VALUES!r}")
