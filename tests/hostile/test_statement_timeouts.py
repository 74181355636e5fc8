"""A statement of the admin times out sooner than one of the API, also on the same connection (L2 and L6)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from organizations.models import Organization, User
from tests.client import ApiClient
from tests.factories import owner_of
from tests.hostile.tenants import make_admin_client


def read_timeout() -> str:
    """Return the time-out of the connection's statements."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        (timeout,) = cursor.fetchone()
    return str(timeout)


def run_slow_statement() -> None:
    """Run a statement that takes longer than its time-out."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '50ms'")
        cursor.execute("SELECT pg_sleep(5)")


def run_many_statements() -> str:
    """Send statements that are short enough each for 1.5 seconds."""
    for _ in range(15):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.1)")
    return "done"


def test_only_statements_of_the_admin_have_the_shorter_timeout(
    set_view_code: Callable[[Callable[[], Any]], None], organization: Organization, api: ApiClient
):
    set_view_code(read_timeout)
    member, operator = make_admin_client(owner_of(organization)), Client()
    operator.force_login(User.objects.create_superuser("root@example.com", "secret-of-tests"))
    clients = {"member": member, "operator": operator, "visitor": Client()}

    admin, others = {}, []
    for name, client in clients.items():
        admin[name] = client.get("/admin/unscoped").json()["data"]
        others.append(api.get("/api/unscoped").json()["data"])
        others.append(Client().get("/unscoped").json()["data"])

    assert admin == {"member": "5s", "operator": "5s", "visitor": "5s"}
    assert others == ["30s"] * 6
    assert read_timeout() == "30s"


def test_a_page_that_takes_too_long_says_so_without_a_traceback(
    set_view_code: Callable[[Callable[[], Any]], None], organization: Organization, caplog: pytest.LogCaptureFixture
):
    set_view_code(run_slow_statement)
    client = make_admin_client(owner_of(organization))

    response = client.get("/admin/unscoped")

    assert response.status_code == 503
    assert "This page took too long" in response.content.decode()
    assert response.headers["Retry-After"] == "5"
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.django_db(transaction=True)
def test_a_page_of_many_short_statements_ends_too_but_nothing_that_writes(
    set_view_code: Callable[[Callable[[], Any]], None], organization: Organization, settings: Any, api: ApiClient
):
    settings.ADMIN_TRANSACTION_SECONDS = 1
    set_view_code(run_many_statements)
    client = make_admin_client(owner_of(organization))

    response = client.get("/admin/unscoped")

    assert response.status_code == 503
    assert "This page took too long" in response.content.decode()
    assert client.post("/admin/unscoped").json()["data"] == "done"
    assert api.get("/api/unscoped").json()["data"] == "done"
