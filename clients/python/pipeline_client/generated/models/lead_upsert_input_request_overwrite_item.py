from typing import Literal

LeadUpsertInputRequestOverwriteItem = Literal[
    "custom_fields", "external_reference", "first_name", "last_name", "phone_e164", "setter_email", "source"
]

LEAD_UPSERT_INPUT_REQUEST_OVERWRITE_ITEM_VALUES: set[LeadUpsertInputRequestOverwriteItem] = {
    "custom_fields",
    "external_reference",
    "first_name",
    "last_name",
    "phone_e164",
    "setter_email",
    "source",
}


def check_lead_upsert_input_request_overwrite_item(value: str) -> LeadUpsertInputRequestOverwriteItem:
    if value in LEAD_UPSERT_INPUT_REQUEST_OVERWRITE_ITEM_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_UPSERT_INPUT_REQUEST_OVERWRITE_ITEM_VALUES!r}")
