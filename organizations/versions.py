"""Rows with a version (`updated_at`) that know which of their columns have changed, and histories of their changes."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from django.db import models

from foundation.api.exceptions import PreconditionFailed
from foundation.api.sql_serializers import SQLSerializer
from foundation.db.timestamps import MillisecondDateTimeField, now
from organizations.actors import ActorFields
from organizations.isolation import TenantModel


class VersionedModel(TenantModel):
    """A row whose `updated_at` rises with every change, except of `unversioned` columns, which are not shown."""

    unversioned: ClassVar[Collection[str]] = ()
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
        self.save(update_fields=[name for name in self.stored_values if self.is_changed(name)])
        self.stored_values = {name: getattr(self, name) for name in self.stored_values}


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
