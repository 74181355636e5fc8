"""Scopes in sessions that PgBouncer lends for one transaction. `test_suite.py` runs this file with the setting."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.conf import LazySettings, settings
from django.db import DatabaseError, OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from foundation.metrics.definitions import request_times
from leads.models import Source
from organizations.isolation import bypass_rls
from organizations.isolation.row_level_security import current_scope, scope_wrapper, tenant_scope
from organizations.models import Organization
from pipeline_backend.web.metrics import request_metrics

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("organization", "other_organization")]
SESSION = """
SELECT current_user = session_user, coalesce(current_setting('pipeline.organizations', true), ''),
       current_setting('TimeZone'), current_setting('statement_timeout'), current_setting('lock_timeout')
"""


@contextmanager
def request_of(name: str) -> Iterator[None]:
    """Run the block's statements in the scope of a request with a key of this organization."""
    scope = tenant_scope(Organization.objects.get(name=name).pk)
    scope_wrapper()
    token = current_scope.set(scope)
    try:
        yield
    finally:
        current_scope.reset(token)


def visible_names() -> list[str]:
    """Return the names of the organizations that a statement sees."""
    return sorted(Organization.objects.values_list("name", flat=True))


@transaction.atomic
def visible_names_in_transaction() -> list[str]:
    """Return the same. Each call is a transaction of its own and enters the same block."""
    return visible_names()


@transaction.atomic
def bypass_and_fail() -> None:
    """See every organization, then fail in PostgreSQL."""
    with bypass_rls(), connection.cursor() as cursor:
        assert visible_names() == ["Acme", "Globex"]
        cursor.execute("SELECT 1 / 0")


@transaction.atomic
def bypass_and_roll_back() -> None:
    """See every organization, then roll back."""
    with bypass_rls():
        assert visible_names() == ["Acme", "Globex"]
    transaction.set_rollback(True)


@transaction.atomic
def wait_until_canceled() -> None:
    """Run a statement that takes longer than its time-out."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '20ms'")
        cursor.execute("SELECT pg_sleep(60)")


def session_state() -> tuple[object, ...]:
    """Return what the session has outside of a scope."""
    connection.execute_wrappers.clear()
    with connection.cursor() as cursor:
        cursor.execute(SESSION)
        state: tuple[object, ...] = cursor.fetchone()
        return state


CLEAN = (True, "", "UTC", "30s", "10s")


def test_every_statement_and_every_transaction_has_the_scope_and_leaves_none_behind() -> None:
    with request_of("Acme"):
        seen = [
            visible_names(),
            visible_names(),
            visible_names_in_transaction(),
            visible_names_in_transaction(),
            visible_names(),
        ]
    with request_of("Globex"):
        seen_by_other = [visible_names_in_transaction(), visible_names()]

    assert seen == [["Acme"]] * 5
    assert seen_by_other == [["Globex"]] * 2
    assert session_state() == CLEAN
    assert visible_names() == ["Acme", "Globex"]


def test_the_scope_follows_changes_and_rollbacks_within_a_transaction() -> None:
    seen = []
    with request_of("Acme"), transaction.atomic():
        seen.append(visible_names())
        for _ in range(2):
            with pytest.raises(DatabaseError):
                bypass_and_fail()
            seen.append(visible_names())
            bypass_and_roll_back()
            seen.append(visible_names())
        with bypass_rls():
            seen.append(visible_names())
        seen.append(visible_names())

    assert seen == [["Acme"]] * 5 + [["Acme", "Globex"], ["Acme"]]
    assert session_state() == CLEAN


def test_a_failed_or_canceled_statement_leaves_no_scope_behind() -> None:
    with request_of("Acme"):
        with pytest.raises(DatabaseError, match="division by zero"):
            connection.cursor().execute("SELECT 1 / 0")
        with pytest.raises(OperationalError, match="canceling statement"):
            wait_until_canceled()
        seen = visible_names_in_transaction()

    assert seen == ["Acme"]
    assert session_state() == CLEAN


def test_what_a_session_would_keep_is_not_used() -> None:
    with request_of("Acme"):
        for _ in range(20):
            visible_names()
        ids = list(Source.unscoped.values_list("organization_id", flat=True).iterator(chunk_size=1))
        with connection.cursor() as cursor:
            cursor.executemany("SELECT name FROM organizations_organization WHERE name = %s", [("Acme",), ("Globex",)])
            count = cursor.rowcount
            cursor.execute("SELECT count(*) FROM pg_prepared_statements")
            (prepared,) = cursor.fetchone()

    assert settings.DATABASE_POOLER == "transaction"
    assert len(set(ids)) <= 1
    assert (count, prepared) == (1, 0)


def test_metrics_contain_the_time_of_a_statement(settings: LazySettings) -> None:
    settings.METRICS_TOKEN = "test-token-0123456789"

    def sleep(_request: HttpRequest) -> HttpResponse:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.1)")
        return HttpResponse()

    with request_of("Acme"):
        request_metrics(sleep)(RequestFactory().get("/"))

    assert request_times.database >= 0.1
