"""Serializers of appointments: first what the API returns and webhooks send, then what requests contain.

To add a field to the output, add one line to `AppointmentListSerializer` (lists, the detail and events) or to
`AppointmentDetailSerializer`. To accept a field, add one line to `BookingInputSerializer` and to `BookingData`.
"""

from appointments.models import Appointment, AppointmentSource, CallAnalysis, CallCategory, EventType, Note, Provider
from foundation.api import sql_serializers as sql
from foundation.api.fields import (
    MAX_TEXT_LENGTH,
    DateTimeField,
    EmailField,
    InputSerializer,
    StringField,
    URLField,
    UUIDField,
)
from leads.models import CustomField
from leads.serializers import LeadSummarySerializer, SourceSerializer, custom_fields
from optins.models import UTM_FIELDS, OptIn
from optins.serializers import OptInListSerializer
from organizations.models import Membership
from organizations.serializers import ActorSerializer, UserSerializer
from statuses.serializers import OutcomeSerializer

# --- Output, read from the database as finished JSON


class EventTypeSerializer(sql.SQLSerializer):
    """The event type of an appointment. Every field is null if the appointment has no event type."""

    model = EventType

    id = sql.UUIDField(null=True)
    provider = sql.ChoiceField(
        Provider, null=True, help_text="Null for an event type that was created through this API."
    )
    owner_name = sql.StringField(null=True, help_text="The owner's name at the scheduler.")


class EventTypeDetailSerializer(sql.SQLSerializer):
    """An event type, as events have it."""

    component_name = "EventTypeDetail"
    model = EventType

    id = sql.UUIDField()
    name = sql.StringField()
    call_category = sql.ChoiceField(CallCategory, help_text="The category of new appointments.")
    provider = sql.ChoiceField(Provider, null=True)
    owner_name = sql.StringField(null=True)


class NoteSerializer(sql.SQLSerializer):
    """A note about an appointment."""

    model = Note

    note = sql.StringField()
    mention_users = sql.NestedList(
        UserSerializer, lambda outer: Membership.unscoped.filter(mentioned_in=outer("pk")).order_by("pk")
    )


class CallAnalysisSerializer(sql.SQLSerializer):
    """The analysis of the recorded call."""

    model = CallAnalysis

    id = sql.UUIDField()
    call_analysis_call_id = sql.StringField()
    ai_generated_title = sql.StringField()
    ai_rationale = sql.StringField()
    ai_suggested_outcome = sql.StringField()
    ai_confidence_score = sql.NumberField(help_text="From 0 to 1.")
    appointment_id = sql.UUIDField()
    created_at = sql.DateTimeField()


class AppointmentListSerializer(sql.SQLSerializer):
    """An appointment in lists."""

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
    source = sql.ChoiceField(AppointmentSource, help_text="MANUAL if it was created through this API or by staff.")
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
    """An appointment with its sources and opt-ins, without notes and UTM fields."""

    exclude = ("notes", *UTM_FIELDS)
    untracked = (
        *AppointmentListSerializer.untracked,
        *("lead", "opt_ins"),
        *("source", "external_reference", "first_source", "last_source"),
    )

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


class NoteEventSerializer(NoteSerializer):
    """A note with its author and its appointment, as events have it."""

    component_name = "NoteDetail"

    id = sql.UUIDField()
    author = sql.SameRowObject(ActorSerializer)
    created_at = sql.DateTimeField()
    appointment = sql.NestedObject(AppointmentDetailSerializer)


class BookingSerializer(sql.SQLSerializer):
    """The result of a booking."""

    component_name = "Booked"

    id = sql.UUIDField()
    is_duplicate = sql.BooleanField(help_text="True if the reference was booked before, for the same time.")


class CancellationSerializer(sql.SQLSerializer):
    """The result of a cancellation."""

    component_name = "Canceled"

    id = sql.UUIDField()


# --- Input


class BookingInputSerializer(InputSerializer):
    """A booking."""

    require_one_of = (("lead_email", "lead_id"), ("event_type_name", "event_type_id"))

    external_reference = StringField(help_text="Unique booking ID of the source system, compared exactly.")
    schedule_time = DateTimeField(help_text="Start time, in UTC unless it has an offset. Stored with milliseconds.")
    lead_email = EmailField(required=False, help_text="Finds or creates the lead. Required unless lead_id is given.")
    event_type_name = StringField(
        trim_whitespace=True,
        required=False,
        help_text="Finds the event type, case-insensitively, or creates it. Required unless event_type_id is given.",
    )
    lead_id = UUIDField(required=False, help_text="An existing lead. Takes precedence over lead_email.")
    event_type_id = UUIDField(
        required=False, help_text="An existing event type. Takes precedence over event_type_name."
    )
    lead_first_name = StringField(
        trim_whitespace=True,
        required=False,
        help_text="Used only for a new lead. Defaults to the part of the e-mail before the @.",
    )
    lead_last_name = StringField(trim_whitespace=True, required=False, help_text="Used only for a new lead.")
    lead_phone = StringField(
        max_length=MAX_TEXT_LENGTH,
        required=False,
        help_text="Used only if the lead has no phone yet. E.164 preferred; an unreadable number is ignored.",
    )
    host_email = EmailField(required=False, help_text="An active member of the organization who is not a viewer.")
    setter_email = EmailField(
        required=False,
        help_text="An active member of the organization who is not a viewer. Defaults to the lead's setter.",
    )
    triager_email = EmailField(required=False, help_text="An active member of the organization who is not a viewer.")
    meeting_url = URLField(required=False)
    notes = StringField(max_length=MAX_TEXT_LENGTH, required=False, help_text="Stored as a note of the appointment.")


class CancellationInputSerializer(InputSerializer):
    """A cancellation."""

    external_reference = StringField(help_text="The reference that the appointment was booked with.")
    notes = StringField(
        max_length=MAX_TEXT_LENGTH,
        required=False,
        help_text="The reason. Stored as a note; repeating the request does not store it again.",
    )
