from typing import Literal

CallAnalysisResponseStatus = Literal["success"]

CALL_ANALYSIS_RESPONSE_STATUS_VALUES: set[CallAnalysisResponseStatus] = {
    "success",
}


def check_call_analysis_response_status(value: str) -> CallAnalysisResponseStatus:
    if value in CALL_ANALYSIS_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {CALL_ANALYSIS_RESPONSE_STATUS_VALUES!r}")
