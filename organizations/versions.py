"""Rows with a version (`updated_at`) that know which of their columns have changed, and histories of their changes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self
from uuid import UUID

from django.db import models

from foundation.api.exceptions import PreconditionFailed
from foundation.api.sql_serializers import SQLSerializer
from foundation.db.timestamps import MillisecondDateTimeField, now
from foundation.db.writes import update_all
from organizations.actors import ActorFields
from organizations.isolation import TenantModel


class StoredChanges:
    """What `recording_changes` has seen: by row and column, the values before and after, and the events' subjects."""

    def __init__(self) -> None:
        self.subjects: dict[str, set[UUID]] = {}  # by topic
        self.by_row: dict[tuple[type[VersionedModel], UUID], dict[str, tuple[Any, Any]]] = {}

    def add(self, row: "VersionedModel", columns: Collection[str]) -> None:
        known = self.by_row.setdefault((type(row), row.pk), {})
        for name in columns:
            first = known[name][0] if name in known else row.stored_values[name]
            known[name] = first, getattr(row, name)
            for other in row.trigger_columns.get(name, ()):
                known.setdefault(other, (row.stored_values.get(other), None))


_recording: ContextVar[StoredChanges | None] = ContextVar("recording", default=None)


def add_subjects(topic: str, ids: Iterable[UUID]) -> None:
    """Let the recording, if there is one, know of an event of the topic about these rows."""
    if (changes := _recording.get()) is not None:
        changes.subjects.setdefault(topic, set()).update(ids)


@contextmanager
def recording_changes() -> Iterator[StoredChanges]:
    """Record the changes of versioned rows, and the events, that the block stores, so that they can be undone."""
    changes = StoredChanges()
    token = _recording.set(changes)
    try:
        yield changes
    finally:
        _recording.reset(token)


class VersionedModel(TenantModel):
    """A row whose `updated_at` rises with every change, except of `unversioned` columns, which are not shown."""

    unversioned: ClassVar[Collection[str]] = ()
    # By column, those that triggers set when it changes.
    trigger_columns: ClassVar[Mapping[str, Sequence[str]]] = {}
    stored_values: dict[str, Any]  # as the row was read; a new row has none

    updated_at = MillisecondDateTimeField(default=now, editable=False)

    class Meta(TenantModel.Meta):
        abstract = True

    @classmethod
    def from_db(  # type: ignore[override]  # the stubs are newer
        cls, db: str | None, field_names: Collection[str], values: Collection[Any]
    ) -> Self:
        row = super().from_db(db, field_names, values)
        row.stored_values = dict(zip(field_names, values, strict=True))
        return row

    def is_changed(self, *columns: str) -> bool:
        """Return whether one of these columns (by default the versioned ones) differs from the row as it was read."""
        columns = columns or tuple(self.stored_values.keys() - {*self.unversioned})
        return any(getattr(self, name) != self.stored_values[name] for name in columns)

    def save_version(self) -> None:
        """Store the changed columns and a new version. Lock the row before it is read."""
        # Two changes in one millisecond get different versions too, so that receivers can order them.
        self.updated_at = max(now(), self.stored_values["updated_at"] + timedelta(milliseconds=1))
        self.save_columns()

    def save_columns(self) -> None:
        # Django sends no statement if there are none.
        self.save(update_fields=self.note_changes())
        self.stored_values = {name: getattr(self, name) for name in self.stored_values}

    def note_changes(self) -> list[str]:
        """Return the columns to store, and let the recording, if there is one, know of them."""
        changed = [name for name in self.stored_values if self.is_changed(name)]
        if (changes := _recording.get()) is not None:
            changes.add(self, changed)
        return changed


def save_versions(rows: Sequence[VersionedModel]) -> None:
    """Store the changed columns and new versions of rows of one table, as `save_version` does, in one statement."""
    for row in rows:
        row.updated_at = max(now(), row.stored_values["updated_at"] + timedelta(milliseconds=1))
    update_all(rows, {name for row in rows for name in row.note_changes()})
    for row in rows:
        row.stored_values = {name: getattr(row, name) for name in row.stored_values}


def is_other(row: models.Model, stored: models.Model | None) -> bool:
    """Return whether a column, other than `updated_at`, differs from the stored row; also if there is none."""
    columns = [field.attname for field in row._meta.concrete_fields if field.name != "updated_at"]
    return stored is None or any(getattr(row, name) != getattr(stored, name) for name in columns)


def check_version(row: VersionedModel, version: datetime | None, serializer: type[SQLSerializer]) -> None:
    """Raise PreconditionFailed unless the locked row has this `updated_at`; None stands for any."""
    if version is not None and row.updated_at != version:
        message = f"The {row._meta.verbose_name} has another updated_at than If-Match"
        raise PreconditionFailed(message, serializer.get(row.organization, row.pk))


class Change(TenantModel, ActorFields):
    """Base of a change history: by field, the old and the new value as the API shows them.

    `webhooks.events.record_event` writes it. Subclasses have a foreign key with the related name `changes`.
    """

    fields = models.JSONField(editable=False)

    class Meta(TenantModel.Meta):
        abstract = True
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return ", ".join(self.fields)
