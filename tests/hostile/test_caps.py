"""No table of an organization grows without bound, even if many requests add rows at once (abuse case L5)."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import connections
from django.test import Client
from django.utils.module_loading import import_string

from accounts.invitations import INVITATIONS_PER_DAY, VALID_FOR
from accounts.passwords import PASSWORD_HASHES_AT_ONCE, SECONDS_TO_WAIT
from accounts.sign_in_limits import SUCCESS_SECONDS
from appointments.models import EventType
from appointments.services import save_event_type
from foundation.api.exceptions import DomainError
from foundation.db.timestamps import now
from leads.imports.services import MAX_STORED
from leads.models import CustomField
from leads.services import save_custom_field
from notifications.daily_limit import MAILS_PER_DAY
from organizations.actors import SYSTEM
from organizations.models import ApiKey, Organization
from organizations.services import issue_key, revoke_key, rotate_key
from pipeline_backend.web.credentials import ANONYMOUS_PAGES_PER_MINUTE
from statuses.models import Status
from statuses.services import save_status
from tests.client import ApiClient
from tests.commands.runner import command_error
from tests.contract.assertions import assert_invalid_fields
from tests.contract.concurrency import THREADS, field_values, run_concurrently, status_codes
from tests.factories import (
    make_api,
    make_custom_field,
    make_event_type,
    make_organization,
    owner_of,
    snapshot_of,
    summary_of,
)
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client
from webhooks.models import Endpoint
from webhooks.services import add_endpoint, change_endpoint

URL = "https://hooks.example.com/pipeline"
ENDPOINTS_FULL = "An organization can have at most 2 webhook endpoints. Change one that is no longer needed instead."
KEYS_FULL = "An organization can have at most 2 active API keys. Revoke one that is no longer needed first."
CUSTOM_FIELDS_FULL = "An organization can have at most 2 custom fields. Delete one that is no longer needed first."
EVENT_TYPES_FULL = "An organization can have at most 2 event types. Delete one that no appointment uses first."
STATUSES_FULL = "An organization can have at most 10 statuses. Delete one that is not used first."
OPTIONS_FULL = "The choices of an organization can have at most 2 options together."
NEW_TYPE_REFUSED = "event_type_name is new, but an organization can have at most 2 event types; use one that exists"


LIMITS = [
    "webhooks.services.MAX_WEBHOOK_ENDPOINTS",
    "organizations.services.MAX_API_KEYS",
    "leads.services.MAX_CUSTOM_FIELDS",
    "appointments.services.configuration.MAX_EVENT_TYPES",
    "appointments.services.booking.MAX_EVENT_TYPES",
    "statuses.services.MAX_STATUSES",
    "leads.services.MAX_OPTIONS",
]


def limit_all(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let an organization have this many of each kind."""
    for limit in LIMITS:
        monkeypatch.setattr(limit, number)


@pytest.fixture
def _two_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_all(monkeypatch, 2)


@pytest.fixture
def owner(organization: Organization) -> Client:
    """Return a client logged in as Acme's owner."""
    return logged_in_client(owner_of(organization))


def add_in_admin(client: Client, model: type[Any], **fields: object) -> list[str]:
    """Send the form that adds a row. Return the errors that it shows then, none if the row was added."""
    url = admin_url(model, "add")
    response = client.post(url, form_data(client, url, **fields))
    is_form = response.status_code == 200 and "adminform" in (response.context or {})
    return form_errors(response) if is_form else []


def run_at_once(function: Callable[[int], object]) -> int:
    """Call the function with a number in each of many threads at once. Return how many calls raised no DomainError."""
    start = Barrier(THREADS)

    def call(number: int) -> bool:
        start.wait(timeout=30)
        try:
            function(number)
        except DomainError:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(call, range(THREADS)))


def test_the_defaults_are_those_of_the_documentation() -> None:
    assert (
        *map(import_string, LIMITS),
        configured.WEBHOOKS_PER_HOST_PER_MINUTE,
    ) == (20, 50, 100, 1000, 1000, 200, 2000, 1200)
    assert (
        configured.ADMIN_REQUESTS_PER_MINUTE,
        INVITATIONS_PER_DAY,
        MAILS_PER_DAY,
        PASSWORD_HASHES_AT_ONCE,
        configured.PASSWORD_RESET_TIMEOUT,
    ) == (300, 100, 5000, 1, 3600)
    assert (ANONYMOUS_PAGES_PER_MINUTE, MAX_STORED, SECONDS_TO_WAIT) == (120, 10**8, 5)
    assert timedelta(seconds=SUCCESS_SECONDS) == VALID_FOR == timedelta(days=7)


@pytest.mark.parametrize(
    ("name", "value", "max_value"),
    [
        ("RATE_LIMIT_PER_MINUTE", "9" * 5000, 10**9),
        ("KEEP_DELIVERIES_DAYS", "9999999999", 36_500),
        ("KEEP_SECURITY_EVENTS_DAYS", "36501", 36_500),
        ("KEEP_DELIVERIES_DAYS", "0", 36_500),
    ],
)
def test_an_invalid_setting_stops_the_start_and_is_named(name: str, value: str, max_value: int) -> None:
    result = subprocess.run(
        [sys.executable, "-c", "import pipeline_backend.settings"],
        cwd=configured.ROOT,
        env={**os.environ, name: value},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert result.returncode == 1
    assert result.stderr.endswith(f"ImproperlyConfigured: {name} must be a whole number from 1 to {max_value}\n")


@pytest.mark.usefixtures("_two_of_each")
class TestRefusals:
    """What the admin, the commands and the API say, and that nothing has changed then."""

    def test_one_endpoint_too_many_is_refused(
        self, owner: Client, organization: Organization, other_organization: Organization
    ) -> None:
        for _ in range(2):
            add_endpoint(organization=organization, url=URL)
        before = snapshot_of(organization)

        errors = add_in_admin(owner, Endpoint, url=URL)
        error = command_error("create_webhook_endpoint", organization.pk, URL)

        assert (errors, error) == ([ENDPOINTS_FULL], ENDPOINTS_FULL)
        assert snapshot_of(organization) == before
        assert add_endpoint(organization=other_organization, url=URL)[0].url == URL

    def test_one_key_too_many_is_refused(
        self, owner: Client, organization: Organization, other_organization: Organization
    ) -> None:
        first, second = (issue_key(organization=organization, name="Zapier")[0] for _ in range(2))

        errors = add_in_admin(owner, ApiKey, name="Make")
        error = command_error("create_api_key", organization.pk, "--name", "Make")

        assert (errors, error) == ([KEYS_FULL], KEYS_FULL)
        assert set(ApiKey.objects.of(organization)) == {first, second}
        assert issue_key(organization=other_organization, name="Zapier")[0].is_live

    def test_revoked_and_expired_keys_do_not_count(self, owner: Client, organization: Organization) -> None:
        revoked, expired = (issue_key(organization=organization, name="Zapier")[0] for _ in range(2))
        revoke_key(key=revoked)
        ApiKey.objects.of(organization).filter(pk=expired.pk).update(expires_at=now() - timedelta(seconds=1))

        for _ in range(2):
            assert add_in_admin(owner, ApiKey, name="Make") == []

        assert add_in_admin(owner, ApiKey, name="Make") == [KEYS_FULL]

    def test_a_rotation_counts_unless_the_old_key_stops_at_once(
        self, owner: Client, organization: Organization
    ) -> None:
        key, _ = (issue_key(organization=organization, name="Zapier")[0] for _ in range(2))
        url = admin_url(ApiKey, "rotate", key.pk)

        refused = owner.post(url, {"overlap": "7d"})

        assert form_errors(refused) == [KEYS_FULL]
        key.refresh_from_db()
        assert (key.expires_at, ApiKey.objects.of(organization).count()) == (None, 2)
        assert rotate_key(key=key, overlap="now")[0].is_live

    def test_one_custom_field_too_many_is_refused(
        self, owner: Client, organization: Organization, other_organization: Organization
    ) -> None:
        make_custom_field(organization, "LEAD", "budget")
        field = make_custom_field(organization, "APPOINTMENT", "room")
        before = snapshot_of(organization)

        errors = add_in_admin(owner, CustomField, entity="LEAD", type="TEXT", label="Size", key="size")

        assert errors == [CUSTOM_FIELDS_FULL]
        assert snapshot_of(organization) == before
        field.label = "Place"
        assert save_custom_field(organization=organization, actor=SYSTEM, field=field).label == "Place"
        size = CustomField(entity="LEAD", key="size", label="Size")
        assert save_custom_field(organization=other_organization, actor=SYSTEM, field=size).pk

    def test_one_status_too_many_is_refused(
        self, owner: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("statuses.services.MAX_STATUSES", 10)
        fields = {"name": "Waiting", "role": "FOLLOW_UP", "type": "LEAD"}
        lost = Status.objects.of(organization).get(role="LOST")

        errors = add_in_admin(owner, Status, **fields)

        assert (errors, Status.objects.of(organization).count()) == ([STATUSES_FULL], 10)
        lost.name = "Gone"
        assert save_status(organization=organization, actor=SYSTEM, status=lost).name == "Gone"

    def test_one_option_too_many_is_refused_and_fields_that_have_more_keep_them(
        self, owner: Client, organization: Organization
    ) -> None:
        field = make_custom_field(organization, "LEAD", "budget", type="SELECT", options=["low", "high", "none"])
        select = {"entity": "LEAD", "type": "SELECT", "label": "Size", "key": "size"}

        errors = add_in_admin(owner, CustomField, **select, options="small")

        assert (errors, CustomField.objects.of(organization).count()) == ([OPTIONS_FULL], 1)
        field.options = ["low", "medium", "high"]
        assert save_custom_field(organization=organization, actor=SYSTEM, field=field).options[1] == "medium"
        field.options = ["low"]
        save_custom_field(organization=organization, actor=SYSTEM, field=field)
        assert add_in_admin(owner, CustomField, **select, options="small") == []

    def test_one_event_type_too_many_is_refused_in_the_admin(
        self, owner: Client, organization: Organization, other_organization: Organization
    ) -> None:
        make_event_type(organization, "Demo")
        event_type = make_event_type(organization, "Strategy call")
        before = snapshot_of(organization)

        errors = add_in_admin(owner, EventType, name="Check-in", call_category="SALES_CALL")

        assert errors == [EVENT_TYPES_FULL]
        assert snapshot_of(organization) == before
        event_type.name = "Strategy session"
        assert (
            save_event_type(organization=organization, actor=SYSTEM, event_type=event_type).name == "Strategy session"
        )
        assert save_event_type(organization=other_organization, actor=SYSTEM, event_type=EventType(name="Check-in")).pk

    def test_a_booking_of_one_event_type_too_many_is_400_and_known_ones_can_be_booked(
        self, api: ApiClient, other_api: ApiClient, organization: Organization
    ) -> None:
        make_event_type(organization, "Demo")
        strategy = make_event_type(organization, "Strategy call")
        before = snapshot_of(organization)

        refused = api.book(event_type_name="Check-in")

        assert_invalid_fields(refused, "event_type_name")
        assert refused.json()["message"] == NEW_TYPE_REFUSED
        assert snapshot_of(organization) == before
        assert api.book(external_reference="by-name", event_type_name="DEMO").status_code == 201
        by_id = api.book(external_reference="by-id", event_type_id=str(strategy.pk), event_type_name="Check-in")
        assert by_id.status_code == 201
        assert other_api.book(event_type_name="Check-in").status_code == 201

    def test_an_organization_that_has_more_keeps_what_it_has(
        self, api: ApiClient, owner: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        endpoints = [add_endpoint(organization=organization, url=URL)[0] for _ in range(2)]
        issue_key(organization=organization, name="Zapier")
        for name in ("Demo", "Strategy call"):
            make_event_type(organization, name)
            make_custom_field(organization, "LEAD", name.lower()[:4])
        limit_all(monkeypatch, 1)

        change = {"url": f"{URL}/new", "description": "", "event_types": []}
        stopped = change_endpoint(endpoint=endpoints[0], is_active=False, **change)
        started = change_endpoint(endpoint=endpoints[0], is_active=True, **change)

        assert (stopped.is_active, started.is_active, started.url) == (False, True, f"{URL}/new")
        assert api.book(event_type_name="Demo").status_code == 201
        assert add_in_admin(owner, Endpoint, url=URL) == [ENDPOINTS_FULL.replace("2", "1")]
        counts = [model.objects.of(organization).count() for model in (Endpoint, ApiKey, CustomField, EventType)]
        assert counts == [2, 2, 2, 2]


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    """Of many simultaneous requests exactly as many succeed as the limit allows."""

    @pytest.fixture
    def organization(self, monkeypatch: pytest.MonkeyPatch) -> Organization:
        """Create Acme, with a limit of five rows of each kind."""
        limit_all(monkeypatch, 5)
        return make_organization("Acme")

    def test_endpoints(self, organization: Organization) -> None:
        added = run_at_once(lambda number: add_endpoint(organization=organization, url=URL))

        assert (added, Endpoint.objects.of(organization).count()) == (5, 5)

    def test_keys(self, organization: Organization) -> None:
        issued = run_at_once(lambda number: issue_key(organization=organization, name=f"Key {number}"))

        assert (issued, ApiKey.objects.of(organization).count()) == (5, 5)

    def test_rotations(self, organization: Organization) -> None:
        keys = [issue_key(organization=organization, name=f"Key {number}")[0] for number in range(3)]

        rotated = run_at_once(lambda number: rotate_key(key=keys[number % 3], overlap="7d"))

        assert (rotated, ApiKey.objects.of(organization).count()) == (2, 5)

    def test_custom_fields(self, organization: Organization) -> None:
        added = run_at_once(
            lambda number: save_custom_field(
                organization=organization,
                actor=SYSTEM,
                field=CustomField(entity="LEAD", key=f"k{number}", label="Field"),
            )
        )

        assert (added, CustomField.objects.of(organization).count()) == (5, 5)

    def test_options(self, organization: Organization) -> None:
        fields = [make_custom_field(organization, "LEAD", f"k{number}", type="SELECT") for number in range(THREADS)]

        def add_option(number: int) -> object:
            fields[number].options = ["yes"]
            return save_custom_field(organization=organization, actor=SYSTEM, field=fields[number])

        assert run_at_once(add_option) == 5

    def test_event_types_that_bookings_create(self, organization: Organization) -> None:
        api = make_api(organization)

        def book(number: int) -> Callable[[ApiClient], Any]:
            name = f"Type {number}"
            return lambda client: client.book(
                external_reference=name, lead_email=f"lead{number}@example.com", event_type_name=name
            )

        responses = run_concurrently(api.key, *map(book, range(THREADS)))

        assert status_codes(responses) == {201: 5, 400: THREADS - 5}
        summary = summary_of(organization)
        assert (summary["event_types"], summary["appointments"], summary["leads"]) == (5, 5, 5)

    def test_the_last_event_type_is_for_everyone_who_names_it(self, organization: Organization) -> None:
        api = make_api(organization)
        for number in range(4):
            make_event_type(organization, f"Type {number}")

        def book(number: int) -> Callable[[ApiClient], Any]:
            return lambda client: client.book(
                external_reference=f"ref-{number}", lead_email=f"lead{number}@example.com", event_type_name="The last"
            )

        responses = run_concurrently(api.key, *map(book, range(THREADS)))

        assert status_codes(responses) == {201: THREADS}
        assert len(field_values(responses, "id")) == THREADS
        assert EventType.objects.of(organization).count() == 5
