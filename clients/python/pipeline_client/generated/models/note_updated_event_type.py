from typing import Literal

NoteUpdatedEventType = Literal["note.updated"]

NOTE_UPDATED_EVENT_TYPE_VALUES: set[NoteUpdatedEventType] = {
    "note.updated",
}


def check_note_updated_event_type(value: str) -> NoteUpdatedEventType:
    if value in NOTE_UPDATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {NOTE_UPDATED_EVENT_TYPE_VALUES!r}")
