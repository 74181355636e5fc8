from typing import Literal

LeadNoteItemUpdateResponseStatus = Literal["success"]

LEAD_NOTE_ITEM_UPDATE_RESPONSE_STATUS_VALUES: set[LeadNoteItemUpdateResponseStatus] = {
    "success",
}


def check_lead_note_item_update_response_status(value: str) -> LeadNoteItemUpdateResponseStatus:
    if value in LEAD_NOTE_ITEM_UPDATE_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LEAD_NOTE_ITEM_UPDATE_RESPONSE_STATUS_VALUES!r}")
