"""Malformed ids in every address and every form of the admin: a refusal, never an error, and nothing changes.

Addresses come from the URL resolver, and fields from the forms that the pages show, so a new one is tried without being
listed here.
"""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.test import Client

from leads.models import Lead
from organizations.models import Organization, User
from tests.factories import owner_of, snapshot_of
from tests.hostile.forms import PageForm, collect_forms
from tests.hostile.input_counter import count_inputs
from tests.hostile.openapi import UNKNOWN_ID
from tests.hostile.routes import ADMIN_ROUTES, Route
from tests.hostile.tenants import DownloadingClient, TenantData, make_admin_client, rolled_back

DIGITS = "9" * 10_000
# `²` is numeric, but no number.
MALFORMED = ("x", "1", "0" * 32, UNKNOWN_ID, DIGITS, "²", "\0", "%00", "%ed%a0%80", "{}", "-1")
IN_EVERY_FIELD = ("x", DIGITS)
CONFIRMED = {"post": "yes", "confirmed": "yes"}

Organizations = tuple[Organization, Organization]


class Walker:
    """Sends requests as one person, each with the same data; `problems` has errors and changes."""

    def __init__(self, client: Client, organizations: Organizations, caplog: Any) -> None:
        self.client, self.organizations, self.caplog = client, organizations, caplog
        self.before = self.snapshot()
        self.problems: list[str] = []

    def snapshot(self) -> list[Any]:
        """Return all rows of the organizations."""
        return [snapshot_of(organization) for organization in self.organizations]

    def send(self, form: PageForm, changes: dict[str, object], *, may_change: bool = False) -> None:
        """Send the form with these changes, check the response and the rows, and undo what was written."""
        name = f"{form} {str(changes)[:100]}"
        with rolled_back() as writes:
            self.check(name, form.send(self.client, changes))
            if not may_change and any("_session" not in statement for statement in writes):
                self.problems += [f"{name} changed rows"] * (self.snapshot() != self.before)

    def check(self, name: str, response: Any) -> None:
        """Collect an error of the response, or in the log."""
        failed = response.status_code >= 500 or any(record.exc_info for record in self.caplog.records)
        self.problems += [f"{name}: {response.status_code}"] * failed
        self.caplog.clear()
        self.client.cookies.pop("messages", None)  # the next page would show them


@pytest.fixture
def owner(both_organizations: Organizations, settings: Any, caplog: pytest.LogCaptureFixture) -> Walker:
    """A walker that is Acme's owner."""
    settings.ADMIN_REQUESTS_PER_MINUTE = 10**9
    return Walker(make_admin_client(owner_of(both_organizations[0])), both_organizations, caplog)


@pytest.fixture
def operator(both_organizations: Organizations, settings: Any, caplog: pytest.LogCaptureFixture) -> Walker:
    """A walker that is an operator."""
    settings.ADMIN_REQUESTS_PER_MINUTE = 10**9
    client = DownloadingClient(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root@example.com", "secret-of-tests"))
    return Walker(client, both_organizations, caplog)


def test_no_form_fails_for_malformed_ids(
    owner: Walker, operator: Walker, both_organizations: Organizations, measurements: dict[str, str]
):
    acme, globex = both_organizations
    forms = collect_forms(owner.client, TenantData(acme))
    values = cycle((*MALFORMED, str(globex.pk), ["x", UNKNOWN_ID]))
    walkers = cycle((owner, operator))

    for form in forms:
        for value in IN_EVERY_FIELD if form.method == "post" else ():
            owner.send(form, dict.fromkeys(form.fields, value), may_change=True)
        # An operator has to say for which organization a row is added.
        operators_form = form.at(f"{form.url}?organization={acme.pk}") if form.url.endswith("/add/") else form
        for name, walker in zip(form.ids, walkers, strict=False):
            walker.send(form if walker is owner else operators_form, {name: next(values)})

    count_inputs(measurements, "admin fields", sum(len(form.fields) for form in forms))
    assert owner.problems + operator.problems == []


def test_no_address_fails_for_a_malformed_id(owner: Walker, operator: Walker, measurements: dict[str, str]):
    own_data, values = TenantData(owner.organizations[0]), cycle(MALFORMED)
    urls = [url for route in ADMIN_ROUTES for url in malformed_urls(route, own_data, values)]

    for url, walker in zip(urls, cycle((owner, operator, operator, owner)), strict=False):
        walker.check(f"GET {url[:200]}", walker.client.get(url))
        walker.check(f"POST {url[:200]}", walker.client.post(url, CONFIRMED))

    count_inputs(measurements, "admin addresses", 2 * len(urls))
    assert owner.problems + operator.problems == []
    assert owner.snapshot() == owner.before


def malformed_urls(route: Route, own_data: TenantData, values: Iterator[str]) -> Iterator[str]:
    """Yield the route's address with two malformed values of each argument, beside valid ones of the others."""
    valid = next(own_data.url_arguments(route))
    for name in [*route.arguments] * 2:
        yield route.build_url({**valid, name: next(values)})


@pytest.mark.parametrize("id", ["x", "1", UNKNOWN_ID])
def test_the_admin_redirects_to_no_row_by_its_content_type(owner: Walker, operator: Walker, id: str):
    path = f"/admin/r/{ContentType.objects.get_for_model(Lead).pk}/{id}/"

    responses = [walker.client.get(path) for walker in (owner, operator)]

    assert [response.status_code for response in responses] == [404, 404]


def test_a_booking_form_with_malformed_ids_is_shown_again_with_its_errors(owner: Walker, operator: Walker):
    url = f"/admin/appointments/appointment/add/?organization={owner.organizations[0].pk}"
    fields = ("lead", "event_type", "host")

    responses = [walker.client.post(url, dict.fromkeys(fields, "x")) for walker in (owner, operator)]

    for response in responses:
        errors = response.context["adminform"].form.errors
        assert [(name, errors[name]) for name in fields] == [(name, ["“x” is not a valid UUID."]) for name in fields]
    assert [response.status_code for response in responses] == [200, 200]
    assert owner.snapshot() == owner.before
