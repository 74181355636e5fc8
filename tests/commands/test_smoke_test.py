"""manage.py smoke_test. What it finds on a restored database is in tests/deployment/test_backup.py."""

from pytest_django import Settings

from organizations.models import Organization
from tests.client import ApiClient
from tests.commands.runner import command_error, run
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


def test_it_works_with_https_behind_a_proxy(db: None, settings: Settings) -> None:
    settings.BASE_URL, settings.ALLOWED_HOSTS = "https://pipeline.example.com", ["pipeline.example.com"]
    settings.HTTPS = settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

    assert run("smoke_test").out.splitlines() == STEPS


def test_the_first_step_that_fails_is_named(db: None, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = []

    assert command_error("smoke_test").startswith("book an appointment: expected 201, got 400: ")
    assert not Organization.objects.exists()
