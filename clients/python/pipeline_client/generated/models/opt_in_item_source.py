from typing import Literal

OptInItemSource = Literal[
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

OPT_IN_ITEM_SOURCE_VALUES: set[OptInItemSource] = {
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


def check_opt_in_item_source(value: str) -> OptInItemSource:
    if value in OPT_IN_ITEM_SOURCE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {OPT_IN_ITEM_SOURCE_VALUES!r}")
