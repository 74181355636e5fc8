from typing import Literal

ListAppointmentsOrdering = Literal[
    "-created_at", "-schedule_time", "-updated_at", "created_at", "schedule_time", "updated_at"
]

LIST_APPOINTMENTS_ORDERING_VALUES: set[ListAppointmentsOrdering] = {
    "-created_at",
    "-schedule_time",
    "-updated_at",
    "created_at",
    "schedule_time",
    "updated_at",
}


def check_list_appointments_ordering(value: str) -> ListAppointmentsOrdering:
    if value in LIST_APPOINTMENTS_ORDERING_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_APPOINTMENTS_ORDERING_VALUES!r}")
