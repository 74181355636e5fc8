from typing import Literal

AppointmentImportResponseStatus = Literal["success"]

APPOINTMENT_IMPORT_RESPONSE_STATUS_VALUES: set[AppointmentImportResponseStatus] = {
    "success",
}


def check_appointment_import_response_status(value: str) -> AppointmentImportResponseStatus:
    if value in APPOINTMENT_IMPORT_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {APPOINTMENT_IMPORT_RESPONSE_STATUS_VALUES!r}")
