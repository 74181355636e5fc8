from typing import Literal

RememberedCancellationResponseStatus = Literal["success"]

REMEMBERED_CANCELLATION_RESPONSE_STATUS_VALUES: set[RememberedCancellationResponseStatus] = {
    "success",
}


def check_remembered_cancellation_response_status(value: str) -> RememberedCancellationResponseStatus:
    if value in REMEMBERED_CANCELLATION_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {REMEMBERED_CANCELLATION_RESPONSE_STATUS_VALUES!r}")
