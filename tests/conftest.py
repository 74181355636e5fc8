"""Fixtures for all tests: an organization and its API client, another organization, and a place for measurements."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.conf import settings as django_settings
from django.template import Context, Template
from django.test import override_settings
from django.test.signals import template_rendered
from django.utils.safestring import SafeString
from time_machine import Traveller

from foundation.api import rate_limits
from organizations.models import MemberRole, Membership, Organization
from tests.client import ApiClient
from tests.factories import make_api, make_member, make_organization
from tests.hostile import input_counter
from tests.shared_rows import clear_caches

pytest_plugins = ["tests.parallel"]
# On a busy machine any page can be slow, and would count as many requests.
rate_limits.REQUESTS_PER_SLOW_SECOND = 0
# On a busy machine Redis may need longer than the half second after which nothing is limited any more.
django_settings.CACHES["default"]["OPTIONS"] |= {"socket_timeout": 30, "socket_connect_timeout": 30}
# A test's requests share its transaction.
django_settings.ADMIN_TRANSACTION_SECONDS = 0
MEASUREMENTS: dict[str, str] = {}


@pytest.fixture(scope="session", autouse=True)
def _fast_passwords(django_test_environment: None) -> Iterator[None]:
    """Use a fast password hasher, also for rows that fixtures of wider scopes create."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


def _render(template: Template, context: Context) -> SafeString:
    """Render as in Django's tests, but keep the context of the page alone for `response.context`.

    Django copies that of each included template and of each widget: a tenth of a page's time.
    """
    if context.template is template and "widget" not in context:
        template_rendered.send(sender=template, template=template, context=context)
    return template.nodelist.render(context)


@pytest.fixture(scope="session", autouse=True)
def _page_contexts(django_test_environment: None) -> None:
    Template._render = _render


@pytest.fixture(autouse=True)
def _restored_settings(settings: Any) -> None:
    """Change a setting before all fixtures of a test, so that undoing this change undoes all others.

    `override_settings` in a fixture and `settings` in its test would otherwise be undone in the wrong order.
    """
    settings.PASSWORD_HASHERS = list(settings.PASSWORD_HASHERS)


@pytest.fixture(autouse=True)
def _empty_caches(_restored_settings: None) -> Iterator[None]:
    """Start each test with empty caches and rate limits."""
    yield
    clear_caches()


@pytest.fixture
def stopped_clock() -> Iterator[Traveller]:
    """Stop the time, so that no window of a rate limit ends during the test."""
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:
        yield clock


@pytest.fixture
def organization(db: None) -> Organization:
    """Create Acme, with its ten statuses and the owner owner@acme.example."""
    return make_organization("Acme")


@pytest.fixture
def other_organization(db: None) -> Organization:
    """Create Globex, whose data must never appear in a response to Acme."""
    return make_organization("Globex")


@pytest.fixture
def api(organization: Organization) -> ApiClient:
    """Create an API key of Acme, and return a client that uses it."""
    return make_api(organization)


@pytest.fixture
def other_api(other_organization: Organization) -> ApiClient:
    """Create an API key of the other organization, and return a client that uses it."""
    return make_api(other_organization)


@pytest.fixture
def host(organization: Organization) -> Membership:
    """Create an active member of Acme, hana@acme.example."""
    return make_member(organization, "hana@acme.example", role=MemberRole.CLOSER, first_name="Hana", last_name="Host")


@pytest.fixture
def measurements() -> dict[str, str]:
    """Return a dict for measurements by name; they are printed at the end of the run."""
    return MEASUREMENTS


# The last lines of a run: title, and the name of the measurement that it shows.
SUMMARY_LINES = {
    "load held": "soak, load held",
    "faults survived": "soak, faults survived",
    "bad inputs tried": "hostile inputs tried",
    "writes lost": "soak, writes lost",
}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the measurements of a parallel worker to the main process, which prints them."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput |= {"measurements": MEASUREMENTS, "input_counts": dict(input_counter.COUNTS)}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the measurements of a parallel worker; a crashed one has sent none."""
    sent = getattr(node, "workeroutput", None) or {}
    MEASUREMENTS.update(sent.get("measurements", {}))
    input_counter.COUNTS.update(sent.get("input_counts", {}))
    if input_counter.COUNTS:
        MEASUREMENTS[input_counter.MEASUREMENT] = input_counter.summary()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print all measurements, and the most important ones once more below."""
    if MEASUREMENTS:
        terminalreporter.section("measurements")
    for name, value in MEASUREMENTS.items():
        terminalreporter.write_line(f"{name}: {value}")
    if MEASUREMENTS.keys() & set(SUMMARY_LINES.values()):
        terminalreporter.section("summary")
    for title, name in SUMMARY_LINES.items():
        if name in MEASUREMENTS:
            terminalreporter.write_line(f"{title:<18}{MEASUREMENTS[name]}")
