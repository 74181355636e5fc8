from typing import Literal

SyncedOptInResponseStatus = Literal["success"]

SYNCED_OPT_IN_RESPONSE_STATUS_VALUES: set[SyncedOptInResponseStatus] = {
    "success",
}


def check_synced_opt_in_response_status(value: str) -> SyncedOptInResponseStatus:
    if value in SYNCED_OPT_IN_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SYNCED_OPT_IN_RESPONSE_STATUS_VALUES!r}")
