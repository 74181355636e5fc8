from typing import Literal

LeadErasedEventType = Literal["lead.erased"]

LEAD_ERASED_EVENT_TYPE_VALUES: set[LeadErasedEventType] = {
    "lead.erased",
}


def check_lead_erased_event_type(value: str) -> LeadErasedEventType:
    if value in LEAD_ERASED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_ERASED_EVENT_TYPE_VALUES!r}")
