from typing import Literal

AppointmentUpdateInputRequestOutcomeRole = Literal[
    "APPOINTMENT_BOOKED",
    "CANCELED",
    "FOLLOW_UP",
    "LOST",
    "NEW_LEAD",
    "NO_SHOW",
    "PARTIAL_PAYMENT",
    "RESCHEDULED",
    "UNQUALIFIED",
    "WON",
]

APPOINTMENT_UPDATE_INPUT_REQUEST_OUTCOME_ROLE_VALUES: set[AppointmentUpdateInputRequestOutcomeRole] = {
    "APPOINTMENT_BOOKED",
    "CANCELED",
    "FOLLOW_UP",
    "LOST",
    "NEW_LEAD",
    "NO_SHOW",
    "PARTIAL_PAYMENT",
    "RESCHEDULED",
    "UNQUALIFIED",
    "WON",
}


def check_appointment_update_input_request_outcome_role(value: str) -> AppointmentUpdateInputRequestOutcomeRole:
    if value in APPOINTMENT_UPDATE_INPUT_REQUEST_OUTCOME_ROLE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {APPOINTMENT_UPDATE_INPUT_REQUEST_OUTCOME_ROLE_VALUES!r}"
    )
