from typing import Literal

AppointmentOutcomeChangedPreviousCallCategory = Literal["COACHING_CALL", "SALES_CALL", "TRIAGE_CALL"]

APPOINTMENT_OUTCOME_CHANGED_PREVIOUS_CALL_CATEGORY_VALUES: set[AppointmentOutcomeChangedPreviousCallCategory] = {
    "COACHING_CALL",
    "SALES_CALL",
    "TRIAGE_CALL",
}


def check_appointment_outcome_changed_previous_call_category(
    value: str,
) -> AppointmentOutcomeChangedPreviousCallCategory:
    if value in APPOINTMENT_OUTCOME_CHANGED_PREVIOUS_CALL_CATEGORY_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {APPOINTMENT_OUTCOME_CHANGED_PREVIOUS_CALL_CATEGORY_VALUES!r}"
    )
