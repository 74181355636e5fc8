from typing import Literal

StatusUpdateResponseStatus = Literal["success"]

STATUS_UPDATE_RESPONSE_STATUS_VALUES: set[StatusUpdateResponseStatus] = {
    "success",
}


def check_status_update_response_status(value: str) -> StatusUpdateResponseStatus:
    if value in STATUS_UPDATE_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {STATUS_UPDATE_RESPONSE_STATUS_VALUES!r}")
