from typing import Literal

OptInUpdatedPreviousSource = Literal[
    "FORMBUILDER_A",
    "LANDING_PAGE",
    "MANUAL",
    "NEWSLETTER",
    "OTHER",
    "SCHEDULER_A",
    "SCHEDULER_B",
    "SCHEDULER_C",
    "WEBINAR",
]

OPT_IN_UPDATED_PREVIOUS_SOURCE_VALUES: set[OptInUpdatedPreviousSource] = {
    "FORMBUILDER_A",
    "LANDING_PAGE",
    "MANUAL",
    "NEWSLETTER",
    "OTHER",
    "SCHEDULER_A",
    "SCHEDULER_B",
    "SCHEDULER_C",
    "WEBINAR",
}


def check_opt_in_updated_previous_source(value: str) -> OptInUpdatedPreviousSource:
    if value in OPT_IN_UPDATED_PREVIOUS_SOURCE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {OPT_IN_UPDATED_PREVIOUS_SOURCE_VALUES!r}")
