from typing import Literal

ListOptInsOrdering = Literal["-created_at", "created_at"]

LIST_OPT_INS_ORDERING_VALUES: set[ListOptInsOrdering] = {
    "-created_at",
    "created_at",
}


def check_list_opt_ins_ordering(value: str) -> ListOptInsOrdering:
    if value in LIST_OPT_INS_ORDERING_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_OPT_INS_ORDERING_VALUES!r}")
