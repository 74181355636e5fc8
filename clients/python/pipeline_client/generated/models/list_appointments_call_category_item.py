from typing import Literal

ListAppointmentsCallCategoryItem = Literal["COACHING_CALL", "SALES_CALL", "TRIAGE_CALL"]

LIST_APPOINTMENTS_CALL_CATEGORY_ITEM_VALUES: set[ListAppointmentsCallCategoryItem] = {
    "COACHING_CALL",
    "SALES_CALL",
    "TRIAGE_CALL",
}


def check_list_appointments_call_category_item(value: str) -> ListAppointmentsCallCategoryItem:
    if value in LIST_APPOINTMENTS_CALL_CATEGORY_ITEM_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_APPOINTMENTS_CALL_CATEGORY_ITEM_VALUES!r}")
