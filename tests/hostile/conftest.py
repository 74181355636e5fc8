"""Fixtures of the isolation tests: two organizations with a row in every table, and code that runs inside a request."""

from collections.abc import Callable
from typing import Any

import pytest

from notifications.models import MailPreference
from organizations.models import Membership, Organization
from tests.admin.pages import logged_in_client
from tests.admin.sample_data import create_replays, create_sample_data
from tests.client import ApiClient
from tests.factories import owner_of
from tests.hostile import unscoped_urls

ViewCode = Callable[[], Any]
RunInRequest = Callable[[ViewCode], Any]


@pytest.fixture
def both_organizations(
    organization: Organization, other_organization: Organization
) -> tuple[Organization, Organization]:
    """Create a row in every table for Acme and for Globex, and return both organizations in this order."""
    for owner, word in ((organization, "ours"), (other_organization, "zyxwv")):
        create_sample_data(owner, word)
        create_replays(owner)
        MailPreference.objects.create(organization=owner, member=Membership.objects.of(owner).first())
    return organization, other_organization


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
