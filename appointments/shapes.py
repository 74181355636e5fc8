"""What the interface shows of appointments (interface 2.1, 2.4, 2.6, 2.7)."""

from appointments.models import Appointment, AppointmentSource, CallAnalysis, CallCategory, EventType, Note, Provider
from leads.models import CustomField
from leads.shapes import LeadSummary, SourceShape, custom_fields
from optins.models import UTM, OptIn
from optins.shapes import OptInItem
from organizations.models import Membership
from organizations.shapes import UserShape
from pipeline_backend.api.shapes import Choice, Flag, Moment, Nested, Number, Related, Shape, Text, Uuid
from statuses.shapes import OutcomeShape


class EventTypeShape(Shape):
    """An event type; every member is null when the appointment has none (interface 2.4)."""

    model = EventType

    id = Uuid(null=True)
    provider = Choice(Provider, null=True, help="Null for one made by this interface.")
    owner_name = Text(null=True, help="Owner's name at the booking provider.")


class NoteShape(Shape):
    """A note (interface 2.6)."""

    model = Note

    note = Text()
    mention_users = Related(UserShape, lambda outer: Membership.unscoped.filter(mentioned_in=outer("pk")).order_by("pk"))


class CallAnalysisShape(Shape):
    """What the analysis platform made of the call (interface 2.7)."""

    model = CallAnalysis

    id = Uuid()
    call_analysis_call_id = Text()
    ai_generated_title = Text()
    ai_rationale = Text()
    ai_suggested_outcome = Text()
    ai_confidence_score = Number(help="0 to 1.")
    appointment_id = Uuid()
    created_at = Moment()


class AppointmentItem(Shape):
    """An appointment, as lists show it (interface 2.1)."""

    model = Appointment

    id = Uuid()
    lead = Nested(LeadSummary)
    schedule_time = Moment(help="Start time, UTC.")
    host = Nested(UserShape, null=True, help="The closer.")
    setter = Nested(UserShape, null=True)
    triager = Nested(UserShape, null=True)
    meeting_url = Text(null=True)
    appointment_type = Text("event_type__name", null=True, help="The event type's name.")
    call_category = Choice(CallCategory)
    appointment_event_type = Nested(EventTypeShape, "event_type")
    outcome = Nested(OutcomeShape, null=True)
    notes = Related(NoteShape, lambda outer: Note.unscoped.filter(appointment=outer("pk")).order_by("-created_at", "-id"), single=True, help="The latest note.")
    recording_url = Text(null=True)
    no_show = Flag()
    source = Choice(AppointmentSource, help="MANUAL: created through this interface.")
    external_reference = Text(null=True)
    utm_source = Text(null=True)
    utm_medium = Text(null=True)
    utm_campaign = Text(null=True)
    utm_content = Text(null=True)
    utm_term = Text(null=True)
    call_analysis = Related(CallAnalysisShape, lambda outer: CallAnalysis.unscoped.filter(appointment=outer("pk")), single=True)
    custom_fields = custom_fields(CustomField.Entity.APPOINTMENT)
    created_at = Moment()
    updated_at = Moment()


class AppointmentDetail(AppointmentItem):
    """An appointment: without notes and UTM fields, with sources and opt-ins (interface 2.1)."""

    without = ("notes", *UTM)

    first_source = Nested(SourceShape, help="The lead's first source, as it was when the appointment was booked.")
    last_source = Nested(SourceShape, help="The lead's last source, as it was when the appointment was booked.")
    opt_ins = Related(
        OptInItem,
        lambda outer: OptIn.unscoped.filter(lead=outer("lead_id")).order_by("-created_at", "-id"),
        limit=3,
        help="The lead's most recent opt-ins.",
    )
