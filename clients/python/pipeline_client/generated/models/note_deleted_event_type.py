from typing import Literal

NoteDeletedEventType = Literal["note.deleted"]

NOTE_DELETED_EVENT_TYPE_VALUES: set[NoteDeletedEventType] = {
    "note.deleted",
}


def check_note_deleted_event_type(value: str) -> NoteDeletedEventType:
    if value in NOTE_DELETED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {NOTE_DELETED_EVENT_TYPE_VALUES!r}")
