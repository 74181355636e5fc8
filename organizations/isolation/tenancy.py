"""The tenant guard: `Model.objects.of(organization)`, or an error. Only `unscoped` reads across organizations."""

from collections.abc import Callable, Sequence
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


class TenantForeignKey(models.ForeignKey):
    """A foreign key to another row of the organization.

    The database checks both columns by the composite key that the migration makes (`composite_foreign_keys`), so there
    is no plain one beside it: it would cost each insert a second look-up (benchmark row "create an appointment").
    """

    def __init__(self, to: Any, on_delete: Callable[..., None], **options: Any) -> None:  # noqa: ANN401  # as Django's
        super().__init__(to, on_delete, **(options | {"db_constraint": False}))

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        """Return what migrations contain, which import no live code: a foreign key of Django's."""
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.ForeignKey", args, options


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
