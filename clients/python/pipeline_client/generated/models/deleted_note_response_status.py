from typing import Literal

DeletedNoteResponseStatus = Literal["success"]

DELETED_NOTE_RESPONSE_STATUS_VALUES: set[DeletedNoteResponseStatus] = {
    "success",
}


def check_deleted_note_response_status(value: str) -> DeletedNoteResponseStatus:
    if value in DELETED_NOTE_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {DELETED_NOTE_RESPONSE_STATUS_VALUES!r}")
