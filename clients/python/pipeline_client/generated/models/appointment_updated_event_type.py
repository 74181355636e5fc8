from typing import Literal

AppointmentUpdatedEventType = Literal["appointment.updated"]

APPOINTMENT_UPDATED_EVENT_TYPE_VALUES: set[AppointmentUpdatedEventType] = {
    "appointment.updated",
}


def check_appointment_updated_event_type(value: str) -> AppointmentUpdatedEventType:
    if value in APPOINTMENT_UPDATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {APPOINTMENT_UPDATED_EVENT_TYPE_VALUES!r}")
