from typing import Literal

AppointmentItemSource = Literal["MANUAL", "SCHEDULER_A", "SCHEDULER_B", "SCHEDULER_C"]

APPOINTMENT_ITEM_SOURCE_VALUES: set[AppointmentItemSource] = {
    "MANUAL",
    "SCHEDULER_A",
    "SCHEDULER_B",
    "SCHEDULER_C",
}


def check_appointment_item_source(value: str) -> AppointmentItemSource:
    if value in APPOINTMENT_ITEM_SOURCE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {APPOINTMENT_ITEM_SOURCE_VALUES!r}")
