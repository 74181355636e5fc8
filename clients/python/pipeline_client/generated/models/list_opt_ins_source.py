from typing import Literal

ListOptInsSource = Literal[
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

LIST_OPT_INS_SOURCE_VALUES: set[ListOptInsSource] = {
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


def check_list_opt_ins_source(value: str) -> ListOptInsSource:
    if value in LIST_OPT_INS_SOURCE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_OPT_INS_SOURCE_VALUES!r}")
