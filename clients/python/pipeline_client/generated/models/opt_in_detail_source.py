from typing import Literal

OptInDetailSource = Literal[
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

OPT_IN_DETAIL_SOURCE_VALUES: set[OptInDetailSource] = {
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


def check_opt_in_detail_source(value: str) -> OptInDetailSource:
    if value in OPT_IN_DETAIL_SOURCE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {OPT_IN_DETAIL_SOURCE_VALUES!r}")
