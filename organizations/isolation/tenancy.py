"""The tenant guard: `Model.objects.of(organization)`, or an error.

Reading across organizations is possible only through `unscoped`, a word that a test looks for; and while somebody is
served the database shows their rows alone (`wall`).
"""

from typing import Any, ClassVar

from django.db import models

from pipeline_backend.db.timestamps import MillisecondDateTimeField, now


class UnscopedQuery(RuntimeError):
    """A query that did not say whose rows it wants."""


class TenantQuerySet(models.QuerySet[Any]):
    """Base of the models' querysets."""


def tenant_manager(queryset: type[models.QuerySet[Any]] = TenantQuerySet) -> Any:
    """The manager `objects` of our code: it asks whose rows are wanted."""

    class Guarded(models.Manager.from_queryset(queryset)):  # type: ignore[misc]
        def of(self, organization: Any) -> Any:
            return super().get_queryset().filter(organization=organization)

        def create(self, *, organization: Any, **fields: Any) -> Any:
            return self.of(organization).create(organization=organization, **fields)

        def get_queryset(self) -> Any:
            raise UnscopedQuery(f"{self.model.__name__}.objects.of(organization) first")

    return Guarded()


class TenantModel(models.Model):
    """A row that belongs to one organization."""

    # Every model brings an index that begins with it where it needs one; another for the key alone would only cost writes.
    organization = models.ForeignKey(
        "organizations.Organization", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    created_at = MillisecondDateTimeField(default=now, editable=False)

    objects: ClassVar[Any] = tenant_manager()
    unscoped: ClassVar[Any] = TenantQuerySet.as_manager()

    class Meta:
        abstract = True
        default_manager_name = base_manager_name = "unscoped"
