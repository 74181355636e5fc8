from typing import Literal

AppointmentOutcomeChangedEventType = Literal["appointment.outcome_changed"]

APPOINTMENT_OUTCOME_CHANGED_EVENT_TYPE_VALUES: set[AppointmentOutcomeChangedEventType] = {
    "appointment.outcome_changed",
}


def check_appointment_outcome_changed_event_type(value: str) -> AppointmentOutcomeChangedEventType:
    if value in APPOINTMENT_OUTCOME_CHANGED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {APPOINTMENT_OUTCOME_CHANGED_EVENT_TYPE_VALUES!r}")
