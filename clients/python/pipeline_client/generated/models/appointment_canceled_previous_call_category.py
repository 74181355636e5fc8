from typing import Literal

AppointmentCanceledPreviousCallCategory = Literal["COACHING_CALL", "SALES_CALL", "TRIAGE_CALL"]

APPOINTMENT_CANCELED_PREVIOUS_CALL_CATEGORY_VALUES: set[AppointmentCanceledPreviousCallCategory] = {
    "COACHING_CALL",
    "SALES_CALL",
    "TRIAGE_CALL",
}


def check_appointment_canceled_previous_call_category(value: str) -> AppointmentCanceledPreviousCallCategory:
    if value in APPOINTMENT_CANCELED_PREVIOUS_CALL_CATEGORY_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {APPOINTMENT_CANCELED_PREVIOUS_CALL_CATEGORY_VALUES!r}"
    )
