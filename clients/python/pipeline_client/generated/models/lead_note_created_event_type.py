from typing import Literal

LeadNoteCreatedEventType = Literal["lead.note_created"]

LEAD_NOTE_CREATED_EVENT_TYPE_VALUES: set[LeadNoteCreatedEventType] = {
    "lead.note_created",
}


def check_lead_note_created_event_type(value: str) -> LeadNoteCreatedEventType:
    if value in LEAD_NOTE_CREATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_NOTE_CREATED_EVENT_TYPE_VALUES!r}")
