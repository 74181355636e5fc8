from typing import Literal

LeadNoteUpdatedEventType = Literal["lead.note_updated"]

LEAD_NOTE_UPDATED_EVENT_TYPE_VALUES: set[LeadNoteUpdatedEventType] = {
    "lead.note_updated",
}


def check_lead_note_updated_event_type(value: str) -> LeadNoteUpdatedEventType:
    if value in LEAD_NOTE_UPDATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_NOTE_UPDATED_EVENT_TYPE_VALUES!r}")
