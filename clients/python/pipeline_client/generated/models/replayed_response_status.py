from typing import Literal

ReplayedResponseStatus = Literal["success"]

REPLAYED_RESPONSE_STATUS_VALUES: set[ReplayedResponseStatus] = {
    "success",
}


def check_replayed_response_status(value: str) -> ReplayedResponseStatus:
    if value in REPLAYED_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {REPLAYED_RESPONSE_STATUS_VALUES!r}")
