from typing import Literal

NoteItemUpdateResponseStatus = Literal["success"]

NOTE_ITEM_UPDATE_RESPONSE_STATUS_VALUES: set[NoteItemUpdateResponseStatus] = {
    "success",
}


def check_note_item_update_response_status(value: str) -> NoteItemUpdateResponseStatus:
    if value in NOTE_ITEM_UPDATE_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {NOTE_ITEM_UPDATE_RESPONSE_STATUS_VALUES!r}")
