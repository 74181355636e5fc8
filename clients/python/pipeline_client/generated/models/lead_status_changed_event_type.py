from typing import Literal

LeadStatusChangedEventType = Literal["lead.status_changed"]

LEAD_STATUS_CHANGED_EVENT_TYPE_VALUES: set[LeadStatusChangedEventType] = {
    "lead.status_changed",
}


def check_lead_status_changed_event_type(value: str) -> LeadStatusChangedEventType:
    if value in LEAD_STATUS_CHANGED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_STATUS_CHANGED_EVENT_TYPE_VALUES!r}")
