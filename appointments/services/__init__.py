"""The only ways in which an appointment changes."""

from appointments.services.booking import Booking, ReferenceTaken, book
from appointments.services.cancellation import ManagedElsewhere, NotBooked, cancel, cancel_appointment
from appointments.services.changes import (
    EventTypeInUse,
    change_outcome,
    delete_event_type,
    edit_appointment,
    reschedule,
    save_analysis,
    save_event_type,
    write_note,
)

__all__ = [
    "Booking",
    "EventTypeInUse",
    "ManagedElsewhere",
    "NotBooked",
    "ReferenceTaken",
    "book",
    "cancel",
    "cancel_appointment",
    "change_outcome",
    "delete_event_type",
    "edit_appointment",
    "reschedule",
    "save_analysis",
    "save_event_type",
    "write_note",
]
