"""The services of appointments: the only code that writes them, used by the API, the admin and the demo alike."""

from appointments.services.analyses import put_analysis
from appointments.services.booking import Booking, BookingData, book, is_reference_known
from appointments.services.changes import cancel_appointment, create_note, edit_appointment, reschedule, undo_outcome
from appointments.services.configuration import delete_event_type, save_analysis, save_event_type
from appointments.services.handing_over import describe_work, hand_over, open_work
from appointments.services.importing import import_appointment, sync_appointment
from appointments.services.lead_mails import remind_leads, send_test_message, unsubscribe_lead
from appointments.services.leads import refresh_touch_points
from appointments.services.next_steps import change_next_step, finish_next_step, set_next_step
from appointments.services.notes import change_note, delete_note, write_note
from appointments.services.patches import patch_appointment
from appointments.services.previews import Audience, preview
from appointments.services.references import cancel_by_reference, cancel_or_remember, reschedule_by_reference
from appointments.services.remembering import prune_remembered_cancellations
from appointments.services.resetting import reset_test_data
