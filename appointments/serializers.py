"""Input serializers (what requests may contain) and output serializers (compiled to SQL)."""

from appointments.models import Appointment, AppointmentSource, CallAnalysis, CallCategory, EventType, Note, Provider
from leads.models import CustomField
from leads.serializers import LeadSummarySerializer, SourceSerializer, custom_fields
from optins.models import UTM_FIELDS, OptIn
from optins.serializers import OptInListSerializer
from organizations.models import Membership
from organizations.serializers import UserSerializer
from pipeline_backend.api import sql_serializers as sql
from pipeline_backend.api.fields import (
    MAX_TEXT_LENGTH,
    DateTimeField,
    EmailField,
    InputSerializer,
    StringField,
    URLField,
    UUIDField,
)
from statuses.serializers import OutcomeSerializer


class EventTypeSerializer(sql.SQLSerializer):
    """An event type; every member is null when the appointment has none (interface 2.4)."""

    model = EventType

    id = sql.UUIDField(null=True)
    provider = sql.ChoiceField(Provider, null=True, help_text="Null for one made by this interface.")
    owner_name = sql.StringField(null=True, help_text="Owner's name at the booking provider.")


class NoteSerializer(sql.SQLSerializer):
    """A note (interface 2.6)."""

    model = Note

    note = sql.StringField()
    mention_users = sql.NestedList(
        UserSerializer, lambda outer: Membership.unscoped.filter(mentioned_in=outer("pk")).order_by("pk")
    )


class CallAnalysisSerializer(sql.SQLSerializer):
    """What the analysis platform made of the call (interface 2.7)."""

    model = CallAnalysis

    id = sql.UUIDField()
    call_analysis_call_id = sql.StringField()
    ai_generated_title = sql.StringField()
    ai_rationale = sql.StringField()
    ai_suggested_outcome = sql.StringField()
    ai_confidence_score = sql.NumberField(help_text="0 to 1.")
    appointment_id = sql.UUIDField()
    created_at = sql.DateTimeField()


class AppointmentListSerializer(sql.SQLSerializer):
    """An appointment, as lists show it (interface 2.1)."""

    component_name = "AppointmentItem"
    model = Appointment

    id = sql.UUIDField()
    lead = sql.NestedObject(LeadSummarySerializer)
    schedule_time = sql.DateTimeField(help_text="Start time, UTC.")
    host = sql.NestedObject(UserSerializer, null=True, help_text="The closer.")
    setter = sql.NestedObject(UserSerializer, null=True)
    triager = sql.NestedObject(UserSerializer, null=True)
    meeting_url = sql.StringField(null=True)
    appointment_type = sql.StringField("event_type__name", null=True, help_text="The event type's name.")
    call_category = sql.ChoiceField(CallCategory)
    appointment_event_type = sql.NestedObject(EventTypeSerializer, "event_type")
    outcome = sql.NestedObject(OutcomeSerializer, null=True)
    notes = sql.FirstRelatedObject(
        NoteSerializer,
        lambda outer: Note.unscoped.filter(appointment=outer("pk")).order_by("-created_at", "-id"),
        help_text="The latest note.",
    )
    recording_url = sql.StringField(null=True)
    no_show = sql.BooleanField()
    source = sql.ChoiceField(AppointmentSource, help_text="MANUAL: created through this interface.")
    external_reference = sql.StringField(null=True)
    utm_source = sql.StringField(null=True)
    utm_medium = sql.StringField(null=True)
    utm_campaign = sql.StringField(null=True)
    utm_content = sql.StringField(null=True)
    utm_term = sql.StringField(null=True)
    call_analysis = sql.FirstRelatedObject(
        CallAnalysisSerializer, lambda outer: CallAnalysis.unscoped.filter(appointment=outer("pk"))
    )
    custom_fields = custom_fields(CustomField.Entity.APPOINTMENT)
    created_at = sql.DateTimeField()
    updated_at = sql.DateTimeField()


class AppointmentDetailSerializer(AppointmentListSerializer):
    """An appointment: without notes and UTM fields, with sources and opt-ins (interface 2.1)."""

    exclude = ("notes", *UTM_FIELDS)

    first_source = sql.NestedObject(
        SourceSerializer, help_text="The lead's first source, as it was when the appointment was booked."
    )
    last_source = sql.NestedObject(
        SourceSerializer, help_text="The lead's last source, as it was when the appointment was booked."
    )
    opt_ins = sql.NestedList(
        OptInListSerializer,
        lambda outer: OptIn.unscoped.filter(lead=outer("lead_id")).order_by("-created_at", "-id"),
        limit=3,
        help_text="The lead's most recent opt-ins.",
    )


class BookingInputSerializer(InputSerializer):
    """A booking (interface 4.1)."""

    require_one_of = (("lead_email", "lead_id"), ("event_type_name", "event_type_id"))

    external_reference = StringField(help_text="Unique booking ID from the source system; compared exactly.")
    schedule_time = DateTimeField(help_text="Start time; UTC unless it names an offset. Kept to the millisecond.")
    lead_email = EmailField(required=False, help_text="Required unless lead_id is given; finds or creates the lead.")
    event_type_name = StringField(
        trim_whitespace=True,
        required=False,
        help_text="Required unless event_type_id is given; matched in any letter case, created if new.",
    )
    lead_id = UUIDField(required=False, help_text="Existing lead; used instead of lead_email.")
    event_type_id = UUIDField(required=False, help_text="Existing event type; used instead of event_type_name.")
    lead_first_name = StringField(
        trim_whitespace=True,
        required=False,
        help_text="Used only for a new lead; falls back to the e-mail's part before the @.",
    )
    lead_last_name = StringField(trim_whitespace=True, required=False, help_text="Used only for a new lead.")
    lead_phone = StringField(
        max_length=MAX_TEXT_LENGTH,
        required=False,
        help_text="E.164 preferred; fills an empty phone; what can't be read is ignored.",
    )
    host_email = EmailField(required=False, help_text="An active member of the organization.")
    setter_email = EmailField(required=False, help_text="An active member of the organization.")
    triager_email = EmailField(required=False, help_text="An active member of the organization.")
    meeting_url = URLField(required=False)
    notes = StringField(max_length=MAX_TEXT_LENGTH, required=False, help_text="Stored as the appointment's note.")


class CancellationInputSerializer(InputSerializer):
    """A cancellation (interface 4.2)."""

    external_reference = StringField(help_text="The reference that the appointment was created with.")
    notes = StringField(max_length=MAX_TEXT_LENGTH, required=False, help_text="Why; stored as a note, once.")
