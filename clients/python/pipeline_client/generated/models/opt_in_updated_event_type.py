from typing import Literal

OptInUpdatedEventType = Literal["opt_in.updated"]

OPT_IN_UPDATED_EVENT_TYPE_VALUES: set[OptInUpdatedEventType] = {
    "opt_in.updated",
}


def check_opt_in_updated_event_type(value: str) -> OptInUpdatedEventType:
    if value in OPT_IN_UPDATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {OPT_IN_UPDATED_EVENT_TYPE_VALUES!r}")
