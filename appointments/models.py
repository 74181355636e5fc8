"""Appointments: booked sales calls, their types, notes and analyses (interface 2.1, 2.4 to 2.7)."""

from datetime import datetime
from typing import Any, ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import UniqueConstraint
from django.db.models.functions import Lower
from uuid_utils.compat import uuid7

from leads.models import Lead, Source
from optins.models import Traffic
from organizations.actors import ActorFields
from organizations.isolation import TenantModel, TenantQuerySet, tenant_manager
from organizations.models import Membership
from pipeline_backend.db.compiled import Param, as_expression
from pipeline_backend.db.timestamps import MillisecondDateTimeField, now
from statuses.models import Role, Status, StatusChange


class CallCategory(models.TextChoices):
    """What a call is for (interface 2.9)."""

    SALES_CALL = "SALES_CALL", "Sales call"
    COACHING_CALL = "COACHING_CALL", "Coaching call"
    TRIAGE_CALL = "TRIAGE_CALL", "Triage call"


class Provider(models.TextChoices):
    """Booking providers."""

    SCHEDULER_A = "SCHEDULER_A", "Scheduler A"
    SCHEDULER_B = "SCHEDULER_B", "Scheduler B"
    SCHEDULER_C = "SCHEDULER_C", "Scheduler C"


class AppointmentSource(models.TextChoices):
    """Who manages an appointment; MANUAL means this interface (interface 2.9)."""

    SCHEDULER_A = "SCHEDULER_A", "Scheduler A"
    SCHEDULER_B = "SCHEDULER_B", "Scheduler B"
    SCHEDULER_C = "SCHEDULER_C", "Scheduler C"
    MANUAL = "MANUAL", "Manual"


class EventTypeQuerySet(TenantQuerySet):
    """Reads of event types."""

    def with_name(self, name: str | Param) -> Any:
        """The one of this name in any letter case."""
        return self.alias(folded=Lower("name")).filter(folded=Lower(as_expression(name)))


class EventType(TenantModel):
    """A kind of call that can be booked (interface 2.4, decision 25)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=255)
    call_category = models.CharField(max_length=20, choices=CallCategory.choices, default=CallCategory.SALES_CALL)
    provider = models.CharField(
        max_length=20, choices=Provider.choices, null=True, blank=True
    )  # the interface shows null
    owner_name = models.CharField("owner at the provider", max_length=255, null=True, blank=True)

    objects: ClassVar[Any] = tenant_manager(EventTypeQuerySet)
    unscoped: ClassVar[Any] = EventTypeQuerySet.as_manager()

    class Meta(TenantModel.Meta):
        ordering = ["name"]
        constraints = [UniqueConstraint("organization", Lower("name"), name="one_event_type_per_name")]

    def __str__(self) -> str:
        return self.name


class AppointmentQuerySet(TenantQuerySet):
    """Reads of appointments."""

    def manual(self) -> "AppointmentQuerySet":
        """Those that this interface manages."""
        return self.filter(source=AppointmentSource.MANUAL)

    def for_update(self) -> Any:
        """For a change, as leads are locked."""
        return self.select_for_update(no_key=True)

    def upcoming(self, since: datetime | Param | None = None) -> "AppointmentQuerySet":
        """Still to come (now, or then), and not canceled."""
        return self.filter(schedule_time__gt=since or now()).exclude(outcome__role=Role.CANCELED)


class Appointment(TenantModel, Traffic):
    """A call with a lead. UTM fields and sources are as they were when it was booked."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    lead = models.ForeignKey(Lead, on_delete=models.PROTECT, related_name="appointments", db_index=False)
    event_type = models.ForeignKey(EventType, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    schedule_time = MillisecondDateTimeField()
    call_category = models.CharField(max_length=20, choices=CallCategory.choices, default=CallCategory.SALES_CALL)
    host = models.ForeignKey(
        Membership, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    setter = models.ForeignKey(
        Membership, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    triager = models.ForeignKey(
        Membership, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    meeting_url = models.CharField("meeting URL", max_length=2048, null=True, blank=True)  # the interface shows null
    recording_url = models.CharField("recording URL", max_length=2048, null=True, blank=True)
    outcome = models.ForeignKey(Status, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    no_show = models.BooleanField("no-show", default=False, editable=False)
    source = models.CharField(
        max_length=20, choices=AppointmentSource.choices, default=AppointmentSource.MANUAL, editable=False
    )
    external_reference = models.CharField(max_length=255, null=True, blank=True, editable=False)
    first_source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="+", editable=False, db_index=False)
    last_source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="+", editable=False, db_index=False)
    custom_values = models.JSONField(default=dict, blank=True, editable=False)
    invitation_sequence = models.PositiveIntegerField(default=0, editable=False)
    updated_at = MillisecondDateTimeField(default=now, editable=False)

    objects: ClassVar[Any] = tenant_manager(AppointmentQuerySet)
    unscoped: ClassVar[Any] = AppointmentQuerySet.as_manager()

    class Meta(TenantModel.Meta):
        ordering = ["-schedule_time", "-id"]
        constraints = [
            UniqueConstraint(
                "organization", "source", "external_reference", name="one_appointment_per_reference_and_source"
            )
        ]
        indexes = [
            models.Index(fields=["organization", "-created_at", "-id"], name="appointment_newest"),
            # Pages of a range are sorted by created_at: with it in the index, nothing else is read.
            models.Index(
                fields=["organization", "-updated_at", "-id"],
                include=["created_at"],
                name="appointment_updated_covering",
            ),
            models.Index(
                fields=["organization", "-schedule_time", "-id"],
                include=["created_at"],
                name="appointment_scheduled_covering",
            ),
            models.Index(fields=["lead", "-schedule_time"], name="appointment_of_lead"),
            models.Index(fields=["organization", "host", "-created_at", "-id"], name="appointment_host"),
            models.Index(fields=["organization", "setter", "-created_at", "-id"], name="appointment_setter"),
            models.Index(fields=["organization", "triager", "-created_at", "-id"], name="appointment_triager"),
            models.Index(fields=["organization", "outcome", "-created_at", "-id"], name="appointment_outcome"),
            models.Index(fields=["organization", "call_category", "-created_at", "-id"], name="appointment_category"),
        ]

    def __str__(self) -> str:
        return f"{self.lead}, {self.schedule_time:%d %b %Y %H:%M} UTC"


class OutcomeChange(StatusChange):
    """A move of an appointment on its board."""

    appointment = models.ForeignKey(
        Appointment, on_delete=models.CASCADE, related_name="outcome_changes", db_index=False
    )

    class Meta(StatusChange.Meta):
        indexes = [models.Index(fields=["appointment", "-created_at"], name="appointment_history")]


class Note(TenantModel, ActorFields):
    """Free text on an appointment; the newest is shown in lists (interface 2.6)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    appointment = models.ForeignKey(Appointment, on_delete=models.CASCADE, related_name="notes", db_index=False)
    note = models.TextField(max_length=10_000)
    mention_users = models.ManyToManyField(Membership, blank=True, related_name="mentioned_in", verbose_name="mentions")

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["appointment", "-created_at", "-id"], name="note_newest")]

    def __str__(self) -> str:
        return self.note[:80]


class CallAnalysis(TenantModel):
    """What the analysis platform made of the call (interface 2.7)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    appointment = models.OneToOneField(Appointment, on_delete=models.CASCADE, related_name="call_analysis")
    call_analysis_call_id = models.CharField("call ID", max_length=255)
    ai_generated_title = models.CharField("title", max_length=255)
    ai_rationale = models.TextField("rationale", max_length=10_000)
    ai_suggested_outcome = models.CharField("suggested outcome", max_length=255)
    ai_confidence_score = models.FloatField("confidence", validators=[MinValueValidator(0), MaxValueValidator(1)])

    class Meta(TenantModel.Meta):
        verbose_name_plural = "call analyses"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ai_confidence_score__gte=0, ai_confidence_score__lte=1),
                name="confidence_is_from_0_to_1",
            )
        ]

    def __str__(self) -> str:
        return self.ai_generated_title
