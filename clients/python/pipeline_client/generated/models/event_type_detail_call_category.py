from typing import Literal

EventTypeDetailCallCategory = Literal["COACHING_CALL", "SALES_CALL", "TRIAGE_CALL"]

EVENT_TYPE_DETAIL_CALL_CATEGORY_VALUES: set[EventTypeDetailCallCategory] = {
    "COACHING_CALL",
    "SALES_CALL",
    "TRIAGE_CALL",
}


def check_event_type_detail_call_category(value: str) -> EventTypeDetailCallCategory:
    if value in EVENT_TYPE_DETAIL_CALL_CATEGORY_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {EVENT_TYPE_DETAIL_CALL_CATEGORY_VALUES!r}")
