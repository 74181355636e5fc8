from typing import Literal

LeadUpdatedEventType = Literal["lead.updated"]

LEAD_UPDATED_EVENT_TYPE_VALUES: set[LeadUpdatedEventType] = {
    "lead.updated",
}


def check_lead_updated_event_type(value: str) -> LeadUpdatedEventType:
    if value in LEAD_UPDATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_UPDATED_EVENT_TYPE_VALUES!r}")
