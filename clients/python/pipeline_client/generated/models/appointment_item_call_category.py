from typing import Literal

AppointmentItemCallCategory = Literal["COACHING_CALL", "SALES_CALL", "TRIAGE_CALL"]

APPOINTMENT_ITEM_CALL_CATEGORY_VALUES: set[AppointmentItemCallCategory] = {
    "COACHING_CALL",
    "SALES_CALL",
    "TRIAGE_CALL",
}


def check_appointment_item_call_category(value: str) -> AppointmentItemCallCategory:
    if value in APPOINTMENT_ITEM_CALL_CATEGORY_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {APPOINTMENT_ITEM_CALL_CATEGORY_VALUES!r}")
