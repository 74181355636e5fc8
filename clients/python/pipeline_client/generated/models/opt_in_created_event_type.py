from typing import Literal

OptInCreatedEventType = Literal["opt_in.created"]

OPT_IN_CREATED_EVENT_TYPE_VALUES: set[OptInCreatedEventType] = {
    "opt_in.created",
}


def check_opt_in_created_event_type(value: str) -> OptInCreatedEventType:
    if value in OPT_IN_CREATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {OPT_IN_CREATED_EVENT_TYPE_VALUES!r}")
