"""The services of appointments: the only code that writes them, used by the API, the admin and the demo alike."""

from appointments.services.booking import Booking, BookingData, book
from appointments.services.changes import (
    cancel_appointment,
    cancel_by_reference,
    change_outcome,
    create_note,
    edit_appointment,
    reschedule,
)
from appointments.services.configuration import delete_event_type, save_analysis, save_event_type
from appointments.services.importing import import_appointment
from appointments.services.leads import finish_next_step, refresh_touch_points, set_next_step
from appointments.services.previews import Audience, preview

__all__ = [
    "Audience",
    "Booking",
    "BookingData",
    "book",
    "cancel_appointment",
    "cancel_by_reference",
    "change_outcome",
    "create_note",
    "delete_event_type",
    "edit_appointment",
    "finish_next_step",
    "import_appointment",
    "preview",
    "refresh_touch_points",
    "reschedule",
    "save_analysis",
    "save_event_type",
    "set_next_step",
]
