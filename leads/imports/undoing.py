"""Undoing an import, for 24 hours after its end (docs/staff.md, "Undo an import").

1. What others have changed since stays, and the page lists it with the reason.
2. It may take as many turns as an import, and workers may be killed meanwhile.
3. Whoever keeps a copy learns of it: undoing goes through services that record events.

So each batch of an import stores, in its transaction, an `ImportUndo` for each row that it has created or changed.
Undoing takes them in batches, the newest first, so that a value that was changed twice returns to the first one. It
locks the rows, and deletes what the import created if nothing else has happened to it (1), or gives the columns that
still have the imported values the former ones. The `ImportUndo` of what is undone is deleted in the same transaction,
so that the next turn finds the others (2). Rows of one model are undone together, by a few statements for all of them;
if one of them can't be, each is tried alone.

An app registers how its rows are undone with `undoes`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from time import monotonic
from typing import Any
from uuid import UUID

import orjson
from django.db import connection, transaction
from django.db.models import Max, Q
from django.utils.formats import date_format
from django.utils.timezone import localtime

from foundation.api.exceptions import Conflict
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import get_zone, now
from foundation.db.writes import update_all
from foundation.outbox import send_on_commit
from leads.imports.failures import is_of_row, problem_of
from leads.imports.models import KEEP_ROWS, UNDOABLE_STATES, Import, ImportState, ImportUndo
from leads.imports.services import TASK, lock, lock_step
from leads.imports.turns import Turn
from organizations.actors import Actor, ActorKind
from organizations.isolation import TenantModel
from organizations.models import CAN_BE_ASSIGNED, Membership, Organization
from organizations.versions import StoredChanges, VersionedModel, recording_changes
from webhooks.models import Event
from webhooks.topics import Topic

BATCH, BATCH_SECONDS = 200, 0.1  # as those of an import
MAX_REASON = 500
TOLERANCE = timedelta(seconds=1)  # a version can be a little later than its event
CUSTOM = "custom_values"
# Columns that follow from others, or that calendars and schedulers need as they are now.
NOT_UNDONE = {
    *("updated_at", "next_step_at", "next_step_type", "next_step_note"),
    *("invited", "invitation_sequence", "calendar_domain", "synced_role", "synced_at", "synced_hash"),
}
# By row of this import, the version that its last change had, if no one else has changed it in between.
FOLLOW_VERSIONS = """
UPDATE leads_importundo AS stored SET version = change.after
FROM json_to_recordset(%s::json) AS change (id uuid, before timestamptz, after timestamptz)
WHERE stored.organization_id = %s AND stored.file_import_id = %s
    AND stored.subject_id = change.id AND stored.version = change.before
"""
# Why subjects stay, by their ids; "" for none.
Reasons = dict[UUID, str]
# Locks the subjects, deletes them or restores their columns; returns why some stay. No two rows have the same subject,
# and either all of them were created or none.
Undo = Callable[[Import, Sequence[ImportUndo], Actor], Reasons]
Versions = dict[UUID, tuple[datetime, datetime]]


@dataclass(frozen=True)
class Undoable:
    model: type[TenantModel]
    created: Topic
    undo: Undo
    parent: str  # the foreign key of rows that are deleted with the row that it names


UNDOABLE: dict[str, Undoable] = {}


def undoes(model: type[TenantModel], *, created: Topic, parent: str = "") -> Callable[[Undo], Undo]:
    def register(undo: Undo) -> Undo:
        UNDOABLE[model._meta.label_lower] = Undoable(model, created, undo, parent)
        return undo

    return register


# --- What an import stores


def store_undo(stored: Import, position: int, changes: StoredChanges) -> None:
    """Store what undoing a batch needs, in its transaction; `position` is that after the batch."""
    created = find_created(stored, changes)
    versions = {pk: after["updated_at"][1] for (_, pk), after in changes.by_row.items() if "updated_at" in after}
    follow_versions(stored, versions_of(changes))
    rows: list[ImportUndo] = []

    def add(label: str, id: UUID, columns: dict[str, list[Any]] | None) -> None:
        subject = {"subject_type": label, "subject_id": id, "version": versions.get(id), "columns": columns}
        batch = {"organization": stored.organization, "file_import": stored, "position": position}
        rows.append(ImportUndo(**batch, **subject))

    for label, ids in created.items():
        model = UNDOABLE[label].model
        if ids and issubclass(model, VersionedModel):
            found = model.objects.of(stored.organization).filter(pk__in=ids)
            versions |= dict(found.values_list("pk", "updated_at"))
        for id in ids:
            add(label, id, None)
    for (changed_model, pk), values in changes.by_row.items():
        label = changed_model._meta.label_lower
        columns = columns_to_undo(values)
        if columns and label in UNDOABLE and pk not in created.get(label, ()):
            add(label, pk, columns)
    ImportUndo.objects.of(stored.organization).bulk_create(rows)
    stored.undo_size += sum(row.size for row in rows)


def find_created(stored: Import, changes: StoredChanges) -> dict[str, set[UUID]]:
    """Return the ids of the rows that the batch has created, by their model's label."""
    created = {label: changes.subjects.get(undoable.created.name, set()) for label, undoable in UNDOABLE.items()}
    every_id = {id for ids in created.values() for id in ids}
    for label, ids in created.items():
        if ids and (parent := UNDOABLE[label].parent):
            rows = UNDOABLE[label].model.objects.of(stored.organization).filter(pk__in=ids)
            created[label] = {pk for pk, parent_id in rows.values_list("pk", parent) if parent_id not in every_id}
    return created


def columns_to_undo(values: Mapping[str, tuple[Any, Any]]) -> dict[str, list[Any]]:
    """Return the values before and after by column, those of custom fields by `custom_values.<id>`."""
    columns = {name: [*pair] for name, pair in values.items() if name not in {*NOT_UNDONE, CUSTOM}}
    before, after = values.get(CUSTOM, ({}, {}))
    columns |= {f"{CUSTOM}.{id}": [before.get(id), after.get(id)] for id in {**before, **after}}
    return {name: pair for name, pair in columns.items() if pair[0] != pair[1]}


def versions_of(changes: StoredChanges) -> Versions:
    return {pk: values["updated_at"] for (_, pk), values in changes.by_row.items() if "updated_at" in values}


def follow_versions(stored: Import, versions: Versions) -> None:
    if versions:
        rows = [{"id": id, "before": before, "after": after} for id, (before, after) in versions.items()]
        with connection.cursor() as cursor:
            cursor.execute(FOLLOW_VERSIONS, [orjson.dumps(rows).decode(), stored.organization_id, stored.pk])


# --- What people and workers do


@transaction.atomic
def start_undo(*, file_import: Import, actor: Actor) -> None:
    """Let a worker undo the import. Repeating it is safe. Raises Conflict if it can't be undone. Locks the import."""
    stored = lock(file_import, *UNDOABLE_STATES, ImportState.UNDOING, ImportState.UNDONE)
    if stored.state not in UNDOABLE_STATES:
        return
    if not stored.can_be_undone:
        raise Conflict("This import can no longer be undone.")
    stored.undone = {"total": stored.undo_rows.count(), "actor_id": actor.id, "actor_name": actor.name}
    stored.state, stored.position, stored.failures, stored.updated_at = ImportState.UNDOING, 0, 0, now()
    stored.save()
    send_on_commit(TASK)


def undo_import(file_import: Import, turn: Turn) -> None:
    """Undo the import until the turn is over or nothing is left. Raises Overtaken."""
    while count := undo_batch(file_import):
        file_import.position += count  # after the commit
        if turn.keep():
            return


@atomic_with_retry
def undo_batch(file_import: Import) -> int:
    """Undo the next changes; return their number. Ends with the last ones. Locks the import and the changed rows."""
    started, done, versions = monotonic(), 0, Versions()
    stored = lock_step(file_import)
    actor = Actor(ActorKind.STAFF, stored.undone["actor_id"], undo_name(stored))
    rows = list(stored.undo_rows.filter(is_kept=False)[:BATCH])
    if not rows:
        stored.state, stored.updated_at, stored.undo_until = ImportState.UNDONE, now(), now() + KEEP_ROWS
        stored.save()
        return 0
    for group in groups(rows):
        for row in group:
            before, after = versions.get(row.subject_id, (None, None))
            row.version = after if after and row.version == before else row.version
            row.file_import, row.organization = stored, stored.organization
        reasons, changed = undo_group(group, actor)
        add_versions(versions, changed)
        undone = Counter("kept" if reasons.get(row.subject_id) else outcome_of(row) for row in group)
        stored.undone |= {name: stored.undone.get(name, 0) + count for name, count in undone.items()}
        done += len(group)
        if monotonic() - started > BATCH_SECONDS:
            break
    follow_versions(stored, versions)
    stored.position, stored.updated_at = stored.position + done, now()
    stored.save()
    return done


def groups(rows: Sequence[ImportUndo]) -> Iterator[list[ImportUndo]]:
    """Yield the rows, those of appointments before those of leads, in groups for an `Undo`."""
    group: dict[UUID, ImportUndo] = {}
    for row in sorted(rows, key=lambda row: row.subject_type):  # within a type, the newest stay first
        first = next(iter(group.values()), row)
        is_like_first = (row.subject_type, row.columns is None) == (first.subject_type, first.columns is None)
        if row.subject_id in group or not is_like_first:
            yield [*group.values()]
            group = {}
        group[row.subject_id] = row
    yield [*group.values()]


def outcome_of(row: ImportUndo) -> str:
    return "deleted" if row.columns is None else "restored"


def undo_group(rows: Sequence[ImportUndo], actor: Actor) -> tuple[Reasons, Versions]:
    """Undo the changes, and delete each `ImportUndo` or store why its subject stays; return the reasons."""
    stored = rows[0].file_import
    try:
        with transaction.atomic(), recording_changes() as changes:
            reasons = UNDOABLE[rows[0].subject_type].undo(stored, rows, actor)
    except Exception as error:
        if not is_of_row(error, stored):
            raise
        changes = StoredChanges()
        if len(rows) > 1:
            return undo_each(rows, actor)
        reasons = {rows[0].subject_id: f"{problem_of(error).removesuffix('.')}."}
    kept = [row for row in rows if reasons.get(row.subject_id)]
    for row in kept:
        row.is_kept, row.reason = True, reasons[row.subject_id][:MAX_REASON]
    update_all(kept, {"is_kept", "reason"})
    ids = [row.pk for row in rows if not row.is_kept]
    ImportUndo.objects.of(stored.organization).filter(pk__in=ids).delete()
    return reasons, versions_of(changes)


def undo_each(rows: Sequence[ImportUndo], actor: Actor) -> tuple[Reasons, Versions]:
    reasons, versions = Reasons(), Versions()
    for row in rows:
        reason, changed = undo_group([row], actor)
        reasons |= reason
        add_versions(versions, changed)
    return reasons, versions


def add_versions(versions: Versions, later: Versions) -> None:
    for id, (first, last) in later.items():
        versions[id] = versions.get(id, (first, last))[0], last


def undo_name(stored: Import) -> str:
    return f"{stored.undone['actor_name']} (undo)"


# --- What the apps' functions use


def change_since(row: ImportUndo, subject: VersionedModel, parts: Collection[UUID] = ()) -> str:
    """Return what others have done to the locked subject since the import, as a sentence; "" if nothing.

    `parts` are the ids of other rows whose changes are changes of the subject, such as its notes.
    """
    version: Any = row.version  # never null of a versioned row
    if subject.updated_at == version:
        return ""
    stored = row.file_import
    # An import of the same person that took its turns in between has the same name in its events.
    rows = ImportUndo.objects.of(row.organization).exclude(file_import=stored)
    other = rows.filter(subject_id=row.subject_id, version__gt=version).select_related("file_import").first()
    if other:
        # Not its file's name, which can be a person's: erasing that one would have to look for it here.
        by, at = other.file_import.actor_name, other.file_import.created_at
        return f"It has changed since: by another import, uploaded by {by}, {shown_time(at, stored)}."
    ids = [row.subject_id, *parts]
    events = Event.objects.of(row.organization).filter(subject_id__in=ids, created_at__gt=version)
    own = Q(actor_id=stored.actor_id, actor_name=import_name(stored), created_at__lte=stored.finished_at)
    own |= Q(actor_id=stored.undone["actor_id"], actor_name=undo_name(stored))
    # Touch points that pass are recomputed.
    own |= Q(actor_kind=ActorKind.SYSTEM, type=f"{subject._meta.model_name}.updated")
    event = events.exclude(own).order_by("created_at", "id").first()
    if event is None:
        # A version that is newer than all events is of a change that no event tells.
        last = events.aggregate(last=Max("created_at"))["last"] or version
        return "It has changed since." if subject.updated_at > last + TOLERANCE else ""
    what = event.type.replace(".", " ").replace("_", " ")
    return f"It has changed since: {what}, by {event.actor_name}, {shown_time(event.created_at, stored)}."


def shown_time(at: datetime, stored: Import) -> str:
    """Return the time in the zone of the person who has uploaded the file: a worker has no other."""
    return date_format(localtime(at, get_zone(stored.time_zone)), "DATETIME_FORMAT")


def import_name(stored: Import) -> str:
    return f"{stored.actor_name} (import)"


def restore_columns(row: ImportUndo, subject: VersionedModel, groups: Sequence[Sequence[str]]) -> list[str]:
    """Give the subject's columns that still have the imported values the former ones; return the names of the others.

    Of each of the groups, all columns are restored or none; with a column, those that its triggers set.
    """
    columns: dict[str, list[Any]] = dict(row.columns or {})
    by_trigger = {name: columns.pop(name)[0] for name in set(chain(*subject.trigger_columns.values())) & {*columns}}
    together = [[name for name in group if name in columns] for group in groups]
    grouped = {name for group in together for name in group}
    together += [[name] for name in columns if name not in grouped]
    others = []
    for names in filter(None, together):
        if all(value_of(subject, name) == parsed(subject, name, columns[name][1]) for name in names):
            for name in names:
                set_value(subject, name, parsed(subject, name, columns[name][0]))
        else:
            others.append(names[0])
    for name, dependent in subject.trigger_columns.items():
        if subject.is_changed(name):
            for other in by_trigger.keys() & {*dependent}:
                set_value(subject, other, parsed(subject, other, by_trigger[other]))
    return others


def leave_out_members(organization: Organization, rows: Sequence[ImportUndo], model: type[VersionedModel]) -> Reasons:
    """Leave out the columns whose former member can't be assigned any more; return which, as sentences."""
    names = {field.attname for field in model._meta.concrete_fields if field.related_model is Membership}
    members = Membership.objects.of(organization).filter(CAN_BE_ASSIGNED).values_list("pk", flat=True)
    assignable, texts = {None, *map(str, members)}, Reasons()
    for row in rows:
        columns = row.columns or {}
        gone = sorted(name for name in columns.keys() & names if columns[name][0] not in assignable)
        row.columns = {name: pair for name, pair in columns.items() if name not in gone}
        if gone:
            roles = " and ".join(name.removesuffix("_id") for name in gone)
            texts[row.subject_id] = f"The former {roles} can't be assigned any more, so the present one stays."
    return texts


def value_of(subject: VersionedModel, name: str) -> Any:  # noqa: ANN401  # whatever the column's values are
    column, _, id = name.partition(".")
    value = getattr(subject, column)
    return value.get(id) if id else value


def parsed(subject: VersionedModel, name: str, value: object) -> Any:  # noqa: ANN401  # as above
    return value if "." in name else subject._meta.get_field(name).to_python(value)  # type: ignore[union-attr]


def set_value(subject: VersionedModel, name: str, value: object) -> None:
    column, _, id = name.partition(".")
    if id:
        values = {**getattr(subject, column), id: value}
        value = {key: given for key, given in values.items() if given is not None}
    setattr(subject, column, value)
