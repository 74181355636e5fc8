from typing import Literal

ValidationErrorStatus = Literal["error"]

VALIDATION_ERROR_STATUS_VALUES: set[ValidationErrorStatus] = {
    "error",
}


def check_validation_error_status(value: str) -> ValidationErrorStatus:
    if value in VALIDATION_ERROR_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {VALIDATION_ERROR_STATUS_VALUES!r}")
