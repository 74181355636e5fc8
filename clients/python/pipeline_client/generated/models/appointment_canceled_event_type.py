from typing import Literal

AppointmentCanceledEventType = Literal["appointment.canceled"]

APPOINTMENT_CANCELED_EVENT_TYPE_VALUES: set[AppointmentCanceledEventType] = {
    "appointment.canceled",
}


def check_appointment_canceled_event_type(value: str) -> AppointmentCanceledEventType:
    if value in APPOINTMENT_CANCELED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {APPOINTMENT_CANCELED_EVENT_TYPE_VALUES!r}")
