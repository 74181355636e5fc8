"""Leads: the people an organization sells to; where they came from; what else an organization notes about them."""

from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Func, UniqueConstraint
from django.db.models.functions import Lower
from uuid_utils.compat import uuid7

from organizations.isolation import TenantModel, TenantQuerySet, tenant_manager
from organizations.models import Membership
from pipeline_backend.db.compiled import Param, as_expression
from pipeline_backend.db.timestamps import MillisecondDateTimeField, now
from statuses.models import Status, StatusChange


class TouchPointType(models.TextChoices):
    """How the lead is to be touched next (decision 16)."""

    APPOINTMENT = "APPOINTMENT", "Appointment"
    CALL = "CALL", "Call"
    EMAIL = "EMAIL", "E-mail"
    SMS = "SMS", "SMS"
    FOLLOW_UP = "FOLLOW_UP", "Follow-up"
    OTHER = "OTHER", "Other"


class SourceQuerySet(TenantQuerySet):
    """Reads of sources."""

    def with_name(self, name: str | Param) -> Any:
        """The source of this name in any letter case."""
        return self.alias(folded=Lower("name")).filter(folded=Lower(as_expression(name)))


class Source(TenantModel):
    """Where leads come from: a named row, made on first use (decision 17)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=255)

    objects: ClassVar[Any] = tenant_manager(SourceQuerySet)
    unscoped: ClassVar[Any] = SourceQuerySet.as_manager()

    class Meta(TenantModel.Meta):
        ordering = ["name"]
        constraints = [UniqueConstraint("organization", Lower("name"), name="one_source_per_name")]

    def __str__(self) -> str:
        return self.name


class LeadQuerySet(TenantQuerySet):
    """Reads of leads."""

    def with_email(self, organization: Any, email: str | Param) -> Any:
        """The organization's lead of this e-mail in any letter case; found by the function, which may use the index behind the wall."""
        found = Func(
            as_expression(organization),
            as_expression(email),
            function="leads_with_email",
            output_field=models.UUIDField(),
        )
        return self.alias(folded=Lower("email")).filter(pk=found, folded=Lower(as_expression(email)))

    def for_update(self) -> Any:
        """For a change: nobody else changes the row until the transaction ends.

        Without joins: after a wait for the lock PostgreSQL reads the row anew, but not what was joined to it.
        """
        return self.select_for_update(no_key=True)


class Lead(TenantModel):
    """A person, known by e-mail; one per organization and e-mail (decision 13)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    email = models.EmailField()
    first_name = models.CharField(max_length=255, blank=True)
    last_name = models.CharField(max_length=255, blank=True)
    phone_e164 = models.CharField("phone", max_length=16, null=True, blank=True)  # the interface shows null
    phone_country = models.CharField(max_length=2, null=True, blank=True, editable=False)
    status = models.ForeignKey(Status, on_delete=models.PROTECT, related_name="+", db_index=False)
    setter = models.ForeignKey(
        Membership, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    first_source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="+", editable=False, db_index=False)
    last_source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="+", editable=False, db_index=False)
    next_touch_point_at = MillisecondDateTimeField(null=True, blank=True)
    next_touch_point_type = models.CharField(max_length=12, choices=TouchPointType.choices, null=True, blank=True)
    custom_values = models.JSONField(default=dict, blank=True, editable=False)
    updated_at = MillisecondDateTimeField(default=now, editable=False)

    objects: ClassVar[Any] = tenant_manager(LeadQuerySet)
    unscoped: ClassVar[Any] = LeadQuerySet.as_manager()

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        constraints = [UniqueConstraint("organization", Lower("email"), name="one_lead_per_email")]
        indexes = [
            models.Index(fields=["organization", "-created_at", "-id"], name="lead_newest"),
            # Pages of a range are sorted by created_at: with it in the index, nothing else is read.
            models.Index(
                fields=["organization", "-updated_at", "-id"], include=["created_at"], name="lead_updated_covering"
            ),
            models.Index(fields=["organization", "status", "-created_at", "-id"], name="lead_status"),
            models.Index(fields=["organization", "setter", "-created_at", "-id"], name="lead_setter"),
        ]

    def __str__(self) -> str:
        return f"{self.first_name} {self.last_name}".strip() or self.email


class LeadStatusChange(StatusChange):
    """A move of a lead on its board."""

    lead = models.ForeignKey(Lead, on_delete=models.CASCADE, related_name="status_changes", db_index=False)

    class Meta(StatusChange.Meta):
        verbose_name = "status change"
        indexes = [models.Index(fields=["lead", "-created_at"], name="lead_history")]


class CustomField(TenantModel):
    """A column that an organization adds to its leads or appointments (decision 27)."""

    class Entity(models.TextChoices):
        """What has the field."""

        LEAD = "LEAD", "Leads"
        APPOINTMENT = "APPOINTMENT", "Appointments"

    class Type(models.TextChoices):
        """What its values are in JSON: string, number, boolean, YYYY-MM-DD, one of the options."""

        TEXT = "TEXT", "Text"
        NUMBER = "NUMBER", "Number"
        BOOLEAN = "BOOLEAN", "Yes or no"
        DATE = "DATE", "Date"
        SELECT = "SELECT", "Choice"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    entity = models.CharField("belongs to", max_length=12, choices=Entity.choices)
    key = models.CharField(
        max_length=64,
        validators=[RegexValidator(r"^[a-z][a-z0-9_]*\Z", "must be lower-case letters, digits and _")],
        help_text="How integrations know it.",
    )
    label = models.CharField(max_length=255, help_text="How people know it.")
    type = models.CharField(max_length=8, choices=Type.choices, default=Type.TEXT)
    options = ArrayField(
        models.CharField(max_length=255),
        default=list,
        blank=True,
        help_text="For a choice: its options, comma-separated.",
    )
    position = models.PositiveIntegerField(default=0)

    class Meta(TenantModel.Meta):
        ordering = ["entity", "position", "key"]
        constraints = [UniqueConstraint("organization", "entity", "key", name="one_custom_field_per_key")]

    def __str__(self) -> str:
        return self.label
