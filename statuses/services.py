"""What is done to statuses."""

import uuid
from typing import Any

from django.db import transaction
from django.db.models import ProtectedError, Q

from organizations.models import Organization
from pipeline_backend.api.exceptions import Conflict, ValidationFailed
from pipeline_backend.db.compiled import CompiledQuery, Param
from pipeline_backend.db.timestamps import now
from statuses.models import AUTOMATIC_ROLES, Board, Role, Status

# Name, role, text and background color: at least 4.5 : 1 in contrast.
DEFAULT_STATUSES = [
    ("New lead", Role.NEW_LEAD, "#1e3a8a", "#dbeafe"),
    ("Appointment booked", Role.APPOINTMENT_BOOKED, "#3730a3", "#e0e7ff"),
    ("No-show", Role.NO_SHOW, "#7c2d12", "#ffedd5"),
    ("Rescheduled", Role.RESCHEDULED, "#155e75", "#cffafe"),
    ("Canceled", Role.CANCELED, "#991b1b", "#fee2e2"),
    ("Partial payment", Role.PARTIAL_PAYMENT, "#3f6212", "#ecfccb"),
    ("Won", Role.WON, "#166534", "#dcfce7"),
    ("Unqualified", Role.UNQUALIFIED, "#374151", "#f3f4f6"),
    ("Follow-up", Role.FOLLOW_UP, "#6b21a8", "#f3e8ff"),
    ("Lost", Role.LOST, "#9f1239", "#ffe4e6"),
]

DEFAULT_FLAG = {Board.LEAD: "is_lead_default", Board.APPOINTMENT: "is_appointment_default"}
DEFAULT_STATUSES_BY_ROLES: CompiledQuery[Status] = CompiledQuery(
    lambda: Status.objects.of(Param("organization")).filter(
        Q(is_lead_default=True) | Q(is_appointment_default=True), role__any=Param("roles")
    )
)
DEFAULT_STATUS_BY_ROLE: dict[Board, CompiledQuery[Status]] = {
    Board.LEAD: CompiledQuery(
        lambda: Status.objects.of(Param("organization")).filter(is_lead_default=True, role=Param("role"))
    ),
    Board.APPOINTMENT: CompiledQuery(
        lambda: Status.objects.of(Param("organization")).filter(is_appointment_default=True, role=Param("role"))
    ),
}


class RequiredStatus(Conflict):
    """Automatic moves would have nowhere to go."""

    message = "{name} is the default that automatic moves to {role} on the {board} need; make another status the default first"


class StatusInUse(Conflict):
    """Leads, appointments or their histories point at it."""

    message = "{name} is in use or was; move it off the boards' lists by renaming it, or keep it"


def seed_defaults(*, organization: Organization) -> None:
    """A new organization's ten statuses, one per role, on both boards (decision 19)."""
    Status.unscoped.bulk_create(
        Status(
            organization=organization,
            name=name,
            role=role,
            text_color=text,
            bg_color=background,
            is_lead_default=True,
            is_appointment_default=True,
        )
        for name, role, text, background in DEFAULT_STATUSES
    )


def default_statuses(organization: Organization, *wanted: tuple[Board, Role]) -> dict[tuple[Board, Role], Status]:
    """The statuses that automatic moves use, all in one query; a board without a default for a role is left out."""
    rows = DEFAULT_STATUSES_BY_ROLES.all(organization=organization.pk, roles=[role.value for _, role in wanted])
    return {
        (board, role): row
        for board, role in wanted
        for row in rows
        if row.role == role and getattr(row, DEFAULT_FLAG[board])
    }


def get_board_status(organization: Organization, board: Board, status_id: uuid.UUID) -> Status:
    """The status to move to by hand, or 400: unknown, or of the other board."""
    status: Status | None = Status.objects.of(organization).filter(pk=status_id).first()
    if status is None:
        raise ValidationFailed({"status_id": ["is not known in the organization"]})
    if not status.is_on_board(board):
        raise ValidationFailed({"status_id": [f"must be a status of the {board.label.lower()}"]})
    return status


@transaction.atomic
def save_status(*, organization: Organization, status: Status) -> Status:
    """Store a new or changed status; a new default takes the place of the old one of its role."""
    for flag in DEFAULT_FLAG.values():
        rows = Status.objects.of(organization).filter(**{flag: True}).exclude(pk=status.pk)
        if getattr(status, flag):
            rows.filter(role=status.role).update(**{flag: False})
    before = Status.objects.of(organization).select_for_update().filter(pk=status.pk).first()
    if before:
        ensure_required_defaults(before, status)
    status.organization = organization
    status.updated_at = now()
    status.save()
    return status


@transaction.atomic
def delete_status(*, organization: Organization, status: Status) -> None:
    """Delete a status that nothing uses and no automatic move needs."""
    status = Status.objects.of(organization).select_for_update().get(pk=status.pk)
    ensure_required_defaults(status, None)
    try:
        status.delete()
    except ProtectedError:
        raise StatusInUse(name=status.name) from None


def ensure_required_defaults(before: Status, after: Status | None) -> None:
    """Refuse to take away a default that automatic moves need (decision 19)."""
    for board, flag in DEFAULT_FLAG.items():
        was = before.role in AUTOMATIC_ROLES and getattr(before, flag)
        still: Any = after and after.role == before.role and getattr(after, flag) and after.is_on_board(board)
        if was and not still:
            raise RequiredStatus(name=before.name, role=Role(before.role).label, board=board.label.lower())
