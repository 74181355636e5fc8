"""References under which schedulers and form builders sync rows: after an erasure they store nothing any more."""

from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

from foundation.db.expressions import is_any_of
from leads.privacy.models import ErasedReference
from leads.privacy.rules import AnyModel, load_synced
from organizations.isolation import TenantModel
from organizations.models import Organization


def hash_reference(kind: type[TenantModel], source: str, reference: str) -> UUID:
    text = f"{kind._meta.label_lower}\0{source}\0{reference}"
    return UUID(bytes=sha256(text.encode()).digest()[:16])


def find_erased(
    organization: Organization, kind: type[TenantModel], source: str, reference: str
) -> ErasedReference | None:
    """Return what is left of the reference of a row of this kind whose lead was erased, or None."""
    rows = ErasedReference.objects.of(organization)
    found: ErasedReference | None = rows.filter(hash=hash_reference(kind, source, reference)).first()
    return found


def keep_hash(erased: ErasedReference, kind: type[TenantModel], source: str, reference: str) -> None:
    """Let another reference be that of the erased row, too."""
    columns = {"organization_id": erased.organization_id, "subject_id": erased.subject_id}
    row = ErasedReference(**columns, hash=hash_reference(kind, source, reference), created_at=erased.created_at)
    ErasedReference.unscoped.bulk_create([row], ignore_conflicts=True)


def keep_hashes(model: AnyModel, ids: Sequence[UUID]) -> None:
    """Store the hashes of the references of these rows, which are about to be erased."""
    synced = load_synced().get(model)
    if synced is None:
        return
    rows = model._base_manager.filter(synced.condition, is_any_of("pk", ids), external_reference__isnull=False)
    names = ("organization_id", "source", "external_reference", synced.subject)
    ErasedReference.unscoped.bulk_create(
        [
            ErasedReference(organization_id=id, hash=hash_reference(synced.kind, source, reference), subject_id=subject)
            for id, source, reference, subject in rows.values_list(*names)
        ],
        ignore_conflicts=True,
    )
