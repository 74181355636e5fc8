from typing import Literal

CanceledResponseStatus = Literal["success"]

CANCELED_RESPONSE_STATUS_VALUES: set[CanceledResponseStatus] = {
    "success",
}


def check_canceled_response_status(value: str) -> CanceledResponseStatus:
    if value in CANCELED_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {CANCELED_RESPONSE_STATUS_VALUES!r}")
