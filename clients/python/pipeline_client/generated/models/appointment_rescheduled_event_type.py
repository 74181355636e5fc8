from typing import Literal

AppointmentRescheduledEventType = Literal["appointment.rescheduled"]

APPOINTMENT_RESCHEDULED_EVENT_TYPE_VALUES: set[AppointmentRescheduledEventType] = {
    "appointment.rescheduled",
}


def check_appointment_rescheduled_event_type(value: str) -> AppointmentRescheduledEventType:
    if value in APPOINTMENT_RESCHEDULED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {APPOINTMENT_RESCHEDULED_EVENT_TYPE_VALUES!r}")
