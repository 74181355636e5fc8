"""The only ways in which an appointment changes."""

from appointments.services.booking import Booking, ReferenceConflict, book
from appointments.services.cancellation import AppointmentNotFound, ManagedByProvider, cancel, cancel_appointment
from appointments.services.changes import (
    EventTypeInUse,
    change_outcome,
    create_note,
    delete_event_type,
    edit_appointment,
    reschedule,
    save_analysis,
    save_event_type,
)

__all__ = [
    "AppointmentNotFound",
    "Booking",
    "EventTypeInUse",
    "ManagedByProvider",
    "ReferenceConflict",
    "book",
    "cancel",
    "cancel_appointment",
    "change_outcome",
    "create_note",
    "delete_event_type",
    "edit_appointment",
    "reschedule",
    "save_analysis",
    "save_event_type",
]
