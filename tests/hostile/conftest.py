"""Acme and Globex with one of everything, and Acme's two doors."""

from collections.abc import Callable
from typing import Any

import pytest

from notifications.models import MailPreference
from organizations.models import Membership, Organization
from tests.admin.pages import logged_in_client
from tests.admin.sample_data import create_replays, create_sample_data
from tests.client import ApiClient
from tests.factories import owner_of
from tests.hostile import forgetful

Ask = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def worlds(organization: Organization, other_organization: Organization) -> tuple[Organization, Organization]:
    """Both, with a row in every table."""
    for whose, word in ((organization, "ours"), (other_organization, "zyxwv")):
        create_sample_data(whose, word)
        create_replays(whose)
        MailPreference.objects.create(organization=whose, member=Membership.objects.of(whose).first())
    return organization, other_organization


@pytest.fixture
def forget(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Choose what the forgetful doors do."""
    settings.ROOT_URLCONF = "tests.hostile.forgetful"
    return lambda act: monkeypatch.setattr(forgetful, "act", act)


@pytest.fixture(params=["api", "admin"])
def ask(request: Any, forget: Any, worlds: Any, api: ApiClient, organization: Organization) -> Ask:
    """Do something while Acme's integrator is served, or its owner: the answer's data."""
    owner = logged_in_client(owner_of(organization))

    def asked(act: Callable[[], Any]) -> Any:
        forget(act)
        answer = api.get("/api/forgetful") if request.param == "api" else owner.get("/admin/forgetful")
        assert answer.status_code == 200, answer.content
        return answer.json()["data"]

    return asked
