from typing import Literal

SyncedAppointmentResponseStatus = Literal["success"]

SYNCED_APPOINTMENT_RESPONSE_STATUS_VALUES: set[SyncedAppointmentResponseStatus] = {
    "success",
}


def check_synced_appointment_response_status(value: str) -> SyncedAppointmentResponseStatus:
    if value in SYNCED_APPOINTMENT_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SYNCED_APPOINTMENT_RESPONSE_STATUS_VALUES!r}")
