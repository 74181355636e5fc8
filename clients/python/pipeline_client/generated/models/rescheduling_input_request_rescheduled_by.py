from typing import Literal

ReschedulingInputRequestRescheduledBy = Literal["HOST", "LEAD"]

RESCHEDULING_INPUT_REQUEST_RESCHEDULED_BY_VALUES: set[ReschedulingInputRequestRescheduledBy] = {
    "HOST",
    "LEAD",
}


def check_rescheduling_input_request_rescheduled_by(value: str) -> ReschedulingInputRequestRescheduledBy:
    if value in RESCHEDULING_INPUT_REQUEST_RESCHEDULED_BY_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {RESCHEDULING_INPUT_REQUEST_RESCHEDULED_BY_VALUES!r}")
