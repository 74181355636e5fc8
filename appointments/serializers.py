"""Serializers of appointments: first what the API returns and webhooks send, then what requests contain.

To add a field to the output, add one line to `AppointmentListSerializer` (lists, the detail and events) or to
`AppointmentDetailSerializer`. To accept a field, add one line to `BookingInputSerializer` and to `BookingData`.
"""

from typing import Any

from rest_framework import serializers

from appointments.models import (
    MAX_DURATION_MINUTES,
    MIN_DURATION_MINUTES,
    Appointment,
    AppointmentSource,
    CallAnalysis,
    CallCategory,
    CanceledBy,
    EventType,
    Note,
    OutcomeChange,
    Provider,
    RescheduledBy,
)
from foundation.api import sql_serializers as sql
from foundation.api.fields import (
    MAX_TEXT_LENGTH,
    BooleanField,
    BoundedListField,
    ChoiceField,
    DateTimeField,
    EmailField,
    InputSerializer,
    IntegerField,
    NumberField,
    ObjectField,
    StringField,
    UpdateInputSerializer,
    URLField,
    UUIDField,
)
from leads.models import CustomField
from leads.serializers import (
    STORED,
    LeadNoteInputSerializer,
    LeadNoteUpdateInputSerializer,
    LeadSummarySerializer,
    SourceSerializer,
    custom_fields,
)
from optins.models import UTM_FIELDS, OptIn
from optins.serializers import OptInListSerializer, UTMInputSerializer
from organizations.models import Membership
from organizations.serializers import ActorSerializer, UserSerializer
from statuses.models import StatusRole
from statuses.serializers import OutcomeSerializer, StatusChangeSerializer
from webhooks.topics import utm_fields

# --- Output, read from the database as finished JSON


class EventTypeSerializer(sql.SQLSerializer):
    """The event type of an appointment. Every field is null if the appointment has no event type."""

    model = EventType

    id = sql.UUIDField(null=True, help_text="The event type's id.")
    provider = sql.OpenChoiceField(
        Provider, null=True, help_text="Null for an event type that was created through this API."
    )
    owner_name = sql.StringField(null=True, help_text="The owner's name at the scheduler.")


class EventTypeDetailSerializer(sql.SQLSerializer):
    """An event type, as events have it."""

    component_name = "EventTypeDetail"
    model = EventType

    id = sql.UUIDField(help_text="The event type's id.")
    name = sql.StringField(help_text="Its name, which appointments show as appointment_type.")
    call_category = sql.ChoiceField(CallCategory, help_text="The category of new appointments.")
    provider = sql.OpenChoiceField(Provider, null=True, help_text="The scheduler that it comes from.")
    owner_name = sql.StringField(null=True, help_text="The owner's name at the scheduler.")
    duration_minutes = sql.IntegerField(help_text="How long its calls are, in minutes.")


class EventTypeItemSerializer(EventTypeDetailSerializer):
    """An event type in the event types list."""

    component_name = "EventTypeItem"

    is_active = sql.ConditionField(STORED, help_text="Always true: an event type is deleted, not retired.")
    updated_at = sql.DateTimeField(help_text="When the event type last changed.")


class NoteSerializer(sql.SQLSerializer):
    """A note about an appointment."""

    model = Note

    note = sql.StringField(help_text="The note's text.")
    mention_users = sql.NestedList(
        UserSerializer,
        lambda outer: Membership.unscoped.filter(mentioned_in=outer("pk")).order_by("pk"),
        help_text="The members that the note mentions.",
    )


class CallAnalysisSerializer(sql.SQLSerializer):
    """The analysis of the recorded call."""

    model = CallAnalysis

    id = sql.UUIDField(help_text="The analysis's id.")
    call_analysis_call_id = sql.StringField(help_text="The call's id on the analysis platform.")
    ai_generated_title = sql.StringField(help_text="The call's title.")
    ai_rationale = sql.StringField(help_text="Why this outcome is suggested.")
    ai_suggested_outcome = sql.StringField(help_text="The name of the suggested outcome.")
    ai_confidence_score = sql.NumberField(help_text="From 0 to 1.")
    appointment_id = sql.UUIDField(help_text="The appointment that the call belongs to.")
    created_at = sql.DateTimeField(help_text="When the analysis was stored.")


class AppointmentListSerializer(sql.SQLSerializer):
    """An appointment in lists."""

    component_name = "AppointmentItem"
    model = Appointment

    id = sql.UUIDField(help_text="The appointment's id.")
    lead = sql.NestedObject(LeadSummarySerializer, help_text="Who the call is with.")
    schedule_time = sql.DateTimeField(help_text="Start time, UTC.")
    host = sql.NestedObject(UserSerializer, null=True, help_text="The closer.")
    setter = sql.NestedObject(UserSerializer, null=True, help_text="Who set the call up.")
    triager = sql.NestedObject(UserSerializer, null=True, help_text="Who qualifies the lead before the call.")
    meeting_url = sql.StringField(null=True, help_text="Where the call takes place.")
    appointment_type = sql.StringField("event_type__name", null=True, help_text="The event type's name.")
    call_category = sql.ChoiceField(CallCategory, help_text="The kind of call.")
    appointment_event_type = sql.NestedObject(EventTypeSerializer, "event_type", help_text="The event type.")
    outcome = sql.NestedObject(OutcomeSerializer, null=True, help_text="What came of the call; null until it is set.")
    notes = sql.FirstRelatedObject(
        NoteSerializer,
        lambda outer: Note.unscoped.filter(appointment=outer("pk")).order_by("-created_at", "-id"),
        help_text="The latest note.",
    )
    recording_url = sql.StringField(null=True, help_text="The call's recording.")
    no_show = sql.BooleanField(help_text="Whether the lead missed the call.")
    source = sql.ChoiceField(AppointmentSource, help_text="MANUAL if it was created through this API or by staff.")
    external_reference = sql.StringField(null=True, help_text="The source system's id of the booking.")
    utm_source, utm_medium, utm_campaign, utm_content, utm_term = utm_fields()
    call_analysis = sql.FirstRelatedObject(
        CallAnalysisSerializer,
        lambda outer: CallAnalysis.unscoped.filter(appointment=outer("pk")),
        help_text="The analysis of the recorded call.",
    )
    custom_fields = custom_fields(CustomField.Entity.APPOINTMENT)
    created_at = sql.DateTimeField(help_text="When the appointment was stored.")
    updated_at = sql.DateTimeField(help_text="When a value of the appointment last changed.")


class AppointmentDetailSerializer(AppointmentListSerializer):
    """An appointment with its sources and opt-ins, without notes and UTM fields."""

    exclude = ("notes", *UTM_FIELDS)
    untracked = (
        *AppointmentListSerializer.untracked,
        *("lead", "opt_ins"),
        *("source", "first_source", "last_source"),
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


class OutcomeChangeSerializer(StatusChangeSerializer):
    """A change of an appointment's outcome."""

    model = OutcomeChange

    from_ = sql.NestedObject(
        OutcomeSerializer, "from_status", null=True, help_text="The outcome before; null at the booking."
    )
    to = sql.NestedObject(OutcomeSerializer, "to_status", help_text="The outcome after.")


class NoteItemSerializer(NoteSerializer):
    """A note about an appointment with its author."""

    component_name = "NoteItem"

    id = sql.UUIDField(help_text="The note's id.")
    external_reference = sql.StringField(null=True, help_text="The source system's id of the note.")
    author = sql.SameRowObject(ActorSerializer, help_text="Who wrote it.")
    created_at = sql.DateTimeField(help_text="When it was written.")
    appointment_id = sql.UUIDField(help_text="The appointment that it is about.")


class NoteEventSerializer(NoteItemSerializer):
    """A note with its author and its appointment, as events have it."""

    component_name = "NoteDetail"
    exclude = ("appointment_id",)
    untracked = (*NoteItemSerializer.untracked, "external_reference", "author", "appointment")

    appointment = sql.NestedObject(AppointmentDetailSerializer, help_text="The appointment that it is about.")


class BookingSerializer(sql.SQLSerializer):
    """The result of a booking."""

    component_name = "Booked"

    id = sql.UUIDField(help_text="The appointment's id.")
    is_duplicate = sql.BooleanField(help_text="True if the reference was booked before, for the same time.")


class CancellationSerializer(sql.SQLSerializer):
    """The result of a cancellation."""

    component_name = "Canceled"

    id = sql.UUIDField(help_text="The appointment's id.")


class RememberedCancellationSerializer(sql.SQLSerializer):
    """A cancellation that waits for its booking."""

    external_reference = sql.StringField(help_text="The reference that is canceled as soon as it is booked.")
    remembered_until = sql.DateTimeField(help_text="A later booking is not canceled.")


class ReschedulingSerializer(sql.SQLSerializer):
    """The result of a rescheduling."""

    component_name = "Rescheduled"

    id = sql.UUIDField(help_text="The appointment's id, which stays the same.")


class ReschedulingDetailsSerializer(sql.SQLSerializer):
    """What the request that rescheduled an appointment said about it. All are null if staff did it."""

    rescheduled_by = sql.OpenChoiceField(RescheduledBy, null=True, help_text="Who wanted another time.")
    reason = sql.StringField(null=True, help_text="Why.")


class CancellationDetailsSerializer(sql.SQLSerializer):
    """What the request that canceled an appointment said about it. All are null if staff did it."""

    canceled_by = sql.OpenChoiceField(CanceledBy, null=True, help_text="Who canceled.")
    reason = sql.StringField(null=True, help_text="Why.")
    rescheduled_to = sql.StringField(null=True, help_text="The reference of the booking that replaces this one.")


# --- Input

MAX_MENTIONS = 20  # of a note: each gets an e-mail


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
    meeting_url = URLField(required=False, help_text="Where the call takes place: an http or https URL.")
    notes = StringField(max_length=MAX_TEXT_LENGTH, required=False, help_text="Stored as a note of the appointment.")
    traffic = UTMInputSerializer(
        required=False,
        help_text="The UTM values of the visit that led to the booking. With any of them, the appointment has these "
        "instead of those of the lead's latest opt-in, and a new lead has the sources and the setter that they name.",
    )
    duration_minutes = IntegerField(
        min_value=MIN_DURATION_MINUTES,
        max_value=MAX_DURATION_MINUTES,
        required=False,
        allow_null=True,
        help_text="How long this call is. Defaults to the duration of the event type.",
    )
    custom_fields = ObjectField(
        required=False,
        allow_null=True,
        help_text="Values of the appointment's custom fields, by their keys. Blank ones are ignored.",
    )
    notify = BooleanField(
        default=True,
        allow_null=True,
        help_text="false: no one is notified about this booking. Events are recorded.",
    )


class CancellationInputSerializer(InputSerializer):
    """A cancellation."""

    external_reference = StringField(help_text="The reference that the appointment was booked with.")
    notes = StringField(
        max_length=MAX_TEXT_LENGTH,
        required=False,
        help_text="The reason. Stored as a note; repeating the request does not store it again.",
    )
    canceled_by = ChoiceField(
        CanceledBy.values, required=False, help_text="Who canceled: LEAD, HOST or SYSTEM. Shown in the event."
    )
    reason = StringField(max_length=MAX_TEXT_LENGTH, required=False, help_text="Why. Shown in the event only.")
    rescheduled_to = StringField(
        required=False,
        help_text="The reference of the booking that replaces this one. Shown in the event. If the appointment has it "
        "already, because it was rescheduled under it, nothing is canceled.",
    )
    if_unknown = ChoiceField(
        ["remember"],
        required=False,
        help_text="remember: an unknown reference is a 202, and its booking is canceled if it comes within 24 hours.",
    )


class ReschedulingInputSerializer(InputSerializer):
    """A rescheduling."""

    external_reference = StringField(help_text="A reference of the appointment: its present one or a former one.")
    schedule_time = DateTimeField(help_text="The new time, in UTC unless it has an offset. Stored with milliseconds.")
    new_external_reference = StringField(
        required=False,
        help_text="The source system's new id of the booking. The former one leads to the appointment, too.",
    )
    meeting_url = URLField(required=False, help_text="The new place of the call. Without it, the present one stays.")
    notes = StringField(
        max_length=MAX_TEXT_LENGTH,
        required=False,
        help_text="Stored as a note of the appointment; repeating the request does not store it again.",
    )
    rescheduled_by = ChoiceField(
        RescheduledBy.values, required=False, help_text="Who wanted another time: LEAD or HOST. Shown in the event."
    )
    reason = StringField(max_length=MAX_TEXT_LENGTH, required=False, help_text="Why. Shown in the event only.")


class AppointmentUpdateInputSerializer(UpdateInputSerializer):
    """Changes of an appointment. An absent field keeps its value; null clears one that may be null."""

    status_id = UUIDField(
        required=False, help_text="The outcome: a status of the appointment board. Takes precedence over outcome_role."
    )
    outcome_role = ChoiceField(
        list(StatusRole.values), required=False, help_text="Sets the outcome to the default status of this role."
    )
    host_email = EmailField(
        required=False, allow_null=True, help_text="An active member of the organization who is not a viewer."
    )
    setter_email = EmailField(
        required=False, allow_null=True, help_text="An active member of the organization who is not a viewer."
    )
    triager_email = EmailField(
        required=False, allow_null=True, help_text="An active member of the organization who is not a viewer."
    )
    meeting_url = URLField(
        required=False, allow_null=True, help_text="Where the call takes place: an http or https URL."
    )
    recording_url = URLField(required=False, allow_null=True, help_text="The call's recording: an http or https URL.")
    call_category = ChoiceField(list(CallCategory.values), required=False, help_text="The kind of call.")
    custom_fields = ObjectField(
        required=False,
        help_text="New values by the custom fields' keys. null removes one; others stay.",
    )


class CallMatchInputSerializer(InputSerializer):
    """What is known of a call, to find its appointment."""

    host_email = EmailField(help_text="The appointment's host, active or not.")
    started_at = DateTimeField(help_text="When the call began; the nearest appointment within an hour is found.")
    lead_email = EmailField(required=False, help_text="If given, only this lead's appointments are found.")
    meeting_url = URLField(required=False, help_text="If given, only appointments with this URL are found.")


class CallAnalysisInputSerializer(InputSerializer):
    """The analysis of a call, and the appointment that it belongs to."""

    ai_generated_title = StringField(trim_whitespace=True, help_text="The call's title.")
    ai_rationale = StringField(
        trim_whitespace=True, max_length=MAX_TEXT_LENGTH, help_text="Why this outcome is suggested."
    )
    ai_suggested_outcome = StringField(trim_whitespace=True, help_text="The name of the suggested outcome.")
    ai_confidence_score = NumberField(min_value=0, max_value=1, help_text="From 0 to 1.")
    appointment_id = UUIDField(
        required=False, help_text="The appointment. Required unless external_reference or match is given."
    )
    external_reference = StringField(
        required=False, help_text="A reference of the appointment. Used only without appointment_id."
    )
    match = CallMatchInputSerializer(required=False, help_text="Used only without the other two, and for a new call.")

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if not values.keys() & {"appointment_id", "external_reference", "match"}:
            problem = "is required unless external_reference or match is given"
            raise serializers.ValidationError({"appointment_id": [problem]})
        return values


class NoteInputSerializer(LeadNoteInputSerializer):
    """A note about an appointment."""

    mention_emails = BoundedListField(
        child=EmailField(),
        required=False,
        max_length=MAX_MENTIONS,
        help_text="The active members whom the note mentions; they are notified.",
    )


class NoteUpdateInputSerializer(LeadNoteUpdateInputSerializer):
    """Changes of a note about an appointment."""

    mention_emails = BoundedListField(
        child=EmailField(),
        required=False,
        allow_null=True,
        max_length=MAX_MENTIONS,
        help_text="The active members whom the note mentions from now on; those who are new are notified.",
    )
