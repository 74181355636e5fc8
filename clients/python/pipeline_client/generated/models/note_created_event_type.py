from typing import Literal

NoteCreatedEventType = Literal["note.created"]

NOTE_CREATED_EVENT_TYPE_VALUES: set[NoteCreatedEventType] = {
    "note.created",
}


def check_note_created_event_type(value: str) -> NoteCreatedEventType:
    if value in NOTE_CREATED_EVENT_TYPE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {NOTE_CREATED_EVENT_TYPE_VALUES!r}")
