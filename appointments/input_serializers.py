"""Serializers of the input of requests about appointments.

To accept a field of a booking, add one line to `BookingInputSerializer` and to `BookingData`.
"""

from typing import Any

from rest_framework import serializers

from appointments.models import (
    MAX_DURATION_MINUTES,
    MIN_DURATION_MINUTES,
    CallCategory,
    CanceledBy,
    Provider,
    RescheduledBy,
)
from foundation.api.batches import MAX_ROWS, RowsField
from foundation.api.fields import (
    BooleanField,
    BoundedListField,
    ChoiceField,
    DateTimeField,
    EmailField,
    InputSerializer,
    IntegerField,
    LongStringField,
    NameField,
    NumberField,
    ObjectField,
    PathTextField,
    StringField,
    UpdateInputSerializer,
    URLField,
    UUIDField,
)
from leads.serializers import MEMBER, LeadNoteInputSerializer, LeadNoteUpdateInputSerializer
from optins.serializers import AnswersInputSerializer, UTMInputSerializer
from statuses.models import StatusRole

MAX_MENTIONS = 20  # of a note: each gets an e-mail


def duration_field(help_text: str) -> IntegerField:
    least, most = MIN_DURATION_MINUTES, MAX_DURATION_MINUTES
    return IntegerField(min_value=least, max_value=most, required=False, allow_null=True, help_text=help_text)


def notify_lead_field(change: str) -> BooleanField:
    return BooleanField(
        default=False,
        allow_null=True,
        help_text=f"true: the lead gets the organization's e-mail about the {change}, if it is switched on. By default "
        "none is sent: your integration informs the lead.",
    )


class BookingInputSerializer(InputSerializer):
    """A booking."""

    require_one_of = (("lead_email", "lead_id"), ("event_type_name", "event_type_id"))

    external_reference = StringField(help_text="Unique booking ID of the source system, compared exactly.")
    schedule_time = DateTimeField(help_text="Start time, in UTC unless it has an offset. Stored with milliseconds.")
    lead_email = EmailField(required=False, help_text="Finds or creates the lead. Required unless lead_id is given.")
    event_type_name = NameField(
        required=False,
        help_text="Finds the event type, case-insensitively, or creates it. Required unless event_type_id is given.",
    )
    lead_id = UUIDField(required=False, help_text="An existing lead. Takes precedence over lead_email.")
    event_type_id = UUIDField(
        required=False, help_text="An existing event type. Takes precedence over event_type_name."
    )
    lead_first_name = NameField(
        required=False, help_text="Used only for a new lead. Defaults to the part of the e-mail before the @."
    )
    lead_last_name = NameField(required=False, help_text="Used only for a new lead.")
    lead_phone = LongStringField(
        required=False,
        help_text="Used only if the lead has no phone yet. E.164 preferred; an unreadable number is ignored.",
    )
    host_email = EmailField(required=False, help_text=MEMBER)
    setter_email = EmailField(required=False, help_text=f"{MEMBER} Defaults to the lead's setter.")
    triager_email = EmailField(required=False, help_text=MEMBER)
    meeting_url = URLField(required=False, help_text="Where the call takes place: an http or https URL.")
    notes = LongStringField(required=False, help_text="Stored as a note of the appointment.")
    traffic = UTMInputSerializer(
        required=False,
        help_text="The UTM values of the visit that led to the booking. With any of them, the appointment has these "
        "instead of those of the lead's latest opt-in, and a new lead has the sources and the setter that they name.",
    )
    duration_minutes = duration_field("How long this call is. Defaults to the duration of the event type.")
    custom_fields = ObjectField(
        required=False,
        allow_null=True,
        help_text="Values of the appointment's custom fields, by their keys. Blank ones are ignored.",
    )
    notify = BooleanField(
        default=True, allow_null=True, help_text="false: no member is notified of this booking. Events are recorded."
    )
    notify_lead = notify_lead_field("booking")


class AppointmentImportInputSerializer(InputSerializer):
    """Appointments to book."""

    rows = RowsField(
        child=BookingInputSerializer(),
        max_length=MAX_ROWS,
        help_text=f"1 to {MAX_ROWS} bookings, each as in the request for one, except that its notify and notify_lead "
        "are ignored. Ten count as one request.",
    )
    notify = BooleanField(
        default=False, allow_null=True, help_text="true: the bookings notify as single ones do. Events are recorded."
    )


class CancellationInputSerializer(InputSerializer):
    """A cancellation."""

    external_reference = StringField(help_text="The reference that the appointment was booked with.")
    notes = LongStringField(
        required=False, help_text="The reason. Stored as a note; repeating the request does not store it again."
    )
    canceled_by = ChoiceField(
        CanceledBy.values, required=False, help_text="Who canceled: LEAD, HOST or SYSTEM. Shown in the event."
    )
    reason = LongStringField(required=False, help_text="Why. Shown in the event only.")
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
    notify_lead = notify_lead_field("cancellation")


class ReschedulingInputSerializer(InputSerializer):
    """A rescheduling."""

    external_reference = StringField(help_text="A reference of the appointment: its present one or a former one.")
    schedule_time = DateTimeField(help_text="The new time, in UTC unless it has an offset. Stored with milliseconds.")
    new_external_reference = StringField(
        required=False,
        help_text="The source system's new id of the booking. The former one leads to the appointment, too.",
    )
    meeting_url = URLField(required=False, help_text="The new place of the call. Without it, the present one stays.")
    duration_minutes = duration_field("How long the call is from now on. Without it, the present duration stays.")
    notes = LongStringField(
        required=False, help_text="Stored as a note of the appointment; repeating the request does not store it again."
    )
    rescheduled_by = ChoiceField(
        RescheduledBy.values, required=False, help_text="Who wanted another time: LEAD or HOST. Shown in the event."
    )
    reason = LongStringField(required=False, help_text="Why. Shown in the event only.")
    notify_lead = notify_lead_field("new time")


class SyncPathSerializer(InputSerializer):
    source = ChoiceField(Provider.values)  # type: ignore[assignment]  # DRF's own `source` is an attribute of fields
    external_reference = PathTextField()


class SyncedLeadInputSerializer(InputSerializer):
    """The lead of a scheduler's booking."""

    email = EmailField(help_text="Finds or creates the lead of a new appointment.")
    first_name = NameField(required=False, help_text="Used only for a new lead.")
    last_name = NameField(required=False, help_text="Used only for a new lead.")
    phone = LongStringField(required=False, help_text="Used only if the lead has no phone yet.")


class SyncInputSerializer(AnswersInputSerializer):
    """The whole state of a booking, as its scheduler's integration knows it."""

    changed_at = DateTimeField(help_text="When the scheduler changed the booking. An older state is not applied.")
    state = ChoiceField(["BOOKED", "CANCELED", "NO_SHOW"], help_text="BOOKED, CANCELED or NO_SHOW.")
    schedule_time = DateTimeField(help_text="Start time, in UTC unless it has an offset.")
    duration_minutes = duration_field("How long the call is. Without it, the stored duration stays.")
    lead = SyncedLeadInputSerializer(help_text="The lead. A known appointment keeps its own.")
    event_type = NameField(help_text="The event type's name. A known appointment keeps its own event type.")
    host_email = EmailField(required=False, help_text=f"{MEMBER} Without it, the stored host stays.")
    meeting_url = URLField(required=False, help_text="Where the call takes place. Without it, the stored one stays.")
    traffic = UTMInputSerializer(
        required=False, help_text="The UTM values of the visit. Used only by a new appointment."
    )
    previous_reference = StringField(
        required=False, help_text="The reference of the booking that this one replaces. Both lead to the appointment."
    )
    canceled_by = ChoiceField(CanceledBy.values, required=False, help_text="Who canceled. Counts only with CANCELED.")
    reason = LongStringField(required=False, help_text="Why. Counts only with CANCELED.")
    notify = BooleanField(default=False, allow_null=True, help_text="true: participants are notified of the change.")


class AppointmentUpdateInputSerializer(UpdateInputSerializer):
    """Changes of an appointment. An absent field keeps its value; null clears one that may be null."""

    status_id = UUIDField(
        required=False, help_text="The outcome: a status of the appointment board. Takes precedence over outcome_role."
    )
    outcome_role = ChoiceField(
        list(StatusRole.values), required=False, help_text="Sets the outcome to the default status of this role."
    )
    host_email = EmailField(required=False, allow_null=True, help_text=MEMBER)
    setter_email = EmailField(required=False, allow_null=True, help_text=MEMBER)
    triager_email = EmailField(required=False, allow_null=True, help_text=MEMBER)
    meeting_url = URLField(
        required=False, allow_null=True, help_text="Where the call takes place: an http or https URL."
    )
    recording_url = URLField(required=False, allow_null=True, help_text="The call's recording: an http or https URL.")
    call_category = ChoiceField(list(CallCategory.values), required=False, help_text="The kind of call.")
    custom_fields = ObjectField(
        required=False, help_text="New values by the custom fields' keys. null removes one; others stay."
    )
    notify_lead = BooleanField(
        required=False,
        allow_null=True,
        help_text="true: the lead gets the organization's e-mail if this cancels the appointment, books it again or "
        "gives it another meeting URL, and the organization sends such e-mails.",
    )


class CallMatchInputSerializer(InputSerializer):
    """Details of a call that identify its appointment."""

    host_email = EmailField(help_text="The appointment's host, active or not.")
    started_at = DateTimeField(help_text="When the call began; the nearest appointment within an hour is found.")
    lead_email = EmailField(required=False, help_text="If given, only this lead's appointments are found.")
    meeting_url = URLField(required=False, help_text="If given, only appointments with this URL are found.")


class RationaleField(LongStringField):
    trim_whitespace = True


class CallAnalysisInputSerializer(InputSerializer):
    """The analysis of a call, and the appointment that it belongs to."""

    ai_generated_title = NameField(help_text="The call's title.")
    ai_rationale = RationaleField(help_text="Why this outcome is suggested.")
    ai_suggested_outcome = NameField(help_text="The name of the suggested outcome.")
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
