from typing import Literal

StatusDetailRole = Literal[
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

STATUS_DETAIL_ROLE_VALUES: set[StatusDetailRole] = {
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


def check_status_detail_role(value: str) -> StatusDetailRole:
    if value in STATUS_DETAIL_ROLE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {STATUS_DETAIL_ROLE_VALUES!r}")
