from typing import Literal

CancellationInputRequestIfUnknown = Literal["remember"]

CANCELLATION_INPUT_REQUEST_IF_UNKNOWN_VALUES: set[CancellationInputRequestIfUnknown] = {
    "remember",
}


def check_cancellation_input_request_if_unknown(value: str) -> CancellationInputRequestIfUnknown:
    if value in CANCELLATION_INPUT_REQUEST_IF_UNKNOWN_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {CANCELLATION_INPUT_REQUEST_IF_UNKNOWN_VALUES!r}")
