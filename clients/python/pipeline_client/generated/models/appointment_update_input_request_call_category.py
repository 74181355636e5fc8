from typing import Literal

AppointmentUpdateInputRequestCallCategory = Literal["COACHING_CALL", "SALES_CALL", "TRIAGE_CALL"]

APPOINTMENT_UPDATE_INPUT_REQUEST_CALL_CATEGORY_VALUES: set[AppointmentUpdateInputRequestCallCategory] = {
    "COACHING_CALL",
    "SALES_CALL",
    "TRIAGE_CALL",
}


def check_appointment_update_input_request_call_category(value: str) -> AppointmentUpdateInputRequestCallCategory:
    if value in APPOINTMENT_UPDATE_INPUT_REQUEST_CALL_CATEGORY_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {APPOINTMENT_UPDATE_INPUT_REQUEST_CALL_CATEGORY_VALUES!r}"
    )
