from typing import Literal

LeadErasureResponseStatus = Literal["success"]

LEAD_ERASURE_RESPONSE_STATUS_VALUES: set[LeadErasureResponseStatus] = {
    "success",
}


def check_lead_erasure_response_status(value: str) -> LeadErasureResponseStatus:
    if value in LEAD_ERASURE_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_ERASURE_RESPONSE_STATUS_VALUES!r}")
