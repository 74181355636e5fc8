from typing import Literal

LeadMergedEventType = Literal["lead.merged"]

LEAD_MERGED_EVENT_TYPE_VALUES: set[LeadMergedEventType] = {
    "lead.merged",
}


def check_lead_merged_event_type(value: str) -> LeadMergedEventType:
    if value in LEAD_MERGED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_MERGED_EVENT_TYPE_VALUES!r}")
