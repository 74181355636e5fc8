from typing import Literal

AppointmentCreatedEventType = Literal["appointment.created"]

APPOINTMENT_CREATED_EVENT_TYPE_VALUES: set[AppointmentCreatedEventType] = {
    "appointment.created",
}


def check_appointment_created_event_type(value: str) -> AppointmentCreatedEventType:
    if value in APPOINTMENT_CREATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {APPOINTMENT_CREATED_EVENT_TYPE_VALUES!r}")
