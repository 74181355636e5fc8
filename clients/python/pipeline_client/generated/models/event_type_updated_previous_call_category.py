from typing import Literal

EventTypeUpdatedPreviousCallCategory = Literal["COACHING_CALL", "SALES_CALL", "TRIAGE_CALL"]

EVENT_TYPE_UPDATED_PREVIOUS_CALL_CATEGORY_VALUES: set[EventTypeUpdatedPreviousCallCategory] = {
    "COACHING_CALL",
    "SALES_CALL",
    "TRIAGE_CALL",
}


def check_event_type_updated_previous_call_category(value: str) -> EventTypeUpdatedPreviousCallCategory:
    if value in EVENT_TYPE_UPDATED_PREVIOUS_CALL_CATEGORY_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {EVENT_TYPE_UPDATED_PREVIOUS_CALL_CATEGORY_VALUES!r}")
