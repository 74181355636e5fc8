"""What create and cancel take (interface 4.1, 4.2)."""

from pipeline_backend.api.fields import FREE_TEXT, Email, Input, Moment, Text, Uuid, WebAddress


class BookingInput(Input):
    """A booking (interface 4.1)."""

    either = (("lead_email", "lead_id"), ("event_type_name", "event_type_id"))

    external_reference = Text(help_text="Unique booking ID from the source system; compared exactly.")
    schedule_time = Moment(help_text="Start time; UTC unless it names an offset. Kept to the millisecond.")
    lead_email = Email(required=False, help_text="Required unless lead_id is given; finds or creates the lead.")
    event_type_name = Text(trim=True, required=False, help_text="Required unless event_type_id is given; matched in any letter case, created if new.")
    lead_id = Uuid(required=False, help_text="Existing lead; used instead of lead_email.")
    event_type_id = Uuid(required=False, help_text="Existing event type; used instead of event_type_name.")
    lead_first_name = Text(trim=True, required=False, help_text="Used only for a new lead; falls back to the e-mail's part before the @.")
    lead_last_name = Text(trim=True, required=False, help_text="Used only for a new lead.")
    lead_phone = Text(FREE_TEXT, required=False, help_text="E.164 preferred; fills an empty phone; what can't be read is ignored.")
    host_email = Email(required=False, help_text="An active member of the organization.")
    setter_email = Email(required=False, help_text="An active member of the organization.")
    triager_email = Email(required=False, help_text="An active member of the organization.")
    meeting_url = WebAddress(required=False)
    notes = Text(FREE_TEXT, required=False, help_text="Stored as the appointment's note.")


class CancellationInput(Input):
    """A cancellation (interface 4.2)."""

    external_reference = Text(help_text="The reference that the appointment was created with.")
    notes = Text(FREE_TEXT, required=False, help_text="Why; stored as a note, once.")
