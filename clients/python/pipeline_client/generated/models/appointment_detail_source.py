from typing import Literal

AppointmentDetailSource = Literal["MANUAL", "SCHEDULER_A", "SCHEDULER_B", "SCHEDULER_C"]

APPOINTMENT_DETAIL_SOURCE_VALUES: set[AppointmentDetailSource] = {
    "MANUAL",
    "SCHEDULER_A",
    "SCHEDULER_B",
    "SCHEDULER_C",
}


def check_appointment_detail_source(value: str) -> AppointmentDetailSource:
    if value in APPOINTMENT_DETAIL_SOURCE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {APPOINTMENT_DETAIL_SOURCE_VALUES!r}")
