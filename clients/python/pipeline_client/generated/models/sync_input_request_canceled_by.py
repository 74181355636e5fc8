from typing import Literal

SyncInputRequestCanceledBy = Literal["HOST", "LEAD", "SYSTEM"]

SYNC_INPUT_REQUEST_CANCELED_BY_VALUES: set[SyncInputRequestCanceledBy] = {
    "HOST",
    "LEAD",
    "SYSTEM",
}


def check_sync_input_request_canceled_by(value: str) -> SyncInputRequestCanceledBy:
    if value in SYNC_INPUT_REQUEST_CANCELED_BY_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SYNC_INPUT_REQUEST_CANCELED_BY_VALUES!r}")
