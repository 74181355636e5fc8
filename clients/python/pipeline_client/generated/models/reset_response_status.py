from typing import Literal

ResetResponseStatus = Literal["success"]

RESET_RESPONSE_STATUS_VALUES: set[ResetResponseStatus] = {
    "success",
}


def check_reset_response_status(value: str) -> ResetResponseStatus:
    if value in RESET_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {RESET_RESPONSE_STATUS_VALUES!r}")
