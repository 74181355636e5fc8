from typing import Literal

EventTypeItemCallCategory = Literal["COACHING_CALL", "SALES_CALL", "TRIAGE_CALL"]

EVENT_TYPE_ITEM_CALL_CATEGORY_VALUES: set[EventTypeItemCallCategory] = {
    "COACHING_CALL",
    "SALES_CALL",
    "TRIAGE_CALL",
}


def check_event_type_item_call_category(value: str) -> EventTypeItemCallCategory:
    if value in EVENT_TYPE_ITEM_CALL_CATEGORY_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {EVENT_TYPE_ITEM_CALL_CATEGORY_VALUES!r}")
