from typing import Literal

ErrorStatus = Literal["error"]

ERROR_STATUS_VALUES: set[ErrorStatus] = {
    "error",
}


def check_error_status(value: str) -> ErrorStatus:
    if value in ERROR_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {ERROR_STATUS_VALUES!r}")
