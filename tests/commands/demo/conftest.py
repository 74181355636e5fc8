"""The demo, loaded once for all tests of this folder."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection, transaction

from organizations.models import Organization
from pipeline_backend.demo.organization_setup import HARBOR, NORTHWIND, find_organization
from tests.client import ApiClient
from tests.commands.runner import REAL_HASHER, CommandOutput, run


@dataclass(frozen=True)
class Loaded:
    """The demo's two organizations, and what the command said."""

    organization: Organization
    neighbor: Organization
    said: CommandOutput

    @property
    def key(self) -> str:
        """The API key that was printed."""
        return self.said.out.split("API key: ")[1].strip()

    @property
    def api(self) -> ApiClient:
        """The demo's integrator."""
        return ApiClient(self.key)


@pytest.fixture(scope="package")
def first_run(django_db_setup: None, django_db_blocker: Any) -> Iterator[Loaded]:
    """The demo in a transaction that all tests here share; they may not ask for `db`, which would end it."""
    with django_db_blocker.unblock(), transaction.atomic():
        said = run("demo")
        organization, neighbor = find_organization(NORTHWIND), find_organization(HARBOR)
        assert organization is not None
        assert neighbor is not None
        yield Loaded(organization, neighbor, said)
        transaction.set_rollback(True)


@pytest.fixture
def demo(first_run: Loaded, settings: Any) -> Iterator[Loaded]:
    """The demo; what a test does to it is checked by the database, and forgotten."""
    settings.PASSWORD_HASHERS = [*settings.PASSWORD_HASHERS, REAL_HASHER]
    with transaction.atomic():
        yield first_run
        connection.check_constraints()
        transaction.set_rollback(True)
