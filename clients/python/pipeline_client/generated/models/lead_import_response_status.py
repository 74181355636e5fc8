from typing import Literal

LeadImportResponseStatus = Literal["success"]

LEAD_IMPORT_RESPONSE_STATUS_VALUES: set[LeadImportResponseStatus] = {
    "success",
}


def check_lead_import_response_status(value: str) -> LeadImportResponseStatus:
    if value in LEAD_IMPORT_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_IMPORT_RESPONSE_STATUS_VALUES!r}")
