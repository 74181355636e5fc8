from typing import Literal

LeadNoteDeletedEventType = Literal["lead.note_deleted"]

LEAD_NOTE_DELETED_EVENT_TYPE_VALUES: set[LeadNoteDeletedEventType] = {
    "lead.note_deleted",
}


def check_lead_note_deleted_event_type(value: str) -> LeadNoteDeletedEventType:
    if value in LEAD_NOTE_DELETED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_NOTE_DELETED_EVENT_TYPE_VALUES!r}")
