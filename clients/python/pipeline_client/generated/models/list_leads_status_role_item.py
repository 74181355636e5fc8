from typing import Literal

ListLeadsStatusRoleItem = Literal[
    "APPOINTMENT_BOOKED",
    "CANCELED",
    "FOLLOW_UP",
    "LOST",
    "NEW_LEAD",
    "NO_SHOW",
    "PARTIAL_PAYMENT",
    "RESCHEDULED",
    "UNQUALIFIED",
    "WON",
]

LIST_LEADS_STATUS_ROLE_ITEM_VALUES: set[ListLeadsStatusRoleItem] = {
    "APPOINTMENT_BOOKED",
    "CANCELED",
    "FOLLOW_UP",
    "LOST",
    "NEW_LEAD",
    "NO_SHOW",
    "PARTIAL_PAYMENT",
    "RESCHEDULED",
    "UNQUALIFIED",
    "WON",
}


def check_list_leads_status_role_item(value: str) -> ListLeadsStatusRoleItem:
    if value in LIST_LEADS_STATUS_ROLE_ITEM_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_LEADS_STATUS_ROLE_ITEM_VALUES!r}")
