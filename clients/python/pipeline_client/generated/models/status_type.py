from typing import Literal

StatusType = Literal["APPOINTMENT", "BOTH", "LEAD"]

STATUS_TYPE_VALUES: set[StatusType] = {
    "APPOINTMENT",
    "BOTH",
    "LEAD",
}


def check_status_type(value: str) -> StatusType:
    if value in STATUS_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {STATUS_TYPE_VALUES!r}")
