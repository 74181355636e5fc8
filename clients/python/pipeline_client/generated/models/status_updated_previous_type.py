from typing import Literal

StatusUpdatedPreviousType = Literal["APPOINTMENT", "BOTH", "LEAD"]

STATUS_UPDATED_PREVIOUS_TYPE_VALUES: set[StatusUpdatedPreviousType] = {
    "APPOINTMENT",
    "BOTH",
    "LEAD",
}


def check_status_updated_previous_type(value: str) -> StatusUpdatedPreviousType:
    if value in STATUS_UPDATED_PREVIOUS_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {STATUS_UPDATED_PREVIOUS_TYPE_VALUES!r}")
