"""The services of appointments: the only code that writes them, used by the API, the admin and the demo alike."""

from appointments.services.booking import Booking, BookingData, ReferenceConflict, book
from appointments.services.cancellation import (
    AppointmentNotFound,
    ManagedByProvider,
    cancel_appointment,
    cancel_by_reference,
)
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
from appointments.services.importing import import_appointment

__all__ = [
    "AppointmentNotFound",
    "Booking",
    "BookingData",
    "EventTypeInUse",
    "ManagedByProvider",
    "ReferenceConflict",
    "book",
    "cancel_appointment",
    "cancel_by_reference",
    "change_outcome",
    "create_note",
    "delete_event_type",
    "edit_appointment",
    "import_appointment",
    "reschedule",
    "save_analysis",
    "save_event_type",
]
