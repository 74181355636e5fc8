from typing import Literal

OptInInputRequestSource = Literal[
    "FORMBUILDER_A", "LANDING_PAGE", "MANUAL", "NEWSLETTER", "OTHER", "SCHEDULER_A", "WEBINAR"
]

OPT_IN_INPUT_REQUEST_SOURCE_VALUES: set[OptInInputRequestSource] = {
    "FORMBUILDER_A",
    "LANDING_PAGE",
    "MANUAL",
    "NEWSLETTER",
    "OTHER",
    "SCHEDULER_A",
    "WEBINAR",
}


def check_opt_in_input_request_source(value: str) -> OptInInputRequestSource:
    if value in OPT_IN_INPUT_REQUEST_SOURCE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {OPT_IN_INPUT_REQUEST_SOURCE_VALUES!r}")
