from typing import Literal

UpsertedLeadResponseStatus = Literal["success"]

UPSERTED_LEAD_RESPONSE_STATUS_VALUES: set[UpsertedLeadResponseStatus] = {
    "success",
}


def check_upserted_lead_response_status(value: str) -> UpsertedLeadResponseStatus:
    if value in UPSERTED_LEAD_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {UPSERTED_LEAD_RESPONSE_STATUS_VALUES!r}")
