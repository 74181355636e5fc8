"""Appointments with their event types, outcome history, notes and call analyses."""

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, UniqueConstraint
from django.db.models.functions import Lower, Now
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import cached_property

from foundation.db.compiled import Param
from foundation.db.timestamps import MillisecondDateTimeField, now
from leads.models import EditableNote, Lead, NamedModel, Source
from optins.models import UTM_FIELDS, Traffic
from organizations.actors import ActorFields
from organizations.isolation import TenantForeignKey, TenantModel, TenantQuerySet, tenant_manager
from organizations.models import Membership, Organization
from organizations.versions import Change, VersionedModel
from statuses.models import FINAL_ROLES, Board, Status, StatusChange, StatusRole

MIN_DURATION_MINUTES, MAX_DURATION_MINUTES = 5, 24 * 60
MAX_REMINDER_HOURS = 7 * 24


class CallCategory(models.TextChoices):
    SALES_CALL = "SALES_CALL", "Sales call"
    COACHING_CALL = "COACHING_CALL", "Coaching call"
    TRIAGE_CALL = "TRIAGE_CALL", "Triage call"


class Provider(models.TextChoices):
    SCHEDULER_A = "SCHEDULER_A", "Scheduler A"
    SCHEDULER_B = "SCHEDULER_B", "Scheduler B"
    SCHEDULER_C = "SCHEDULER_C", "Scheduler C"


class AppointmentSource(models.TextChoices):
    """The system that manages an appointment: a scheduler, or MANUAL for the API and the admin."""

    SCHEDULER_A = "SCHEDULER_A", "Scheduler A"
    SCHEDULER_B = "SCHEDULER_B", "Scheduler B"
    SCHEDULER_C = "SCHEDULER_C", "Scheduler C"
    MANUAL = "MANUAL", "Manual"


class RescheduledBy(models.TextChoices):
    LEAD = "LEAD", "Lead"
    HOST = "HOST", "Host"


class CanceledBy(models.TextChoices):
    LEAD = "LEAD", "Lead"
    HOST = "HOST", "Host"
    SYSTEM = "SYSTEM", "System"


class EventType(NamedModel):
    call_category = models.CharField(max_length=20, choices=CallCategory.choices, default=CallCategory.SALES_CALL)
    # The API shows null for an event type that no scheduler manages.
    provider = models.CharField(max_length=20, choices=Provider.choices, null=True, blank=True)
    owner_name = models.CharField("owner at the provider", max_length=255, null=True, blank=True)
    duration_minutes = models.PositiveSmallIntegerField(
        "duration in minutes",
        default=60,
        db_default=60,
        validators=[MinValueValidator(MIN_DURATION_MINUTES), MaxValueValidator(MAX_DURATION_MINUTES)],
        help_text="How long the entry in calendars is. Entries that were sent already keep their length.",
    )
    reminder_hours = models.PositiveSmallIntegerField(
        "reminder, hours before",
        default=0,
        db_default=0,
        validators=[MaxValueValidator(MAX_REMINDER_HOURS)],
        help_text="When leads get the reminder, if Messages to leads has one. 0 for none. Counts for calls that are "
        "booked or moved from now on.",
    )
    updated_at = MillisecondDateTimeField(default=now, db_default=Now(), editable=False)

    class Meta(NamedModel.Meta):
        constraints = [
            UniqueConstraint("organization", Lower("name"), name="one_event_type_per_name"),
            UniqueConstraint("organization", "name_key", name="one_event_type_per_name_key"),
            models.CheckConstraint(
                condition=models.Q(reminder_hours__lte=MAX_REMINDER_HOURS), name="reminder_is_at_most_168_hours_before"
            ),
        ]


class AppointmentQuerySet(TenantQuerySet):
    def for_update(self) -> Self:
        """Lock the rows as `LeadQuerySet.for_update` does."""
        return self.select_for_update(no_key=True)

    def upcoming(self, at: datetime | Param | None = None) -> Self:
        return self.filter(schedule_time__gt=at or now(), is_called_off=False).exclude(outcome__role__in=FINAL_ROLES)

    def with_reference(self, reference: str) -> Self:
        """Return the appointments that have the reference, or had it before they got another one."""
        former = self.filter(former_references__external_reference=reference)
        # Both columns, so that the index of former references is used.
        former = former.filter(former_references__organization=F("organization"))
        # A union, because with OR PostgreSQL would read all appointments of the organization.
        found = self.filter(external_reference=reference).values("pk").union(former.values("pk"))
        return self.filter(pk__in=found)


# Pages of many rows don't read these: one lead's custom values are up to 64 kB, repeated in each of its appointments.
LONG_COLUMNS = ("custom_values", "lead__custom_values", *UTM_FIELDS)


class Appointment(VersionedModel, Traffic):
    """A booked meeting with a lead. UTM fields and sources are copied at booking and never change."""

    lead = TenantForeignKey(Lead, on_delete=models.PROTECT, related_name="appointments", db_index=False)
    event_type = TenantForeignKey(
        EventType, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    schedule_time = MillisecondDateTimeField()
    # The time first booked under its present reference, set by the first move: an API retry is still recognized.
    booked_for = MillisecondDateTimeField(null=True, editable=False)
    # The time first booked under its first reference. Null if it still has that one.
    first_booked_for = MillisecondDateTimeField(null=True, editable=False)
    call_category = models.CharField(max_length=20, choices=CallCategory.choices, default=CallCategory.SALES_CALL)
    host = TenantForeignKey(
        Membership, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    setter = TenantForeignKey(
        Membership, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    triager = TenantForeignKey(
        Membership, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    meeting_url = models.CharField("meeting URL", max_length=2048, null=True, blank=True)  # the API shows null
    recording_url = models.CharField("recording URL", max_length=2048, null=True, blank=True)
    outcome = TenantForeignKey(Status, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    no_show = models.BooleanField("no-show", default=False, editable=False)
    source = models.CharField(
        max_length=20, choices=AppointmentSource.choices, default=AppointmentSource.MANUAL, editable=False
    )
    external_reference = models.CharField(max_length=255, null=True, blank=True, editable=False)
    first_source = TenantForeignKey(Source, on_delete=models.PROTECT, related_name="+", editable=False, db_index=False)
    last_source = TenantForeignKey(Source, on_delete=models.PROTECT, related_name="+", editable=False, db_index=False)
    custom_values = models.JSONField(default=dict, blank=True, editable=False)
    invitation_sequence = models.PositiveIntegerField(default=0, editable=False)
    # The scheduler's last state that was applied, and when the scheduler changed it.
    synced_role = models.CharField(max_length=20, choices=StatusRole.choices, null=True, editable=False)
    synced_at = MillisecondDateTimeField(null=True, editable=False)
    synced_hash = models.BigIntegerField(null=True, editable=False)  # of what that state said
    # As the booking gave it; without it the event type's counts.
    own_duration_minutes = models.PositiveSmallIntegerField(null=True, editable=False)
    # The members whose calendars have an entry. Null counts as none.
    invited = ArrayField(models.UUIDField(), null=True, editable=False)
    # The UID's second half. Appointments that version 0.2 has booked have the host of BASE_URL there.
    calendar_domain = models.CharField(max_length=255, default="pipeline-backend", editable=False)
    # When the lead gets a reminder. Null if none is to come.
    lead_reminder_at = MillisecondDateTimeField(null=True, editable=False)
    # When the appointment got its outcome. A trigger keeps it (appointments/migrations/0024_outcome_since.py).
    outcome_since = MillisecondDateTimeField(null=True, editable=False)
    # Canceled, and not booked again since, whatever outcome it got then. Triggers keep it (0036_called_off.py).
    is_called_off = models.BooleanField(default=False, db_default=False, editable=False)

    trigger_columns = {"outcome_id": ("outcome_since", "is_called_off")}
    unversioned = (
        "booked_for",
        "first_booked_for",
        "own_duration_minutes",
        "invitation_sequence",
        "invited",
        "calendar_domain",
        "synced_role",
        "synced_at",
        "synced_hash",
        "lead_reminder_at",
        "outcome_since",
        "is_called_off",
    )

    objects: ClassVar[Any] = tenant_manager(AppointmentQuerySet)
    unscoped: ClassVar[Any] = AppointmentQuerySet.as_manager()

    class Meta(VersionedModel.Meta):
        ordering = ["-schedule_time", "-id"]
        constraints = [
            UniqueConstraint(
                "organization", "source", "external_reference", name="one_appointment_per_reference_and_source"
            )
        ]
        indexes = [
            models.Index(fields=["organization", "-created_at", "-id"], name="appointment_newest"),
            # A filtered list is sorted by created_at; including it here allows an index-only scan.
            models.Index(
                fields=["organization", "-updated_at", "-id"],
                include=["created_at"],
                name="appointment_updated_covering",
            ),
            models.Index(
                fields=["organization", "-schedule_time", "-id"],
                # For a category, or the day since when a row has its outcome, the table's rows would be read.
                include=["created_at", "call_category", "outcome_since"],
                name="appointment_scheduled_covering",
            ),
            models.Index(fields=["lead", "-schedule_time"], name="appointment_of_lead"),
            models.Index(
                fields=["organization", "host", "-created_at", "-id"],
                include=["schedule_time", "call_category", "outcome"],
                name="appointment_host_covering",
            ),
            models.Index(fields=["organization", "setter", "-created_at", "-id"], name="appointment_setter"),
            models.Index(fields=["organization", "triager", "-created_at", "-id"], name="appointment_triager"),
            models.Index(fields=["organization", "outcome", "-created_at", "-id"], name="appointment_outcome"),
            models.Index(fields=["organization", "call_category", "-created_at", "-id"], name="appointment_category"),
            models.Index(fields=["organization", "event_type", "-created_at", "-id"], name="appointment_event_type"),
            # For a column of the board, in either order.
            models.Index(fields=["organization", "outcome", "-schedule_time", "-id"], name="appointment_board"),
            models.Index(fields=["organization", "-outcome_since", "-id"], name="appointment_outcome_since"),
            # For a filter of the list by a custom field's value, through a function of the tables' owner.
            GinIndex(
                fields=["custom_values"],
                opclasses=["jsonb_path_ops"],
                gin_pending_list_limit=512,
                name="appointment_custom_values",
            ),
            # For the task that looks for reminders that are due.
            models.Index(
                fields=["organization", "lead_reminder_at"],
                condition=models.Q(lead_reminder_at__isnull=False),
                name="appointment_reminder",
            ),
        ]

    @cached_property
    def outcome_choices(self) -> list[Status]:
        return list(Status.objects.of(self.organization).choices(Board.APPOINTMENT, current=self.outcome_id))

    @cached_property
    def lead_status_choices(self) -> list[Status]:
        board = Status.objects.of(self.organization).choices(Board.LEAD, current=None)
        return list(board.exclude(pk=self.lead.status_id))

    @property
    def participant_ids(self) -> set[UUID]:
        return {id for id in (self.host_id, self.setter_id, self.triager_id) if id is not None}

    @property
    def state(self) -> str:
        """Return what identifies the outcome and the time, for forms that change them."""
        return f"{self.outcome_id} {self.schedule_time.timestamp()}"

    @property
    def is_scheduled_elsewhere(self) -> bool:
        """Return whether a scheduler manages it, which sends its own entries for calendars."""
        return self.source != AppointmentSource.MANUAL

    @property
    def duration_minutes(self) -> int:
        return self.own_duration_minutes or (self.event_type.duration_minutes if self.event_type else 60)

    @property
    def ends_at(self) -> datetime:
        return self.schedule_time.astimezone(UTC) + timedelta(minutes=self.duration_minutes)

    @property
    def is_over(self) -> bool:
        return self.ends_at < now()

    def __str__(self) -> str:
        return f"{self.lead}, {date_format(timezone.localtime(self.schedule_time), 'DATETIME_FORMAT')}"


class FormerReference(TenantModel):
    """A reference that an appointment had before it was moved under another one; it still leads to the appointment.

    A trigger keeps other appointments from getting it, as the constraint of appointments does for present references.
    """

    appointment = TenantForeignKey(Appointment, on_delete=models.CASCADE, related_name="former_references")
    source = models.CharField(max_length=20, choices=AppointmentSource.choices, editable=False)
    external_reference = models.CharField(max_length=255, editable=False)
    # The time that this reference was booked for, so that an API retry is still recognized.
    booked_for = MillisecondDateTimeField(editable=False)

    class Meta(TenantModel.Meta):
        constraints = [
            UniqueConstraint("organization", "source", "external_reference", name="one_former_reference_per_source")
        ]

    def __str__(self) -> str:
        return self.external_reference


class RememberedCancellation(TenantModel, ActorFields):
    """A cancellation that came before the booking of its reference, which it then cancels (docs/interface.md, A61)."""

    KEPT = timedelta(hours=24)  # a trigger on appointments has the same number

    external_reference = models.CharField(max_length=255, editable=False)
    notes = models.TextField(editable=False)
    canceled_by = models.CharField(max_length=20, null=True, choices=CanceledBy.choices, editable=False)
    reason = models.TextField(null=True, editable=False)
    rescheduled_to = models.CharField(max_length=255, null=True, editable=False)

    class Meta(TenantModel.Meta):
        constraints = [
            UniqueConstraint(fields=["organization", "external_reference"], name="one_remembered_cancellation")
        ]
        indexes = [models.Index(fields=["organization", "created_at"], name="remembered_oldest")]

    def __str__(self) -> str:
        return self.external_reference


class OutcomeChange(StatusChange):
    appointment = TenantForeignKey(
        Appointment, on_delete=models.CASCADE, related_name="outcome_changes", db_index=False
    )

    class Meta(StatusChange.Meta):
        indexes = [models.Index(fields=["appointment", "-created_at"], name="appointment_history")]


class AppointmentChange(Change):
    appointment = TenantForeignKey(Appointment, on_delete=models.CASCADE, related_name="changes", db_index=False)

    class Meta(Change.Meta):
        indexes = [models.Index(fields=["appointment", "-created_at", "-id"], name="appointment_change_newest")]


class Note(EditableNote):
    appointment = TenantForeignKey(Appointment, on_delete=models.CASCADE, related_name="notes", db_index=False)
    mention_users = models.ManyToManyField(Membership, blank=True, related_name="mentioned_in", verbose_name="mentions")

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["appointment", "-created_at", "-id"], name="note_newest"),
            models.Index(fields=["appointment", "-created_at"], condition=models.Q(is_pinned=True), name="note_pinned"),
        ]

    def __str__(self) -> str:
        return self.note[:80]


class DeletedNote(TenantModel):
    """The id of a deleted note, kept as in `leads.models.DeletedLeadNote`."""

    appointment = TenantForeignKey(Appointment, on_delete=models.CASCADE, related_name="deleted_notes")

    def __str__(self) -> str:
        return str(self.pk)


class CallAnalysis(TenantModel):
    appointment = models.OneToOneField(
        Appointment, on_delete=models.CASCADE, related_name="call_analysis", db_constraint=False
    )
    call_analysis_call_id = models.CharField("call ID", max_length=255)
    ai_generated_title = models.CharField("title", max_length=255)
    ai_rationale = models.TextField("rationale", max_length=10_000)
    ai_suggested_outcome = models.CharField("suggested outcome", max_length=255)
    ai_confidence_score = models.FloatField("confidence", validators=[MinValueValidator(0), MaxValueValidator(1)])

    class Meta(TenantModel.Meta):
        verbose_name_plural = "call analyses"
        indexes = [models.Index(fields=["organization", "call_analysis_call_id"], name="analysis_of_call")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ai_confidence_score__gte=0, ai_confidence_score__lte=1),
                name="confidence_is_from_0_to_1",
            )
        ]

    def __str__(self) -> str:
        return self.ai_generated_title


class DayCount(TenantModel):
    """The numbers of an organization's appointments on a day, by a value (`appointments.day_counts`)."""

    id = None  # type: ignore[assignment]  # a number, which the database sets
    # CASCADE, unlike other tenant rows: counts alone must not keep an organization from being deleted.
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField(editable=False)  # in UTC
    dimension = models.CharField(max_length=20, editable=False)
    key = models.TextField(null=True, editable=False)
    appointments = models.PositiveIntegerField(default=0, editable=False)
    shown = models.PositiveIntegerField(default=0, editable=False)
    no_show = models.PositiveIntegerField(default=0, editable=False)
    canceled = models.PositiveIntegerField(default=0, editable=False)
    won = models.PositiveIntegerField(default=0, editable=False)
    lost = models.PositiveIntegerField(default=0, editable=False)
    booked = models.PositiveIntegerField(default=0, editable=False)

    class Meta(TenantModel.Meta):
        # The key is at the end for the trigger that deletes a campaign, whatever others the day has.
        indexes = [models.Index(fields=["organization", "dimension", "day", "key"], name="day_count_of_dimension")]

    def __str__(self) -> str:
        return f"{self.day}, {self.dimension} {self.key}"


class ChangedDay(TenantModel):
    """A day whose `DayCount` rows don't count until the task has counted anew. Triggers write it; null is every day."""

    id = None  # type: ignore[assignment]  # as above
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField(null=True, editable=False)

    class Meta(TenantModel.Meta):
        indexes = [models.Index(fields=["organization", "day"], name="changed_day")]

    def __str__(self) -> str:
        return f"{self.day or 'every day'}"


class ChangedLead(TenantModel):
    """A lead whose opt-ins may have a wrong `booked_at` until the task stores it. Triggers write these rows."""

    id = None  # type: ignore[assignment]  # as above
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    lead_id = models.UUIDField(editable=False)  # may be gone

    class Meta(TenantModel.Meta):
        indexes = [models.Index(fields=["organization", "lead_id"], name="changed_lead")]

    def __str__(self) -> str:
        return str(self.lead_id)
