from typing import Literal

RescheduledResponseStatus = Literal["success"]

RESCHEDULED_RESPONSE_STATUS_VALUES: set[RescheduledResponseStatus] = {
    "success",
}


def check_rescheduled_response_status(value: str) -> RescheduledResponseStatus:
    if value in RESCHEDULED_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {RESCHEDULED_RESPONSE_STATUS_VALUES!r}")
