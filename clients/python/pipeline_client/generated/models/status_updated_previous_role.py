from typing import Literal

StatusUpdatedPreviousRole = Literal[
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

STATUS_UPDATED_PREVIOUS_ROLE_VALUES: set[StatusUpdatedPreviousRole] = {
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


def check_status_updated_previous_role(value: str) -> StatusUpdatedPreviousRole:
    if value in STATUS_UPDATED_PREVIOUS_ROLE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {STATUS_UPDATED_PREVIOUS_ROLE_VALUES!r}")
