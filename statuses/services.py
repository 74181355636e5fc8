"""Default statuses, and changes to an organization's statuses."""

import uuid
from typing import Any

from django.db import transaction
from django.db.models import PROTECT, ForeignObjectRel, ProtectedError

from foundation.api.exceptions import Conflict, ValidationFailed
from foundation.db.compiled import CompiledQuery, Param
from foundation.db.timestamps import now
from organizations.actors import Actor
from organizations.events import event_occurred
from organizations.models import Organization
from organizations.services import check_limit
from statuses.models import AUTOMATIC_ROLES, Board, Status, StatusRole
from statuses.serializers import StatusDetailSerializer

# Text color and background color, with a contrast of at least 4.5 : 1 (WCAG AA).
DEFAULT_COLORS = {
    StatusRole.NEW_LEAD: ("#1e3a8a", "#dbeafe"),
    StatusRole.APPOINTMENT_BOOKED: ("#3730a3", "#e0e7ff"),
    StatusRole.NO_SHOW: ("#7c2d12", "#ffedd5"),
    StatusRole.RESCHEDULED: ("#155e75", "#cffafe"),
    StatusRole.CANCELED: ("#991b1b", "#fee2e2"),
    StatusRole.PARTIAL_PAYMENT: ("#3f6212", "#ecfccb"),
    StatusRole.WON: ("#166534", "#dcfce7"),
    StatusRole.UNQUALIFIED: ("#374151", "#f3f4f6"),
    StatusRole.FOLLOW_UP: ("#6b21a8", "#f3e8ff"),
    StatusRole.LOST: ("#9f1239", "#ffe4e6"),
}
MAX_STATUSES = 200  # of an organization: lists offer them all as a filter, and boards as columns
# The column that marks a status as the default of its role on a board.
DEFAULT_FLAG = {Board.LEAD: "is_lead_default", Board.APPOINTMENT: "is_appointment_default"}


def statuses_with_flag(flag: str) -> CompiledQuery[Status]:
    return CompiledQuery(lambda: Status.objects.of(Param("organization")).filter(**{flag: True}, role=Param("role")))


# Compiled for the benchmarks "create an appointment" and "submit an opt-in".
DEFAULT_STATUS_BY_ROLE = {board: statuses_with_flag(flag) for board, flag in DEFAULT_FLAG.items()}


def seed_defaults(*, organization: Organization) -> None:
    """Create a new organization's ten statuses: one per role, on both boards, each the default of its role."""
    is_default = dict.fromkeys(DEFAULT_FLAG.values(), True)
    Status.unscoped.bulk_create(
        Status(organization=organization, name=role.label, role=role, text_color=text, bg_color=color, **is_default)
        for role, (text, color) in DEFAULT_COLORS.items()
    )


def default_status(organization: Organization, board: Board, role: StatusRole) -> Status | None:
    """Return the board's default status of a role, or None if it has none. Roles that services set always have one."""
    return DEFAULT_STATUS_BY_ROLE[board].first(organization=organization.pk, role=role.value)


def get_board_status(
    organization: Organization, board: Board, status_id: uuid.UUID, *, current: uuid.UUID | None
) -> Status:
    """Return the status to set by hand. Raises ValidationFailed if it is unknown, not on the board, or retired.

    `current` is the status to replace: it may be set again even if it has been retired or has left the board since.
    """
    status: Status | None = Status.objects.of(organization).filter(pk=status_id).first()
    if status is None:
        raise ValidationFailed({"status_id": ["is not known in the organization"]})
    if status.pk == current:
        return status
    if not status.is_on_board(board):
        raise ValidationFailed({"status_id": [f"must be a status of the {board.label.lower()}"]})
    if not status.is_active:
        raise ValidationFailed({"status_id": ["is retired: choose an active status"]})
    return status


@transaction.atomic
def save_status(*, organization: Organization, actor: Actor, status: Status) -> Status:
    """Store a status and record the event. As the default of its role, it replaces the previous default.

    Locks the stored status, for a new one the organization. Raises Conflict if automatic changes would be left without
    a default, if the status is in use and would begin or cease to say that a call is canceled or missed, or if there
    are `MAX_STATUSES`.
    """
    if status._state.adding:
        rows, advice = Status.objects.of(organization), "Delete one that is not used first."
        check_limit(organization=organization, rows=rows, limit=MAX_STATUSES, name="statuses", advice=advice)
    # Before the save, because a unique constraint allows one default for each role and board.
    for flag in DEFAULT_FLAG.values():
        if getattr(status, flag):
            others = Status.objects.of(organization).filter(**{flag: True}, role=status.role).exclude(pk=status.pk)
            others.update(**{flag: False})
    stored = Status.objects.of(organization).select_for_update().filter(pk=status.pk).first()
    if stored:
        ensure_required_defaults(stored, status)
        ensure_role_can_change(stored, status)
    before = StatusDetailSerializer.get_text(organization, status.pk)
    status.organization = organization
    status.updated_at = now()
    status.save()
    topic = "status.updated" if before else "status.created"
    event_occurred.send(None, topic=topic, subject=status, actor=actor, before=before)
    return status


@transaction.atomic
def delete_status(*, organization: Organization, actor: Actor, status: Status) -> None:
    """Delete a status, as an event. Raises Conflict if automatic changes need it, or if anything refers to it."""
    stored = Status.objects.of(organization).select_for_update().filter(pk=status.pk).first()
    if stored is None:
        return  # someone else has just deleted it
    ensure_required_defaults(stored, None)
    problem = f"{status.name} is used by a lead, an appointment or their history. Rename it instead of deleting it."
    # Asked first, because `delete` would load all rows that use it.
    if is_in_use(stored):
        raise Conflict(problem)
    event_occurred.send(None, topic="status.deleted", subject=status, actor=actor)
    try:
        status.delete()
    except ProtectedError:
        raise Conflict(problem) from None


def ensure_role_can_change(before: Status, after: Status) -> None:
    """Raise Conflict if the new role would cancel appointments with this status, mark them as missed, or the reverse.

    What follows from that is stored with them: `no_show`, the meeting link, and the next touch point of their leads.
    """
    roles = {before.role, after.role}
    if len(roles) > 1 and roles & {StatusRole.CANCELED, StatusRole.NO_SHOW} and is_in_use(before):
        change = f"from {StatusRole(before.role).label} to {StatusRole(after.role).label}"
        advice = "Add another status instead, and retire this one."
        raise Conflict(f"{before.name} is in use, so its role can't change {change}. {advice}")


def is_in_use(status: Status) -> bool:
    return any(is_used(status, relation) for relation in Status._meta.get_fields(include_hidden=True))


def is_used(status: Status, relation: object) -> bool:
    """Return whether a row that protects the status refers to it by this relation."""
    if not isinstance(relation, ForeignObjectRel) or relation.on_delete is not PROTECT:
        return False
    model: Any = relation.related_model
    return bool(model.objects.of(status.organization).filter(**{relation.field.name: status.pk}).exists())


def ensure_required_defaults(before: Status, after: Status | None) -> None:
    """Raise Conflict if the change (None: deletion) takes away a default that automatic changes need."""
    if before.role not in AUTOMATIC_ROLES:
        return
    for board, flag in DEFAULT_FLAG.items():
        if not getattr(before, flag):
            continue
        if not (after and after.role == before.role and getattr(after, flag) and after.is_on_board(board)):
            use = f"the default for automatic changes to {StatusRole(before.role).label} on the {board.label.lower()}"
            raise Conflict(f"{before.name} is {use}. Make another status the default first.")
