"""Deleting the data of a test organization (docs/interface.md, G64 to G66)."""

import time
from collections import Counter
from typing import NamedTuple

from django.db import IntegrityError
from django.db.models import ProtectedError

from appointments.models import Appointment, RememberedCancellation
from foundation.api.exceptions import Conflict
from foundation.db.deletes import delete_batch
from leads.imports.models import Import, ImportTurn
from leads.models import DuplicateSearch, Lead, PossibleDuplicate
from leads.privacy.models import ErasedReference, Erasure, UndoneMerge
from notifications.models import Notification
from optins.models import OptIn
from organizations.isolation import TenantModel
from organizations.models import Organization, StoredResponse
from webhooks.models import Delivery, Event, Replay

SECONDS = 3
# So few that a batch, with what belongs to its rows, does not last much longer than that.
BATCH_SIZE = 250
# In this order; what refers to their rows is deleted with them. All other models are configuration, which stays.
DELETED: list[type[TenantModel]] = [
    Delivery,
    Replay,
    Event,
    Notification,
    StoredResponse,
    RememberedCancellation,
    Import,
    ImportTurn,
    Erasure,
    ErasedReference,
    UndoneMerge,
    PossibleDuplicate,
    DuplicateSearch,
    Appointment,
    OptIn,
    Lead,
]


class Reset(NamedTuple):
    deleted: dict[str, int]
    is_complete: bool


def reset_test_data(*, organization: Organization) -> Reset:
    """Delete what integrations and staff have stored, for about `SECONDS`. `is_complete` says whether all is gone.

    Each batch is a transaction; all are one if the request has an `Idempotency-Key`. Raises Conflict unless it is a
    test organization.
    """
    if not organization.is_test:
        raise Conflict("This organization is not a test organization")
    end = time.monotonic() + SECONDS
    counts: Counter[str] = Counter()
    for model in DELETED:
        rows = model.objects.of(organization).order_by("pk")
        try:
            # Counted after each batch: those before one that fails are deleted.
            while count := delete_batch(rows, BATCH_SIZE):
                counts[model.__name__] += count
                if time.monotonic() > end:
                    break
        except (ProtectedError, IntegrityError):
            break  # a row that another request has locked or added meanwhile refers to these
        if time.monotonic() > end:
            break
    shown = {"leads": Lead, "appointments": Appointment, "opt_ins": OptIn, "events": Event}
    deleted = {name: counts[model.__name__] for name, model in shown.items()}
    return Reset(deleted, is_complete=not any(model.objects.of(organization).exists() for model in DELETED))
