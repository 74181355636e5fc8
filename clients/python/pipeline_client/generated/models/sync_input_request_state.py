from typing import Literal

SyncInputRequestState = Literal["BOOKED", "CANCELED", "NO_SHOW"]

SYNC_INPUT_REQUEST_STATE_VALUES: set[SyncInputRequestState] = {
    "BOOKED",
    "CANCELED",
    "NO_SHOW",
}


def check_sync_input_request_state(value: str) -> SyncInputRequestState:
    if value in SYNC_INPUT_REQUEST_STATE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SYNC_INPUT_REQUEST_STATE_VALUES!r}")
