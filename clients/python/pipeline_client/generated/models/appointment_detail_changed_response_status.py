from typing import Literal

AppointmentDetailChangedResponseStatus = Literal["error"]

APPOINTMENT_DETAIL_CHANGED_RESPONSE_STATUS_VALUES: set[AppointmentDetailChangedResponseStatus] = {
    "error",
}


def check_appointment_detail_changed_response_status(value: str) -> AppointmentDetailChangedResponseStatus:
    if value in APPOINTMENT_DETAIL_CHANGED_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {APPOINTMENT_DETAIL_CHANGED_RESPONSE_STATUS_VALUES!r}"
    )
