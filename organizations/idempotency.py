"""Responses that are stored for repeats of the same request, by its `Idempotency-Key` (docs/interface.md, G57 to G60).

1. A crash never leaves the work without its response, or the response without the work: one transaction stores both.
2. Of two requests with the same key at the same time, one is refused: a lock that lasts as long as the transaction.
3. Neither the key nor the request is stored, only hashes of them, and no signing secret. Erasing a lead empties
   responses that name it.
"""

import hashlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from rest_framework.response import Response

from foundation.api.exceptions import Conflict, KeyReused, RequestInProgress
from foundation.api.fields import UUID as UUID_PATTERN
from foundation.api.responses import JsonRenderer
from foundation.api.sql_serializers import Json
from foundation.db.deletes import delete_in_batches
from foundation.db.expressions import array_of
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from organizations.isolation import bypass_rls
from organizations.models import Organization, StoredResponse

KEPT = timedelta(hours=24)
# A repeat of these can get another response.
NOT_FINAL = {401, 403, 408, 429}
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"
HEADERS = ("Preference-Applied",)


@atomic_with_retry
def respond_once(
    *, organization: Organization, name: str, request_hash: bytes, respond: Callable[[], Response]
) -> Response:
    """Return the response stored under the name, or call `respond` and store what it returns, unless that can change.

    Raises RequestInProgress while another request with the name lasts, and KeyReused if the name belongs to a request
    with another hash. An exception of `respond` undoes everything.
    """
    key_hash = hashlib.sha256(name.encode()).digest()
    with connection.cursor() as cursor:
        cursor.execute(TRY_LOCK, [f"{organization.pk} {key_hash.hex()}"])
        if cursor.fetchone() != (True,):
            raise RequestInProgress
    rows = StoredResponse.objects.of(organization)
    stored: StoredResponse | None = rows.filter(key_hash=key_hash, created_at__gt=now() - KEPT).first()
    if stored:
        return replay(stored, request_hash)
    response = respond()
    if response.status_code < 500 and response.status_code not in NOT_FINAL:
        body = JsonRenderer().render(without_secret(response.data)).decode()
        new = StoredResponse(
            organization=organization,
            key_hash=key_hash,
            request_hash=request_hash,
            status_code=response.status_code,
            headers={name: response[name] for name in HEADERS if name in response},
            body=body,
            ids=sorted({UUID(match[0]) for match in UUID_PATTERN.finditer(body)}),
        )
        columns = ["created_at", "request_hash", "status_code", "headers", "body", "ids"]
        # The conflict is with an expired row.
        rows.bulk_create(
            [new], update_conflicts=True, unique_fields=["organization", "key_hash"], update_fields=columns
        )
    return response


def without_secret(data: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return a response's data with null for a signing secret, which is stored encrypted only."""
    shown = data.get("data") if isinstance(data, dict) else None
    return data | {"data": shown | {"secret": None}} if isinstance(shown, dict) and "secret" in shown else data


def replay(stored: StoredResponse, request_hash: bytes) -> Response:
    if bytes(stored.request_hash) != request_hash:
        raise KeyReused
    if stored.body is None:
        raise Conflict("The response that was stored for this Idempotency-Key was erased with a lead")
    data = Json(stored.body) if stored.body else None
    return Response(data, status=stored.status_code, headers={**stored.headers, "Idempotent-Replayed": "true"})


def erase_responses(*, organization: Organization, ids: Sequence[UUID]) -> None:
    """Empty the stored responses that name one of these rows."""
    # Under row-level security PostgreSQL would not use the index of the ids.
    with bypass_rls():
        StoredResponse.objects.of(organization).filter(ids__overlap=array_of(ids)).update(body=None, ids=[])


def prune_responses(*, organization: Organization) -> int:
    old = StoredResponse.objects.of(organization).filter(created_at__lt=now() - KEPT)
    return delete_in_batches(old.order_by("created_at"))
