from typing import Literal

AppointmentUpdatedPreviousCallCategory = Literal["COACHING_CALL", "SALES_CALL", "TRIAGE_CALL"]

APPOINTMENT_UPDATED_PREVIOUS_CALL_CATEGORY_VALUES: set[AppointmentUpdatedPreviousCallCategory] = {
    "COACHING_CALL",
    "SALES_CALL",
    "TRIAGE_CALL",
}


def check_appointment_updated_previous_call_category(value: str) -> AppointmentUpdatedPreviousCallCategory:
    if value in APPOINTMENT_UPDATED_PREVIOUS_CALL_CATEGORY_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {APPOINTMENT_UPDATED_PREVIOUS_CALL_CATEGORY_VALUES!r}"
    )
