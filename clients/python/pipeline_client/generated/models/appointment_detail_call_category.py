from typing import Literal

AppointmentDetailCallCategory = Literal["COACHING_CALL", "SALES_CALL", "TRIAGE_CALL"]

APPOINTMENT_DETAIL_CALL_CATEGORY_VALUES: set[AppointmentDetailCallCategory] = {
    "COACHING_CALL",
    "SALES_CALL",
    "TRIAGE_CALL",
}


def check_appointment_detail_call_category(value: str) -> AppointmentDetailCallCategory:
    if value in APPOINTMENT_DETAIL_CALL_CATEGORY_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {APPOINTMENT_DETAIL_CALL_CATEGORY_VALUES!r}")
