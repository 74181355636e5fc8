"""The tenant guard: `Model.objects.of(organization)`, or an error. Only `unscoped` reads across organizations."""

from typing import Any, ClassVar, NoReturn
from uuid import UUID

from django.db import models
from uuid_utils.compat import uuid7

from foundation.db.timestamps import MillisecondDateTimeField, now


class UnscopedQuery(RuntimeError):
    """A query through `objects` that names no organization."""


class TenantQuerySet(models.QuerySet[Any]):
    """Base of the tenant models' querysets."""


# The class is made at run time, so its type has no name.
def tenant_manager(queryset: type[models.QuerySet[Any]] = TenantQuerySet) -> Any:  # noqa: ANN401
    """Return a manager with the queryset's methods that raises UnscopedQuery unless an organization is named."""

    class TenantManager(models.Manager.from_queryset(queryset)):  # type: ignore[misc]
        def of(self, organization: models.Model | UUID) -> models.QuerySet[Any]:
            return super().get_queryset().filter(organization=organization)

        def create(self, *, organization: models.Model, **fields: Any) -> models.Model:
            return self.of(organization).create(organization=organization, **fields)

        # All other methods of a manager (`all`, `filter`, `get` …) start here.
        def get_queryset(self) -> NoReturn:
            raise UnscopedQuery(f"Call {self.model.__name__}.objects.of(organization) first")

    return TenantManager()


class TenantModel(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # No index of its own: every model has one that begins with this column where it needs it.
    organization = models.ForeignKey(
        "organizations.Organization", on_delete=models.PROTECT, related_name="+", db_index=False
    )
    created_at = MillisecondDateTimeField(default=now, editable=False)

    objects: ClassVar[Any] = tenant_manager()
    unscoped: ClassVar[Any] = TenantQuerySet.as_manager()

    class Meta:
        abstract = True
        # Django's own machinery (deletion, uniqueness checks, refresh_from_db) needs a manager that doesn't raise. A
        # model's Meta must inherit this one; a test checks it.
        default_manager_name = base_manager_name = "unscoped"
