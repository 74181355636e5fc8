from typing import Literal

BookedResponseStatus = Literal["success"]

BOOKED_RESPONSE_STATUS_VALUES: set[BookedResponseStatus] = {
    "success",
}


def check_booked_response_status(value: str) -> BookedResponseStatus:
    if value in BOOKED_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {BOOKED_RESPONSE_STATUS_VALUES!r}")
