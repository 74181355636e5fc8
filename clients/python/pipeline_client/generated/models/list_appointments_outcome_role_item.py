from typing import Literal

ListAppointmentsOutcomeRoleItem = Literal[
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

LIST_APPOINTMENTS_OUTCOME_ROLE_ITEM_VALUES: set[ListAppointmentsOutcomeRoleItem] = {
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


def check_list_appointments_outcome_role_item(value: str) -> ListAppointmentsOutcomeRoleItem:
    if value in LIST_APPOINTMENTS_OUTCOME_ROLE_ITEM_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_APPOINTMENTS_OUTCOME_ROLE_ITEM_VALUES!r}")
