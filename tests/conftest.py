"""What every test may ask for: an organization and its integrator, a stranger beside them, and a place for figures."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches

from organizations.models import Membership, Organization, Role
from pipeline_backend.outbox import wakeup
from tests.client import ApiClient
from tests.factories import make_api, make_member, make_organization

MEASUREMENTS: dict[str, str] = {}


@pytest.fixture(autouse=True)
def _quick_and_fresh(settings: Any) -> Iterator[None]:
    """Passwords cost nothing here, and rate limits start anew for each test."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    yield
    for name in ("default", "memory"):
        caches[name].clear()
    wakeup.circuit_open_until = 0.0


@pytest.fixture
def organization(db: None) -> Organization:
    """Acme, with its ten statuses and owner@acme.example."""
    return make_organization("Acme")


@pytest.fixture
def other_organization(db: None) -> Organization:
    """Another organization, which must never be seen."""
    return make_organization("Globex")


@pytest.fixture
def api(organization: Organization) -> ApiClient:
    """Acme's integrator."""
    return make_api(organization)


@pytest.fixture
def other_api(other_organization: Organization) -> ApiClient:
    """The other organization's integrator."""
    return make_api(other_organization)


@pytest.fixture
def host(organization: Organization) -> Membership:
    """An active member of Acme, hana@acme.example."""
    return make_member(organization, "hana@acme.example", role=Role.CLOSER, first_name="Hana", last_name="Host")


@pytest.fixture
def measurements() -> dict[str, str]:
    """Write a figure here, and it stands at the end of the run."""
    return MEASUREMENTS


# The last lines of a run: what the figures come to.
SUMMARY_LINES = {
    "load held": "soak, load held",
    "faults survived": "soak, faults survived",
    "bad inputs tried": "hostile inputs tried",
    "writes lost": "soak, writes lost",
}


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show what was measured, and what it comes to."""
    if MEASUREMENTS:
        terminalreporter.section("figures")
    for name, value in MEASUREMENTS.items():
        terminalreporter.write_line(f"{name}: {value}")
    if MEASUREMENTS.keys() & set(SUMMARY_LINES.values()):
        terminalreporter.section("what held")
    for title, name in SUMMARY_LINES.items():
        if name in MEASUREMENTS:
            terminalreporter.write_line(f"{title:<18}{MEASUREMENTS[name]}")
