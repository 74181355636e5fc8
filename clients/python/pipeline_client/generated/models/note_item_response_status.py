from typing import Literal

NoteItemResponseStatus = Literal["success"]

NOTE_ITEM_RESPONSE_STATUS_VALUES: set[NoteItemResponseStatus] = {
    "success",
}


def check_note_item_response_status(value: str) -> NoteItemResponseStatus:
    if value in NOTE_ITEM_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {NOTE_ITEM_RESPONSE_STATUS_VALUES!r}")
