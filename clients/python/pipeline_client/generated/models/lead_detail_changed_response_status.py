from typing import Literal

LeadDetailChangedResponseStatus = Literal["error"]

LEAD_DETAIL_CHANGED_RESPONSE_STATUS_VALUES: set[LeadDetailChangedResponseStatus] = {
    "error",
}


def check_lead_detail_changed_response_status(value: str) -> LeadDetailChangedResponseStatus:
    if value in LEAD_DETAIL_CHANGED_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_DETAIL_CHANGED_RESPONSE_STATUS_VALUES!r}")
