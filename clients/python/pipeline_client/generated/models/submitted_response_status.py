from typing import Literal

SubmittedResponseStatus = Literal["success"]

SUBMITTED_RESPONSE_STATUS_VALUES: set[SubmittedResponseStatus] = {
    "success",
}


def check_submitted_response_status(value: str) -> SubmittedResponseStatus:
    if value in SUBMITTED_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SUBMITTED_RESPONSE_STATUS_VALUES!r}")
