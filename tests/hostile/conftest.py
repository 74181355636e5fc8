"""Fixtures of the isolation tests: two organizations with a row in every table, and code that runs inside a request."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pytest_django import DjangoDbBlocker

from notifications.models import MailPreference
from organizations.models import MemberRole, Membership, Organization
from tests.client import ApiClient
from tests.factories import make_api, make_member, make_organization, owner_of
from tests.hostile import unscoped_urls
from tests.hostile.input_counter import OperationClient
from tests.shared_rows import clear_caches, shared_rows
from tests.staff.pages import logged_in_client
from tests.staff.sample_data import create_replays, create_sample_data

ViewCode = Callable[[], Any]
RunInRequest = Callable[[ViewCode], Any]


@pytest.fixture(scope="module")
def shared_organizations(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[list[UUID]]:
    """Create Acme and Globex with a row in every table, once for the tests of a file; return their ids."""
    with shared_rows(django_db_blocker):
        organizations = [make_organization(name) for name in ("Acme", "Globex")]
        for organization, word in zip(organizations, ("ours", "zyxwv"), strict=True):
            create_sample_data(organization, word)
            create_replays(organization)
            member = Membership.objects.of(organization).first()
            MailPreference.objects.create(organization=organization, member=member)
        clear_caches()
        with django_db_blocker.block():
            yield [organization.pk for organization in organizations]


@pytest.fixture
def both_organizations(shared_organizations: list[UUID], db: None) -> tuple[Organization, Organization]:
    """Return Acme and Globex, which have a row in every table. The other fixtures of the file must use these two."""
    acme, globex = (Organization.objects.get(pk=id) for id in shared_organizations)
    return acme, globex


class SharedOperations(NamedTuple):
    """What operations need: Acme with its key and a host, a lead, and another one's booking with `ref-0`."""

    organization_id: UUID
    key: str
    lead_id: str
    appointment_id: str


@pytest.fixture(scope="module")
def shared_operations(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[SharedOperations]:
    """Create these rows once for the tests of a file, which use `organization` and `api` below in place of others."""
    with shared_rows(django_db_blocker):
        organization = make_organization("Acme")
        make_member(organization, "hana@acme.example", role=MemberRole.CLOSER, first_name="Hana", last_name="Host")
        api = make_api(organization)
        appointment_id = api.book(external_reference="ref-0").json()["data"]["id"]
        lead_id = api.submit(email="grace@example.com").json()["data"]["lead_id"]
        clear_caches()
        with django_db_blocker.block():
            yield SharedOperations(organization.pk, api.key, lead_id, appointment_id)


@pytest.fixture
def operation_client(shared_operations: SharedOperations, db: None, measurements: dict[str, str]) -> OperationClient:
    """Return a client for Acme, which has a lead and an appointment in the paths."""
    api = ApiClient(shared_operations.key)
    return OperationClient(api, measurements, shared_operations.lead_id, shared_operations.appointment_id)


@pytest.fixture
def set_view_code(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[ViewCode], None]:
    """Install the unscoped views, and return a function that sets the code they run."""
    settings.ROOT_URLCONF = "tests.hostile.unscoped_urls"
    return lambda view_code: monkeypatch.setattr(unscoped_urls, "view_code", view_code)


@pytest.fixture(params=["api", "admin"])
def run_in_request(
    request: pytest.FixtureRequest,
    set_view_code: Callable[[ViewCode], None],
    both_organizations: tuple[Organization, Organization],
    api: ApiClient,
    organization: Organization,
) -> RunInRequest:
    """Return a function that runs code in a request of Acme's API key or owner, and returns the code's result."""
    owner = logged_in_client(owner_of(organization))

    def run(view_code: ViewCode) -> Any:
        set_view_code(view_code)
        response = api.get("/api/unscoped") if request.param == "api" else owner.get("/admin/unscoped")
        assert response.status_code == 200, response.content
        return response.json()["data"]

    return run
