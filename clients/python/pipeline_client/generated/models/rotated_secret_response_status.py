from typing import Literal

RotatedSecretResponseStatus = Literal["success"]

ROTATED_SECRET_RESPONSE_STATUS_VALUES: set[RotatedSecretResponseStatus] = {
    "success",
}


def check_rotated_secret_response_status(value: str) -> RotatedSecretResponseStatus:
    if value in ROTATED_SECRET_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {ROTATED_SECRET_RESPONSE_STATUS_VALUES!r}")
