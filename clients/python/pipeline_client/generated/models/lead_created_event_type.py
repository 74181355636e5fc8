from typing import Literal

LeadCreatedEventType = Literal["lead.created"]

LEAD_CREATED_EVENT_TYPE_VALUES: set[LeadCreatedEventType] = {
    "lead.created",
}


def check_lead_created_event_type(value: str) -> LeadCreatedEventType:
    if value in LEAD_CREATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_CREATED_EVENT_TYPE_VALUES!r}")
