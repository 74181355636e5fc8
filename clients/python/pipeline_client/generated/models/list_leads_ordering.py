from typing import Literal

ListLeadsOrdering = Literal["-created_at", "-updated_at", "created_at", "updated_at"]

LIST_LEADS_ORDERING_VALUES: set[ListLeadsOrdering] = {
    "-created_at",
    "-updated_at",
    "created_at",
    "updated_at",
}


def check_list_leads_ordering(value: str) -> ListLeadsOrdering:
    if value in LIST_LEADS_ORDERING_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_LEADS_ORDERING_VALUES!r}")
