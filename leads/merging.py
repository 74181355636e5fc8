"""Merging two leads into one, and undoing it.

The merged lead's row is deleted, and rows of any app that refer to it are moved to the other lead. Its id and its
e-mail lead to the other lead from then on (`LeadMerge`). Both leads are locked, so that no row that is added to them at
the same time is lost.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db.models import F, ForeignObjectRel, Q, Value
from django.db.models.functions import Greatest, JSONObject
from django.dispatch import Signal
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.timezone import localtime

from foundation.api.exceptions import Conflict, ValidationFailed
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from foundation.db.writes import insert_all
from leads.duplicates import keep_dismissals, restore_dismissals
from leads.models import Lead, LeadMerge, NextStep, PossibleDuplicate
from leads.privacy.models import Erasure, UndoneMerge
from leads.serializers import LeadDetailSerializer, LeadSummarySerializer
from leads.services import build_status_change, forget_done_steps
from leads.topics import CREATED, MERGED, STATUS_CHANGED, UPDATED
from organizations.actors import Actor, ActorFields, ActorKind, actor_columns
from organizations.isolation import TenantModel
from organizations.models import Organization
from organizations.versions import Change, VersionedModel
from webhooks.events import record_event
from webhooks.models import Event

UNDO_DAYS = 30
MAX_UNDOABLE = 20  # merges of a lead: each keeps both leads' values, and pages and erasing read them
# What can be taken from the merged lead, and the columns of each; custom values have the field's id as their name.
CHOICES: dict[str, tuple[str, ...]] = {
    "email": ("email",),
    "first_name": ("first_name", "is_first_name_from_email"),
    "last_name": ("last_name",),
    "phone": ("phone_e164", "phone_country"),
    "status": ("status_id",),
    "setter": ("setter_id",),
    "last_source": ("last_source_id",),
    "touch_point": ("next_touch_point_at", "next_touch_point_type"),
}
CHANGED_MEANWHILE = "One of the leads has changed since you opened the page. Nothing was merged: look at them again."
GONE = "One of the leads is no longer there: someone else has merged it."

# Sent in the transaction when rows have moved to another lead, and to each lead that has lost some: `lead`, locked and
# stored; `ids`, those of the moved rows by model; `previous`, the JSON of the lead that they belonged to; and `actor`.
# Receivers may change the lead's touch point, and store it without a new version, and record events of the moved rows.
rows_moved = Signal()


def relations() -> Iterator[tuple[type[TenantModel], str]]:
    for relation in Lead._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel) and relation.related_model not in NOT_MOVED:
            yield relation.related_model, relation.field.name  # type: ignore[misc]  # all of them are tenant models


# Models whose rows are about the merged lead alone, and are deleted with it.
NOT_MOVED: set[type[TenantModel]] = {PossibleDuplicate}


@atomic_with_retry
def merge_leads(
    *,
    organization: Organization,
    actor: Actor,
    keep: UUID,
    merge: UUID,
    values: Collection[str] = (),
    versions: Mapping[UUID, datetime] | None = None,
) -> Lead:
    """Merge the lead `merge` into the lead `keep`, which takes `values` (see `CHOICES`) from it; return the kept lead.

    The first source is that of the older lead. Records `lead.merged`, and `appointment.updated` for each appointment
    that moves. Raises Conflict if a lead is gone, erased or being erased, or newer than in `versions` (the `updated_at`
    that the user saw); ValidationFailed for one lead twice. Locks the moving rows, then both leads.
    """
    lead, other = lock_for_merge(organization, keep, merge, versions or {})
    before, began_at = LeadDetailSerializer.get_text(organization, lead.pk), now()
    previous = LeadSummarySerializer.get_text(organization, other.pk)
    old, other_columns = dict(lead.stored_values), dict(other.stored_values)

    ids = {model: move_rows(model, field, other, lead) for model, field in relations()}
    take_values(lead, other, values)
    dismissals = keep_dismissals(organization=organization, keep=keep, merge=merge)
    other.delete()
    lead.save_version()
    if lead.status_id != old["status_id"]:
        insert_all(build_status_change(lead, actor, old["status_id"]))
    merged_email = old["email"] if "email" in values else other_columns["email"]
    row = LeadMerge(organization=organization, lead=lead, previous_id=merge, **actor_columns(actor))
    emails = LeadMerge.objects.of(organization).filter(lead=lead, email__isnull=False).values_list("email", flat=True)
    row.email = None if merged_email.lower() in map(str.lower, emails) else merged_email
    row.save()
    rows_moved.send(Lead, lead=lead, ids=ids, previous=previous, actor=actor)
    record_event(MERGED, lead, actor=actor, before=before)
    by_trigger = ["status_since"] if lead.status_id != old["status_id"] else []
    row.snapshot = {
        "began_at": began_at,
        "ended_at": now(),  # after the events of the merge, so that later ones can be told from them
        "merged": other_columns,
        "kept": {name: value for name, value in old.items() if value != getattr(lead, name) or name in by_trigger},
        "moved": {model._meta.label_lower: moved for model, moved in ids.items() if moved},
        "dismissals": dismissals,
    }
    row.save(update_fields=["snapshot"])
    merges = LeadMerge.objects.of(organization).filter(lead=lead, snapshot__isnull=False)
    older = merges.order_by("-created_at", "-id").values_list("pk", flat=True)[MAX_UNDOABLE:]
    merges.filter(pk__in=list(older)).update(snapshot=None)
    return lead


def lock_for_merge(
    organization: Organization, keep: UUID, merge: UUID, versions: Mapping[UUID, datetime]
) -> tuple[Lead, Lead]:
    """Lock the rows that a merge moves, then both leads. Raises as `merge_leads` does."""
    if keep == merge:
        raise ValidationFailed({"merge": ["is the same lead"]})
    lock_versioned_rows(organization, {model: None for model, _ in relations()}, merge)
    lead, other = lock_leads(organization, keep, merge)
    if Erasure.objects.of(organization).filter(lead_id__in=[keep, merge], finished_at=None).exists():
        raise Conflict("One of the leads is being erased. Nothing was merged.")
    if lead.is_erased or other.is_erased:
        raise Conflict("An erased lead can't be merged: a person who comes back is a new lead. Nothing was merged.")
    steps = NextStep.objects.of(organization).filter(lead__in=[keep, merge], done_at=None)
    if steps.count() > NextStep.MAX_OPEN:
        raise Conflict(f"A lead can have at most {NextStep.MAX_OPEN} open next steps. Mark some as done first.")
    if any(versions.get(row.pk, row.updated_at) != row.updated_at for row in (lead, other)):
        raise Conflict(CHANGED_MEANWHILE)
    return lead, other


def lock_versioned_rows(
    organization: Organization, ids: Mapping[type[TenantModel], list[UUID] | None], lead_id: UUID
) -> None:
    """Lock the lead's rows of these models, or those with these ids, which their services lock before the lead."""
    for model, row_ids in ids.items():
        if issubclass(model, VersionedModel):
            rows = model.objects.of(organization).filter(lead=lead_id)
            rows = rows if row_ids is None else rows.filter(pk__in=row_ids)
            list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk"))


def lock_leads(organization: Organization, *ids: UUID) -> list[Lead]:
    """Return the leads in this order, locked against all writers and new references. Raises Conflict if one is gone."""
    # FOR UPDATE, which the check of a new foreign key waits for; in the order of the ids, against deadlocks.
    rows = Lead.objects.of(organization).select_for_update().filter(pk__in=ids).order_by("pk")
    found = {lead.pk: lead for lead in rows}
    if found.keys() != set(ids):
        raise Conflict(GONE)
    for lead in found.values():
        lead.organization = organization
    return [found[id] for id in ids]


def move_rows(
    model: type[TenantModel], field: str, source: Lead, target: Lead, ids: Collection[UUID] | None = None
) -> list[UUID]:
    rows = model.objects.of(target.organization).filter(**{field: source.pk})
    rows = rows if ids is None else rows.filter(pk__in=ids)
    moved = list(rows.order_by("pk").values_list("pk", flat=True))
    version = {}
    if issubclass(model, VersionedModel):
        version["updated_at"] = Greatest(Value(now()), F("updated_at") + timedelta(milliseconds=1))
    model.objects.of(target.organization).filter(pk__in=moved).update(**{field: target.pk}, **version)
    return moved


def take_values(lead: Lead, other: Lead, values: Collection[str]) -> None:
    for name in values:
        for column in CHOICES.get(name, ()):
            setattr(lead, column, getattr(other, column))
    chosen = {name: other.custom_values.get(name) for name in values if name not in CHOICES}
    lead.custom_values = {name: value for name, value in {**lead.custom_values, **chosen}.items() if value is not None}
    lead.external_reference = lead.external_reference or other.external_reference
    lead.unsubscribed_at = lead.unsubscribed_at or other.unsubscribed_at
    lead.first_source_id = min(lead, other, key=lambda row: (row.created_at, row.pk)).first_source_id


@atomic_with_retry
def undo_merge(*, organization: Organization, actor: Actor, merge_id: UUID) -> Lead:
    """Restore a merged lead with its id, values and rows, and the other lead's former values; return the restored lead.

    Records `lead.created` for the restored lead, a change of the other, and `appointment.updated` for each appointment
    that moves. Raises Conflict with the reason if it can't be undone. Locks the moving rows, then the lead.
    """
    row = LeadMerge.objects.of(organization).filter(pk=merge_id).first()
    if row is None:
        raise Conflict("This was undone already.")
    lock_versioned_rows(organization, moved_ids(row), row.lead_id)
    (lead,) = lock_leads(organization, row.lead_id)
    row = LeadMerge.objects.of(organization).select_for_update().filter(pk=merge_id, lead=lead).first()
    if row is None:
        raise Conflict(GONE)
    if reason := reason_against_undoing(row):
        raise Conflict(reason)
    before = LeadDetailSerializer.get_text(organization, lead.pk)
    previous = LeadSummarySerializer.get_text(organization, lead.pk)

    from_status_id, ids = lead.status_id, moved_ids(row)
    row.delete()
    if lead.external_reference != row.snapshot["merged"].get("external_reference"):
        row.snapshot["kept"].pop("external_reference", None)  # set since, which no event tells
    if lead.unsubscribed_at and lead.unsubscribed_at > row.created_at:
        # Since then, which no event tells either. The e-mail whose link was used can have been about either.
        row.snapshot["merged"]["unsubscribed_at"] = lead.unsubscribed_at
        row.snapshot["kept"].pop("unsubscribed_at", None)
    set_columns(lead, row.snapshot["kept"])
    lead.save_version()
    restored = restore_lead(row)
    for model, field in relations():
        move_rows(model, field, lead, restored, ids.get(model, []))
    if dismissals := row.snapshot.get("dismissals"):  # older merges have none
        restore_dismissals(organization=organization, keep=lead.pk, restored=restored.pk, stored=dismissals)
    forget_done_steps(organization, [lead, restored])
    is_moved = lead.status_id != from_status_id
    if is_moved:
        insert_all(build_status_change(lead, actor, from_status_id))
    rows_moved.send(Lead, lead=lead, ids={}, previous=previous, actor=actor)
    rows_moved.send(Lead, lead=restored, ids=ids, previous=previous, actor=actor)
    record_event(CREATED, restored, actor=actor)
    record_event(STATUS_CHANGED if is_moved else UPDATED, lead, actor=actor, before=before)
    began_at = datetime.fromisoformat(row.snapshot["began_at"])
    forget_changes({Lead: [lead.pk, restored.pk], **ids}, since=began_at)
    store_undone(row, {lead: restored, restored: lead}, [id for moved in ids.values() for id in moved], began_at)
    renew_snapshots(restored, began_at)
    return restored


def renew_snapshots(restored: Lead, began_at: datetime) -> None:
    """Let merges into the restored lead be undone next, if they could before it was merged itself."""
    for earlier in restored.merges.filter(snapshot__isnull=False):
        if not reason_against_undoing(earlier, until=began_at):
            earlier.snapshot = {**(earlier.snapshot or {}), "ended_at": now()}
            earlier.save(update_fields=["snapshot"])


def restore_lead(row: LeadMerge) -> Lead:
    """Insert the merged lead again with a new version; return it, locked. Raises Conflict if its e-mail is taken."""
    lead = Lead(organization=row.organization)
    set_columns(lead, row.snapshot["merged"] if row.snapshot else {})
    lead.updated_at = max(now(), lead.updated_at + timedelta(milliseconds=1))
    if not insert_all(lead, on_conflict_do_nothing=True):
        raise Conflict(f"Another lead has the e-mail {lead.email} or its reference now.")
    return lock_leads(row.organization, row.previous_id)[0]


def forget_changes(ids: Mapping[type[TenantModel], list[UUID]], *, since: datetime) -> None:
    # Otherwise one lead's history would keep values of the other, where erasing does not find them.
    for model, row_ids in ids.items():
        for relation in model._meta.related_objects:
            if issubclass(relation.related_model, Change):
                changes = relation.related_model._base_manager.filter(created_at__gte=since)
                changes = changes.filter(**{f"{relation.field.name}__in": row_ids})
                changes.exclude(fields__has_key="previous_ids").delete()
                changes.update(fields=JSONObject(previous_ids=F("fields__previous_ids")))


def store_undone(row: LeadMerge, others: Mapping[Lead, Lead], moved: list[UUID], began_at: datetime) -> None:
    # Unlike the history, events stay as they were sent, until one of the leads is erased.
    UndoneMerge.objects.of(row.organization).bulk_create(
        UndoneMerge(
            organization=row.organization,
            lead_id=lead.pk,
            subject_ids=[other.pk, *moved],
            began_at=began_at,
            ended_at=now(),
        )
        for lead, other in others.items()
    )


def set_columns(lead: Lead, stored: Mapping[str, Any]) -> None:
    for field in Lead._meta.concrete_fields:
        if field.attname in stored and (field.name != "updated_at" or lead._state.adding):
            setattr(lead, field.attname, field.to_python(stored[field.attname]))


def moved_ids(row: LeadMerge) -> dict[type[TenantModel], list[UUID]]:
    moved = row.snapshot["moved"] if row.snapshot else {}
    return {apps.get_model(label): [UUID(id) for id in ids] for label, ids in moved.items()}


def reason_against_undoing(row: LeadMerge, *, until: datetime | None = None) -> str | None:
    """Return why a merge can't be undone, or could not at an earlier time, as a sentence; None if it can."""
    if Erasure.objects.of(row.organization).filter(lead_id=row.lead_id, finished_at=None).exists():
        return "The lead is being erased."
    if row.snapshot is None or row.created_at < now() - timedelta(days=UNDO_DAYS):
        return f"The last {MAX_UNDOABLE} merges of a lead can be undone, for {UNDO_DAYS} days. This one is older."
    organization, ids = row.organization, moved_ids(row)
    if LeadMerge.objects.of(organization).filter(lead=row.lead_id, created_at__gt=row.created_at).exists():
        return "Another lead has been merged into this one since. Undo that first."
    since = Q(created_at__gt=parse_datetime(row.snapshot["ended_at"])) & (Q(created_at__lt=until) if until else Q())
    subjects = [row.lead_id, *(id for moved in ids.values() for id in moved)]
    events = Event.objects.of(organization).filter(since, subject_id__in=subjects)
    # Touch points that pass are no reason: they are recomputed.
    if event := events.exclude(actor_kind=ActorKind.SYSTEM, type=UPDATED.name).order_by("created_at", "id").first():
        what = event.type.replace(".", " ").replace("_", " ")
        return f"It has changed since: {what}, by {event.actor_name}, {when(event.created_at)}."
    for model, field in relations():
        rows = model.objects.of(organization).filter(**{field: row.lead_id})
        name, moved = model._meta.verbose_name, ids.get(model, [])
        if rows.filter(pk__in=moved).count() < len(moved):
            return f"A moved {name} has been deleted or moved again since."
        added = rows.filter(since).exclude(pk__in=moved)
        if issubclass(model, ActorFields):
            added = added.exclude(actor_kind=ActorKind.SYSTEM)
        if new := added.order_by("created_at", "id").first():
            by = f" by {new.actor_name}" if isinstance(new, ActorFields) else ""
            return f"This was added since: {name}{by}, {when(new.created_at)}. It may belong to either lead."
    return None


def when(at: datetime) -> str:
    return date_format(localtime(at), "DATETIME_FORMAT")


def prune_snapshots(*, organization: Organization) -> int:
    merges = LeadMerge.objects.of(organization).filter(snapshot__isnull=False)
    return int(merges.filter(created_at__lt=now() - timedelta(days=UNDO_DAYS)).update(snapshot=None))
