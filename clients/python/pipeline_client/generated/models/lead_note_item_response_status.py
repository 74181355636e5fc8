from typing import Literal

LeadNoteItemResponseStatus = Literal["success"]

LEAD_NOTE_ITEM_RESPONSE_STATUS_VALUES: set[LeadNoteItemResponseStatus] = {
    "success",
}


def check_lead_note_item_response_status(value: str) -> LeadNoteItemResponseStatus:
    if value in LEAD_NOTE_ITEM_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_NOTE_ITEM_RESPONSE_STATUS_VALUES!r}")
