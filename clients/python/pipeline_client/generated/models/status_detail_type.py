from typing import Literal

StatusDetailType = Literal["APPOINTMENT", "BOTH", "LEAD"]

STATUS_DETAIL_TYPE_VALUES: set[StatusDetailType] = {
    "APPOINTMENT",
    "BOTH",
    "LEAD",
}


def check_status_detail_type(value: str) -> StatusDetailType:
    if value in STATUS_DETAIL_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {STATUS_DETAIL_TYPE_VALUES!r}")
