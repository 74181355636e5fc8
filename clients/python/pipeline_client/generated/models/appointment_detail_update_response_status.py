from typing import Literal

AppointmentDetailUpdateResponseStatus = Literal["success"]

APPOINTMENT_DETAIL_UPDATE_RESPONSE_STATUS_VALUES: set[AppointmentDetailUpdateResponseStatus] = {
    "success",
}


def check_appointment_detail_update_response_status(value: str) -> AppointmentDetailUpdateResponseStatus:
    if value in APPOINTMENT_DETAIL_UPDATE_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {APPOINTMENT_DETAIL_UPDATE_RESPONSE_STATUS_VALUES!r}")
