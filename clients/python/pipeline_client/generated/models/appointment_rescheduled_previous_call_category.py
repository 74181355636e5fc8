from typing import Literal

AppointmentRescheduledPreviousCallCategory = Literal["COACHING_CALL", "SALES_CALL", "TRIAGE_CALL"]

APPOINTMENT_RESCHEDULED_PREVIOUS_CALL_CATEGORY_VALUES: set[AppointmentRescheduledPreviousCallCategory] = {
    "COACHING_CALL",
    "SALES_CALL",
    "TRIAGE_CALL",
}


def check_appointment_rescheduled_previous_call_category(value: str) -> AppointmentRescheduledPreviousCallCategory:
    if value in APPOINTMENT_RESCHEDULED_PREVIOUS_CALL_CATEGORY_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {APPOINTMENT_RESCHEDULED_PREVIOUS_CALL_CATEGORY_VALUES!r}"
    )
