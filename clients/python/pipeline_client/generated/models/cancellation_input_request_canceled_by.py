from typing import Literal

CancellationInputRequestCanceledBy = Literal["HOST", "LEAD", "SYSTEM"]

CANCELLATION_INPUT_REQUEST_CANCELED_BY_VALUES: set[CancellationInputRequestCanceledBy] = {
    "HOST",
    "LEAD",
    "SYSTEM",
}


def check_cancellation_input_request_canceled_by(value: str) -> CancellationInputRequestCanceledBy:
    if value in CANCELLATION_INPUT_REQUEST_CANCELED_BY_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {CANCELLATION_INPUT_REQUEST_CANCELED_BY_VALUES!r}")
