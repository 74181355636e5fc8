"""manage.py smoke_test. What it finds on a restored database is in tests/deployment/test_backup.py."""

from organizations.models import Organization
from tests.client import ApiClient
from tests.commands.runner import run
from tests.factories import snapshot_of

STEPS = [
    "book an appointment: 201",
    "repeat the booking: 200",
    "list appointments: 200",
    "list with another organization's key: 200",
    "sign and verify its webhook: ok",
    "Everything works. Nothing was stored or sent.",
]


def test_it_tries_the_service_and_leaves_nothing_behind(organization: Organization, api: ApiClient) -> None:
    api.book()
    before = snapshot_of(organization)

    assert run("smoke_test").out.splitlines() == STEPS
    assert (Organization.objects.count(), snapshot_of(organization)) == (1, before)
