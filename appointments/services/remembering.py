"""Cancellations that come before their booking (docs/interface.md, A61 to A63).

A booking, a move to the reference, and a cancellation that may be remembered lock the reference first, so one of them
sees what the other has committed. A booking looks for the cancellation in the statement that locks, which does not see
what was committed while it waited; the trigger on appointments does, and the booking is tried again.
"""

from collections.abc import Mapping
from uuid import UUID

from django.db.models import Func, TextField
from django.db.models.functions import Now

from appointments.models import Appointment, RememberedCancellation
from appointments.services.changes import cancel_with_note, get_for_update
from foundation.db.compiled import CompiledQuery, Param
from foundation.db.deletes import delete_in_batches
from foundation.db.timestamps import now
from organizations.actors import Actor, ActorKind, actor_columns
from organizations.models import Organization
from organizations.services import check_limit

MAX_REMEMBERED = 5_000
DETAILS = ("canceled_by", "reason", "rescheduled_to")
# Compiled for the benchmark "create an appointment".
REFERENCE_LOCK: CompiledQuery[tuple[str]] = CompiledQuery(
    lambda: Organization.objects.filter(pk=Param("organization")).values_list(
        Func(
            Param("organization", "text"),
            Param("reference", "text"),
            template="pg_advisory_xact_lock(hashtextextended(%(expressions)s, 0))::text",
            arg_joiner=" || ' ' || ",
            output_field=TextField(),
        )
    )
)
REMEMBERED_CANCELLATION: CompiledQuery[RememberedCancellation] = CompiledQuery(
    lambda: RememberedCancellation.objects.of(Param("organization")).filter(
        external_reference=Param("reference"), created_at__gt=Now() - RememberedCancellation.KEPT
    )
)


def remember_cancellation(
    organization: Organization, actor: Actor, external_reference: str, notes: str, details: Mapping[str, str | None]
) -> RememberedCancellation:
    """Store the cancellation in place of an earlier one for this reference, which the caller has locked.

    Raises Conflict at the limit. Locks the organization.
    """
    rows = RememberedCancellation.objects.of(organization)
    others = rows.exclude(external_reference=external_reference)
    limit, advice = MAX_REMEMBERED, "Each is kept for 24 hours."
    check_limit(organization=organization, rows=others, limit=limit, name="remembered cancellations", advice=advice)
    columns = {"external_reference": external_reference, "notes": notes, **details, **actor_columns(actor)}
    row = RememberedCancellation(organization=organization, **columns)
    rows.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["organization", "external_reference"],
        update_fields=["created_at", "notes", *DETAILS, *actor_columns(actor)],
    )
    return row


def cancel_remembered(
    organization: Organization, appointment_id: UUID, remembered: RememberedCancellation, **options: bool
) -> Appointment:
    """Apply a remembered cancellation, whose row the caller has deleted, to the appointment; return it.

    `options` are those of `save_appointment`. Locks the appointment and its lead.
    """
    actor = Actor(ActorKind(remembered.actor_kind), remembered.actor_id, remembered.actor_name)
    appointment = get_for_update(organization, appointment_id)
    details = {name: getattr(remembered, name) for name in DETAILS}
    return cancel_with_note(appointment, actor, remembered.notes, details, **options)


def prune_remembered_cancellations(*, organization: Organization) -> int:
    rows = RememberedCancellation.objects.of(organization)
    return delete_in_batches(rows.filter(created_at__lt=now() - RememberedCancellation.KEPT).order_by("created_at"))
