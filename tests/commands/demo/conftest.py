"""The demo, created once for all tests of this package."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection, transaction

from dev.demo.organization import HARBOR, NORTHWIND, find_organization
from organizations.models import Organization
from tests.client import ApiClient
from tests.commands.runner import REAL_HASHER, CommandOutput, run


@dataclass(frozen=True)
class LoadedDemo:
    """The demo's two organizations, and the output of the command that created them."""

    organization: Organization
    other_organization: Organization
    output: CommandOutput

    @property
    def key(self) -> str:
        """The API key that the command printed."""
        return self.output.out.split("API key: ")[1].strip()

    @property
    def api(self) -> ApiClient:
        """A client with the demo's API key."""
        return ApiClient(self.key)


@pytest.fixture(scope="package")
def first_run(django_db_setup: None, django_db_blocker: Any) -> Iterator[LoadedDemo]:
    """Create the demo in a transaction that all tests of the package share."""
    # Tests must not request the fixture `db`: it would end this transaction.
    with django_db_blocker.unblock(), transaction.atomic():
        output = run("demo")
        organization, other_organization = find_organization(NORTHWIND), find_organization(HARBOR)
        assert organization is not None
        assert other_organization is not None
        yield LoadedDemo(organization, other_organization, output)
        transaction.set_rollback(True)


@pytest.fixture
def demo(first_run: LoadedDemo, settings: Any) -> Iterator[LoadedDemo]:
    """Return the demo, and roll back what the test changes."""
    settings.PASSWORD_HASHERS = [*settings.PASSWORD_HASHERS, REAL_HASHER]
    with transaction.atomic():
        yield first_run
        # Deferred constraints are checked at commit, which never comes.
        connection.check_constraints()
        transaction.set_rollback(True)
