"""The statuses of an organization, and the base of status histories (docs/interface.md, S1 to S3)."""

from typing import Any, ClassVar
from uuid import UUID

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q, UniqueConstraint

from foundation.db.names import by_name
from foundation.db.timestamps import MillisecondDateTimeField, now
from organizations.actors import ActorFields
from organizations.isolation import TenantForeignKey, TenantModel, TenantQuerySet, tenant_manager


class StatusRole(models.TextChoices):
    """The meaning of a status, independent of its name."""

    NEW_LEAD = "NEW_LEAD", "New lead"
    APPOINTMENT_BOOKED = "APPOINTMENT_BOOKED", "Appointment booked"
    NO_SHOW = "NO_SHOW", "No-show"
    RESCHEDULED = "RESCHEDULED", "Rescheduled"
    CANCELED = "CANCELED", "Canceled"
    PARTIAL_PAYMENT = "PARTIAL_PAYMENT", "Partial payment"
    WON = "WON", "Won"
    UNQUALIFIED = "UNQUALIFIED", "Unqualified"
    FOLLOW_UP = "FOLLOW_UP", "Follow-up"
    LOST = "LOST", "Lost"


class BoardScope(models.TextChoices):
    LEAD = "LEAD", "Lead board"
    APPOINTMENT = "APPOINTMENT", "Appointment board"
    BOTH = "BOTH", "Both boards"


class Board(models.TextChoices):
    LEAD = "LEAD", "Lead board"
    APPOINTMENT = "APPOINTMENT", "Appointment board"


# Roles that automatic changes set. Each needs a default status on each board at any time.
AUTOMATIC_ROLES = [StatusRole.NEW_LEAD, StatusRole.APPOINTMENT_BOOKED, StatusRole.CANCELED]
PAID_ROLES = [StatusRole.WON, StatusRole.PARTIAL_PAYMENT]
# Of outcomes that say how a call went: the lead moves with them.
RESULT_ROLES = [*PAID_ROLES, StatusRole.NO_SHOW, StatusRole.UNQUALIFIED, StatusRole.FOLLOW_UP, StatusRole.LOST]
# Outcomes after which an appointment no longer takes place.
FINAL_ROLES = [*PAID_ROLES, StatusRole.LOST, StatusRole.UNQUALIFIED, StatusRole.NO_SHOW, StatusRole.CANCELED]
# Judgments of people about a lead, which a cancellation does not overwrite.
VERDICT_ROLES = [StatusRole.UNQUALIFIED, StatusRole.LOST, StatusRole.FOLLOW_UP, StatusRole.NO_SHOW]

BY_NAME = by_name("name")
MIN_CONTRAST = 4.5  # of text on its background, to 1 (WCAG AA)
validate_hex_color = RegexValidator(r"^#[0-9a-fA-F]{6}\Z", "must be a color such as #1d4ed8")


class StatusQuerySet(TenantQuerySet):
    def on_board(self, board: str) -> "StatusQuerySet":
        return self.filter(type__in=[board, BoardScope.BOTH])

    def choices(self, board: str, *, current: UUID | None) -> "StatusQuerySet":
        """Return the board's active statuses and the current one, which may be retired or have left the board."""
        return self.filter(Q(type__in=[board, BoardScope.BOTH], is_active=True) | Q(pk=current))


class Status(TenantModel):
    name = models.CharField(max_length=255)
    role = models.CharField(max_length=20, choices=StatusRole.choices)
    type = models.CharField("board", max_length=12, choices=BoardScope.choices, default=BoardScope.BOTH)
    description = models.TextField(max_length=10_000, blank=True)
    text_color = models.CharField(max_length=7, default="#111827", validators=[validate_hex_color])
    bg_color = models.CharField("background color", max_length=7, default="#e5e7eb", validators=[validate_hex_color])
    is_lead_default = models.BooleanField(
        "default for leads", default=False, help_text="Used when a lead moves to this role automatically."
    )
    is_appointment_default = models.BooleanField(
        "default for appointments",
        default=False,
        help_text="Used when an appointment moves to this role automatically.",
    )
    is_active = models.BooleanField(
        "active",
        default=True,
        db_default=True,
        help_text="A status that is not active can't be chosen. Leads and appointments that have it keep it.",
    )
    position = models.PositiveSmallIntegerField(
        "place on the board",
        default=0,
        db_default=0,
        help_text="Columns with smaller numbers come first; those with the same number in the order of a sale.",
    )
    days_limit = models.PositiveSmallIntegerField(
        "days until it is late",
        null=True,
        blank=True,
        help_text="Boards mark cards that have had the status for more days. Empty: never.",
    )
    updated_at = MillisecondDateTimeField(default=now, editable=False)

    objects: ClassVar[Any] = tenant_manager(StatusQuerySet)
    unscoped: ClassVar[Any] = StatusQuerySet.as_manager()

    class Meta(TenantModel.Meta):
        verbose_name_plural = "statuses"
        ordering = [BY_NAME, "id"]
        indexes = [models.Index(fields=["organization", "role"], name="status_role")]
        constraints = [
            UniqueConstraint(
                fields=["organization", "role"], condition=Q(is_lead_default=True), name="one_lead_default_per_role"
            ),
            UniqueConstraint(
                fields=["organization", "role"],
                condition=Q(is_appointment_default=True),
                name="one_appointment_default_per_role",
            ),
            models.CheckConstraint(
                condition=Q(is_lead_default=False) | ~Q(type="APPOINTMENT"), name="lead_default_is_on_the_lead_board"
            ),
            models.CheckConstraint(
                condition=Q(is_appointment_default=False) | ~Q(type="LEAD"), name="appointment_default_is_on_its_board"
            ),
            models.CheckConstraint(
                condition=Q(is_active=True) | Q(is_lead_default=False, is_appointment_default=False),
                name="default_is_active",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def is_on_board(self, board: str) -> bool:
        return self.type in (board, BoardScope.BOTH)


def readable_colors(status: Status) -> tuple[str, str]:
    """Return text and background color; black or white as text if the chosen one is hard to read."""
    text, background = luminance(status.text_color), luminance(status.bg_color)
    if contrast(text, background) >= MIN_CONTRAST:
        return status.text_color, status.bg_color
    return "#000000" if contrast(0, background) >= contrast(1, background) else "#ffffff", status.bg_color


def luminance(color: str) -> float:
    """Return the relative luminance of a color such as #1d4ed8, from 0 to 1 (WCAG 2.2)."""
    channels = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: float, second: float) -> float:
    return (max(first, second) + 0.05) / (min(first, second) + 0.05)


class StatusChange(TenantModel, ActorFields):
    """Base of the status histories of leads and appointments (docs/interface.md, S12)."""

    from_status = TenantForeignKey(Status, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    to_status = TenantForeignKey(Status, on_delete=models.PROTECT, related_name="+", db_index=False)

    class Meta(TenantModel.Meta):
        abstract = True
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.from_status or 'new'} → {self.to_status}"
