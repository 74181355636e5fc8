from typing import Literal

LeadDetailUpdateResponseStatus = Literal["success"]

LEAD_DETAIL_UPDATE_RESPONSE_STATUS_VALUES: set[LeadDetailUpdateResponseStatus] = {
    "success",
}


def check_lead_detail_update_response_status(value: str) -> LeadDetailUpdateResponseStatus:
    if value in LEAD_DETAIL_UPDATE_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_DETAIL_UPDATE_RESPONSE_STATUS_VALUES!r}")
