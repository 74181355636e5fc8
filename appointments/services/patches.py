"""The service that changes an appointment through the API."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from appointments.serializers import AppointmentDetailSerializer
from appointments.services.changes import edit_appointment
from appointments.services.notes import lock_appointment
from foundation.api.exceptions import ValidationFailed
from foundation.api.sql_serializers import Json
from foundation.db.retry import atomic_with_retry
from leads.custom_values import merge_custom_values
from leads.models import CustomField
from leads.patches import changed_members
from organizations.actors import Actor
from organizations.models import Organization
from organizations.versions import check_version
from statuses.models import Board, StatusRole
from statuses.services import default_status

UNCHANGED_NAMES = ("status_id", "meeting_url", "recording_url", "call_category")  # as `edit_appointment` has them


@atomic_with_retry
def patch_appointment(
    *,
    organization: Organization,
    actor: Actor,
    appointment_id: UUID,
    version: datetime | None,
    changes: Mapping[str, Any],
) -> Json | None:
    """Change an appointment as `edit_appointment` does, and return it as its detail shows it.

    `changes` has values of `AppointmentUpdateInputSerializer`; None clears one. Raises ResourceNotFound,
    PreconditionFailed unless the appointment has the `version` (None: any), and ValidationFailed. Locks the
    appointment, then its lead.
    """
    stored = lock_appointment(organization, appointment_id)
    check_version(stored, version, AppointmentDetailSerializer)
    values: dict[str, Any] = {name: changes[name] for name in UNCHANGED_NAMES if name in changes}
    if "outcome_role" in changes and "status_id" not in changes:
        values["status_id"] = default_outcome_id(organization, changes["outcome_role"])
    values |= changed_members(stored, ["host", "setter", "triager"], changes)
    if "custom_fields" in changes:
        values["custom_values"] = merge_custom_values(stored, CustomField.Entity.APPOINTMENT, changes["custom_fields"])
    values["notify_lead"] = bool(changes.get("notify_lead"))
    edit_appointment(organization=organization, actor=actor, appointment=stored, **values)
    return AppointmentDetailSerializer.get(organization, stored.pk)


def default_outcome_id(organization: Organization, role: str) -> UUID:
    status = default_status(organization, Board.APPOINTMENT, StatusRole(role))
    if status is None:
        raise ValidationFailed({"outcome_role": ["has no default status on the appointment board"]})
    return status.pk
