"""Serializers of appointments: what the API returns and webhooks send.

To add a field, add one line to `AppointmentItemSerializer` (lists, the detail and events) or to
`AppointmentDetailSerializer` (the detail and events only).
"""

from appointments import models
from foundation.api import sql_serializers as sql
from foundation.api.batches import ImportedRowSerializer, ImportSerializer, ResultsField
from leads.models import CustomField
from leads.serializers import STORED, CustomFieldsField, LeadSummarySerializer, SourceSerializer
from optins.models import UTM_FIELDS, OptIn
from optins.serializers import OptInItemSerializer
from organizations.models import Membership
from organizations.serializers import ActorSerializer, UserSerializer
from statuses.serializers import OutcomeSerializer, StatusChangeSerializer
from webhooks.topics import utm_fields


class EventTypeSerializer(sql.SQLSerializer):
    """The event type of an appointment. Every field is null if the appointment has no event type."""

    model = models.EventType

    id = sql.UUIDField(null=True, help_text="The event type's id.")
    provider = sql.OpenChoiceField(
        models.Provider, null=True, help_text="Null for an event type that was created through this API."
    )
    owner_name = sql.StringField(null=True, help_text="The owner's name at the scheduler.")


class EventTypeDetailSerializer(sql.SQLSerializer):
    """An event type, as events have it."""

    model = models.EventType

    id = sql.UUIDField(help_text="The event type's id.")
    name = sql.StringField(help_text="Its name, which appointments show as appointment_type.")
    call_category = sql.ChoiceField(models.CallCategory, help_text="The category of new appointments.")
    provider = sql.OpenChoiceField(models.Provider, null=True, help_text="The scheduler that it comes from.")
    owner_name = sql.StringField(null=True, help_text="The owner's name at the scheduler.")
    duration_minutes = sql.IntegerField(help_text="How long its calls are, in minutes.")
    reminder_hours = sql.IntegerField(help_text="How many hours before a call its lead gets a reminder. 0 for none.")


class EventTypeItemSerializer(EventTypeDetailSerializer):
    """An event type in the event types list."""

    is_active = sql.ConditionField(STORED, help_text="Always true: an event type is deleted, not retired.")
    updated_at = sql.DateTimeField(help_text="When the event type last changed.")


class NoteSerializer(sql.SQLSerializer):
    """A note about an appointment."""

    model = models.Note

    note = sql.StringField(help_text="The note's text.")
    mention_users = sql.NestedList(
        UserSerializer,
        lambda outer: Membership.unscoped.filter(mentioned_in=outer("pk")).order_by("pk"),
        help_text="The members that the note mentions.",
    )


class CallAnalysisSerializer(sql.SQLSerializer):
    """The analysis of the recorded call."""

    model = models.CallAnalysis

    id = sql.UUIDField(help_text="The analysis's id.")
    call_analysis_call_id = sql.StringField(help_text="The call's id on the analysis platform.")
    ai_generated_title = sql.StringField(help_text="The call's title.")
    ai_rationale = sql.StringField(help_text="Why this outcome is suggested.")
    ai_suggested_outcome = sql.StringField(help_text="The name of the suggested outcome.")
    ai_confidence_score = sql.NumberField(help_text="From 0 to 1.")
    appointment_id = sql.UUIDField(help_text="The appointment that the call belongs to.")
    created_at = sql.DateTimeField(help_text="When the analysis was stored.")


class AppointmentItemSerializer(sql.SQLSerializer):
    """An appointment in lists."""

    model = models.Appointment

    id = sql.UUIDField(help_text="The appointment's id.")
    lead = sql.NestedObject(LeadSummarySerializer, help_text="Who the call is with.")
    schedule_time = sql.DateTimeField(help_text="Start time, UTC.")
    host = sql.NestedObject(UserSerializer, null=True, help_text="The closer.")
    setter = sql.NestedObject(UserSerializer, null=True, help_text="Who set the call up.")
    triager = sql.NestedObject(UserSerializer, null=True, help_text="Who qualifies the lead before the call.")
    meeting_url = sql.StringField(null=True, help_text="Where the call takes place.")
    appointment_type = sql.StringField("event_type__name", null=True, help_text="The event type's name.")
    call_category = sql.ChoiceField(models.CallCategory, help_text="The kind of call.")
    appointment_event_type = sql.NestedObject(EventTypeSerializer, "event_type", help_text="The event type.")
    outcome = sql.NestedObject(OutcomeSerializer, null=True, help_text="What came of the call; null until it is set.")
    notes = sql.FirstRelatedObject(
        NoteSerializer,
        lambda outer: models.Note.unscoped.filter(appointment=outer("pk")).order_by("-created_at", "-id"),
        help_text="The latest note.",
    )
    recording_url = sql.StringField(null=True, help_text="The call's recording.")
    no_show = sql.BooleanField(help_text="Whether the lead missed the call.")
    source = sql.ChoiceField(
        models.AppointmentSource, help_text="MANUAL if it was created through this API or by staff."
    )
    external_reference = sql.StringField(null=True, help_text="The source system's id of the booking.")
    utm_source, utm_medium, utm_campaign, utm_content, utm_term = utm_fields()
    call_analysis = sql.FirstRelatedObject(
        CallAnalysisSerializer,
        lambda outer: models.CallAnalysis.unscoped.filter(appointment=outer("pk")),
        help_text="The analysis of the recorded call.",
    )
    custom_fields = CustomFieldsField(CustomField.Entity.APPOINTMENT)
    created_at = sql.DateTimeField(help_text="When the appointment was stored.")
    updated_at = sql.DateTimeField(help_text="When a value of the appointment last changed.")


class AppointmentDetailSerializer(AppointmentItemSerializer):
    """An appointment with its sources and opt-ins, without notes and UTM fields."""

    exclude = ("notes", *UTM_FIELDS)
    untracked = (*AppointmentItemSerializer.untracked, *("lead", "opt_ins"), *("source", "first_source", "last_source"))

    first_source = sql.NestedObject(
        SourceSerializer, help_text="The lead's first source, as it was when the appointment was booked."
    )
    last_source = sql.NestedObject(
        SourceSerializer, help_text="The lead's last source, as it was when the appointment was booked."
    )
    opt_ins = sql.NestedList(
        OptInItemSerializer,
        lambda outer: OptIn.unscoped.filter(lead=outer("lead_id")).order_by("-created_at", "-id"),
        limit=3,
        help_text="The lead's most recent opt-ins.",
    )


class OutcomeChangeSerializer(StatusChangeSerializer):
    """A change of an appointment's outcome."""

    model = models.OutcomeChange

    from_ = sql.NestedObject(
        OutcomeSerializer, "from_status", null=True, help_text="The outcome before; null at the booking."
    )
    to = sql.NestedObject(OutcomeSerializer, "to_status", help_text="The outcome after.")


class NoteItemSerializer(NoteSerializer):
    """A note about an appointment with its author."""

    id = sql.UUIDField(help_text="The note's id.")
    external_reference = sql.StringField(null=True, help_text="The source system's id of the note.")
    author = sql.SameRowObject(ActorSerializer, help_text="Who wrote it.")
    created_at = sql.DateTimeField(help_text="When it was written.")
    appointment_id = sql.UUIDField(help_text="The appointment that it is about.")


class NoteDetailSerializer(NoteItemSerializer):
    """A note with its author and its appointment, as events have it."""

    exclude = ("appointment_id",)
    untracked = (*NoteItemSerializer.untracked, "external_reference", "author", "appointment")

    appointment = sql.NestedObject(AppointmentDetailSerializer, help_text="The appointment that it is about.")


class DeletedAppointmentSerializer(sql.SQLSerializer):
    """An appointment that is gone."""

    model = models.Appointment

    id = sql.UUIDField(help_text="The appointment's id.")
    lead_id = sql.UUIDField(help_text="The id of the lead that it was with.")


class BookedSerializer(sql.SQLSerializer):
    """The result of a booking."""

    id = sql.UUIDField(help_text="The appointment's id.")
    is_duplicate = sql.BooleanField(help_text="True if the reference was booked before, for the same time.")


class ImportedAppointmentSerializer(ImportedRowSerializer):
    """The result of a row of an import of appointments."""

    data = sql.NestedObject(BookedSerializer, help_text="The result, if the row was done.")


class AppointmentImportSerializer(ImportSerializer):
    """The result of an import of appointments."""

    rows = ResultsField(ImportedAppointmentSerializer)


class DeletedRowsSerializer(sql.SQLSerializer):
    """How many rows were deleted."""

    leads = sql.IntegerField(help_text="Leads.")
    appointments = sql.IntegerField(help_text="Appointments.")
    opt_ins = sql.IntegerField(help_text="Opt-ins.")
    events = sql.IntegerField(help_text="Events.")


class ResetSerializer(sql.SQLSerializer):
    """The result of resetting a test organization."""

    deleted = sql.NestedObject(DeletedRowsSerializer, help_text="How many rows this request has deleted.")
    is_complete = sql.BooleanField(help_text="false: there was too much for one request; send it again.")


class SyncedAppointmentSerializer(sql.SQLSerializer):
    """The result of a scheduler's sync."""

    id = sql.UUIDField(help_text="The appointment's id.")
    applied = sql.BooleanField(
        help_text="false if the state is older than the stored one, its reference was replaced, or its lead was erased."
    )


class CanceledSerializer(sql.SQLSerializer):
    """The result of a cancellation."""

    id = sql.UUIDField(help_text="The appointment's id.")


class RememberedCancellationSerializer(sql.SQLSerializer):
    """A cancellation that waits for its booking."""

    external_reference = sql.StringField(help_text="The reference that is canceled as soon as it is booked.")
    remembered_until = sql.DateTimeField(help_text="When the cancellation expires: a later booking is not canceled.")


class RescheduledSerializer(sql.SQLSerializer):
    """The result of a rescheduling."""

    id = sql.UUIDField(help_text="The appointment's id, which stays the same.")


class ReschedulingDetailsSerializer(sql.SQLSerializer):
    """What the request that rescheduled an appointment said about it. All are null if staff did it."""

    rescheduled_by = sql.OpenChoiceField(models.RescheduledBy, null=True, help_text="Who wanted another time.")
    reason = sql.StringField(null=True, help_text="Why.")
    duration_minutes = sql.IntegerField(
        null=True, help_text="How long the call is from now on, if the request said so."
    )


class CancellationDetailsSerializer(sql.SQLSerializer):
    """What the request that canceled an appointment said about it. All are null if staff did it."""

    canceled_by = sql.OpenChoiceField(models.CanceledBy, null=True, help_text="Who canceled.")
    reason = sql.StringField(null=True, help_text="Why.")
    rescheduled_to = sql.StringField(null=True, help_text="The reference of the booking that replaces this one.")
