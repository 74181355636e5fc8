"""Web server and worker behind PgBouncer with two sessions: no organization's scope reaches another client."""

import contextlib
import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit
from urllib.request import Request

import psycopg
import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client

from foundation.outbox import State
from organizations.models import Organization
from pipeline_backend.web.health import FRESH_SECONDS
from tests.client import booking_payload, opt_in_payload
from tests.factories import make_api, make_organization, owner_of
from tests.faults.backlog import make_endpoint
from tests.faults.stack import Response, Stack, wait_for
from tests.pooler.pgbouncer import PgBouncer
from tests.receiver import Receiver
from webhooks.models import Delivery

APPLICATION = "service-of-tests"
NAMES = ["acme", "globex"]
ROUNDS, CLIENTS_PER_TENANT, MAX_ATTEMPTS = 4, 2, 600
UNAVAILABLE = {0, 503}  # 0: no response, because the web server was killed
FAIL_SOME = """
    CREATE FUNCTION fail_some() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.external_reference LIKE '%fail%' THEN
            RAISE EXCEPTION 'simulated failure' USING ERRCODE = '40001';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER fail_some BEFORE INSERT ON appointments_appointment FOR EACH ROW EXECUTE FUNCTION fail_some()
"""
SESSION = """
    SELECT current_user = session_user, coalesce(current_setting('pipeline.organizations', true), ''),
           current_setting('statement_timeout'), current_setting('lock_timeout'),
           (SELECT count(DISTINCT organization_id) FROM appointments_appointment)
"""
INTERRUPT = "SELECT {function}(pid) FROM pg_stat_activity WHERE application_name = %s AND state = 'active'"
ABANDONED = "SELECT set_config('role', session_user || '_tenant', true), set_config('pipeline.organizations', %s, true)"


def postgres_url() -> str:
    """Return the URL of the tests' database."""
    database = connection.settings_dict
    login = f"{database['USER']}:{database['PASSWORD']}"
    return f"postgres://{login}@{database['HOST']}:{database['PORT']}/{database['NAME']}"


@pytest.fixture
def pgbouncer(transactional_db: None) -> Iterator[PgBouncer]:
    """Start PgBouncer with two sessions, so that every client soon meets every session."""
    with PgBouncer(urlsplit(postgres_url()), default_pool_size=2, query_wait_timeout=4) as pgbouncer:
        yield pgbouncer


@pytest.fixture
def stack(pgbouncer: PgBouncer, tmp_path: Path, settings: LazySettings) -> Iterator[Stack]:
    """Start Redis; processes that tests start use the database through PgBouncer."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Stack(tmp_path) as stack:
        stack.settings |= {
            "DATABASE_URL": pgbouncer.url(connection.settings_dict["NAME"]),
            "DATABASE_POOLER": "transaction",
            "PGAPPNAME": APPLICATION,
            "RATE_LIMIT_PER_MINUTE": "1000000",
        }
        stack.overrides |= {
            "ADMIN_REQUESTS_PER_MINUTE": 1_000_000,
            "DELIVERY_DEADLINE_SECONDS": 3,
            "DELIVERY_LEASE_SECONDS": 7,
        }
        yield stack


class Tenant:
    """An organization with an API key and a signed-in owner; all of its data has its name in it."""

    def __init__(self, name: str, stack: Stack) -> None:
        self.name, self.stack = name, stack
        self.organization: Organization = make_organization(name.capitalize())
        self.key = str(make_api(self.organization).key)
        client = Client()
        client.force_login(owner_of(self.organization).user)
        self.session = client.cookies["sessionid"].value
        self.references: set[str] = set()
        self.emails: set[str] = set()
        self.ids: list[str] = []

    def send(self, path: str, body: dict[str, Any] | None = None) -> Response:
        """Send an API request or, below /admin/, get a page. Return status and text; status 0 without a response."""
        headers = {"Cookie": f"sessionid={self.session}", "x-api-key": self.key, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        try:
            with self.stack.open(Request(self.stack.url(path), data=data, headers=headers)) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Response(response.status, response.read().decode(), headers)
        except (OSError, HTTPException):
            return Response(0, "")

    def request(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, str]:
        """Send a request again until the service is available; assert that nobody else's name is in the response."""
        for _ in range(MAX_ATTEMPTS):
            status, text, _ = self.send(path, body)
            assert not any(other in text.lower() for other in NAMES if other != self.name), f"{path}: {text}"
            if status not in UNAVAILABLE:
                return status, text
            time.sleep(0.1)
        raise AssertionError(f"{path} stays unavailable")

    def book(self, reference: str) -> None:
        """Book an appointment with a new lead."""
        body = booking_payload(external_reference=reference, lead_email=f"{reference}@{self.name}.example")
        status, text = self.request("/api/external/appointments", body)
        assert status in {200, 201}, text  # 200: the interrupted attempt has been stored
        self.ids.append(json.loads(text)["data"]["id"])
        self.references.add(reference)
        self.emails.add(body["lead_email"])

    def list_references(self) -> set[str]:
        """Return the references of all appointments in the API's list."""
        status, text = self.request("/api/external/appointments?limit=100")
        assert status == 200
        return {appointment["external_reference"] for appointment in json.loads(text)["data"]}

    def use_service(self, client: int, other: "Tenant") -> None:
        """Use it round after round, like one client."""
        for round in range(ROUNDS):
            self.use_everything(f"{self.name}-{client}-{round}", other)

    def use_everything(self, reference: str, other: "Tenant") -> None:
        """Read, write and fail through the API and the admin; assert that each response has all of the own rows."""
        known, emails = set(self.references), set(self.emails)
        assert known <= self.list_references()
        assert self.request(f"/api/external/appointments/{random.choice(self.ids)}")[0] == 200
        assert self.request(f"/api/external/appointments/{random.choice(other.ids)}")[0] == 404
        status, page = self.request("/admin/leads/lead/?view=all")
        assert status == 200
        assert {email for email in emails if email not in page} == set()
        self.book(reference)
        self.book(f"{self.name}-0")  # a reference that both clients of the organization know already
        failing = booking_payload(external_reference=f"{self.name}-fail", lead_email=f"fail@{self.name}.example")
        assert self.send("/api/external/appointments", failing).status in UNAVAILABLE
        assert self.request("/api/opt-in/submit", opt_in_payload(email=f"opt-in@{self.name}.example"))[0] in {200, 201}


class Disturber:
    """Cancels statements, ends sessions, and dies in the middle of transactions, until it is stopped."""

    def __init__(self, pooled_url: str, tenants: list[Tenant]) -> None:
        self.pooled_url, self.tenants = pooled_url, tenants
        self.is_stopped = threading.Event()
        self.counts = {"canceled": 0, "terminated": 0, "abandoned": 0}
        self.states: set[tuple[Any, ...]] = set()

    @contextmanager
    def running(self, threads: ThreadPoolExecutor) -> Iterator[None]:
        """Disturb in a thread until the block ends."""
        disturbing = threads.submit(self.run)
        try:
            yield
        finally:
            self.is_stopped.set()
        disturbing.result(timeout=60)

    def run(self) -> None:
        """Disturb, and after each time look at a session as a worker meets it."""
        with psycopg.connect(postgres_url(), autocommit=True) as direct:
            while not self.is_stopped.wait(0.05):
                self.counts["canceled"] += self.interrupt(direct, "pg_cancel_backend")
                self.counts["abandoned"] += self.abandon_transaction()
                self.look()
                if random.random() < 0.1:
                    self.counts["terminated"] += self.interrupt(direct, "pg_terminate_backend")

    def interrupt(self, direct: psycopg.Connection[Any], function: str) -> int:
        """Cancel or terminate what the service's sessions are doing right now; return how many."""
        return direct.execute(INTERRUPT.format(function=function), [APPLICATION]).rowcount

    def abandon_transaction(self) -> int:
        """Break the connection in a transaction that has a tenant's scope. Return 1 if that was possible."""
        with (
            contextlib.suppress(psycopg.OperationalError),
            contextlib.closing(psycopg.connect(self.pooled_url, application_name=APPLICATION)) as client,
        ):
            client.execute(ABANDONED, [str(random.choice(self.tenants).organization.pk)])
            with socket.socket(fileno=socket.dup(client.fileno())) as own:
                own.shutdown(socket.SHUT_RDWR)
            return 1
        return 0

    def look(self) -> None:
        """Remember what a statement without a scope meets."""
        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(self.pooled_url, autocommit=True, application_name="worker-of-tests") as client,
        ):
            self.states.update(client.execute(SESSION).fetchall())


def is_half_done(clients: "list[Future[None]]", tenants: list[Tenant]) -> bool:
    """Return whether half of the appointments are booked. Raises what a client has raised."""
    for client in clients:
        if client.done():
            client.result()
    return sum(len(tenant.references) for tenant in tenants) > len(clients) * ROUNDS / 2


def test_two_organizations_never_see_each_others_rows_and_always_see_their_own(
    stack: Stack, measurements: dict[str, str]
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FAIL_SOME)
    tenants = [Tenant(name, stack) for name in NAMES]
    disturber = Disturber(stack.settings["DATABASE_URL"], tenants)
    with Receiver() as receiver, ThreadPoolExecutor(1 + len(tenants) * CLIENTS_PER_TENANT) as threads:
        for tenant in tenants:
            make_endpoint(tenant.organization, f"{receiver.url}/{tenant.name}")
        stack.start("web", "worker")
        for tenant in tenants:
            tenant.book(f"{tenant.name}-0")

        with disturber.running(threads):
            clients = [
                threads.submit(tenant.use_service, number, other)
                for tenant, other in (tenants, tenants[::-1])
                for number in range(CLIENTS_PER_TENANT)
            ]
            wait_for(lambda: is_half_done(clients, tenants), seconds=300)
            stack.kill("web")
            stack.start("web")
            for client in clients:
                client.result(timeout=300)

        listed = {tenant.name: tenant.list_references() for tenant in tenants}
        wait_for(lambda: not Delivery.unscoped.exclude(state=State.DONE).exists())

    assert listed == {tenant.name: tenant.references for tenant in tenants}
    assert len(listed["acme"]) == 1 + CLIENTS_PER_TENANT * ROUNDS
    assert disturber.states == {(True, "", "30s", "10s", 2)}
    assert disturber.counts["abandoned"] > 0  # whether a statement is running that can be canceled is a matter of luck
    own = {f"/hook/{tenant.name}": str(tenant.organization.pk) for tenant in tenants}
    assert {(request.path, json.loads(request.body)["organization_id"]) for request in receiver.requests} == {
        *own.items()
    }
    measurements["PgBouncer: interruptions without a leak"] = ", ".join(
        f"{name} {count}" for name, count in disturber.counts.items()
    )


def test_every_error_of_pgbouncer_is_503_and_the_service_recovers_by_itself(stack: Stack, pgbouncer: PgBouncer) -> None:
    tenant = Tenant("acme", stack)
    booking = booking_payload(external_reference="acme-0")
    requests: list[tuple[str, dict[str, Any] | None]] = [
        ("/api/external/appointments", None),
        ("/api/external/appointments", booking),
        ("/admin/leads/lead/", None),
        ("/healthz", None),
        ("/readyz", None),
    ]
    stack.start("web")

    def responses() -> list[tuple[int, str | None]]:
        time.sleep(FRESH_SECONDS)  # for which a process keeps the answer to /healthz
        with ThreadPoolExecutor(len(requests)) as threads:
            sent = threads.map(lambda request: tenant.send(*request), requests)
            return [(response.status, response.headers.get("retry-after")) for response in sent]

    with pooled_session(stack, "BEGIN"), pooled_session(stack, "BEGIN"):
        without_session = responses()
    with_sessions = responses()

    pgbouncer.kill()
    without_pgbouncer = responses()
    pgbouncer.options["max_client_conn"] = 1
    pgbouncer.start()
    with pooled_session(stack):
        without_connection = responses()

    pgbouncer.kill()
    del pgbouncer.options["max_client_conn"]
    pgbouncer.start()
    recovered = responses()

    assert {*without_session, *without_pgbouncer, *without_connection} == {(503, "5")}
    assert with_sessions == [(status, None) for status in (200, 201, 200, 200, 200)]
    assert recovered == [(200, None)] * 5


def pooled_session(stack: Stack, statement: LiteralString = "SELECT 1") -> psycopg.Connection[Any]:
    """Connect through PgBouncer and run the statement; the connection is closed at the end of a `with` block."""
    stop_at = time.monotonic() + 60
    while True:
        try:
            session = psycopg.connect(stack.settings["DATABASE_URL"], autocommit=True)
            session.execute(statement)
            return session
        # PgBouncer may not have noticed yet that the last client has gone, or still be opening a session of PostgreSQL.
        except psycopg.OperationalError:
            assert time.monotonic() < stop_at
        time.sleep(0.05)
