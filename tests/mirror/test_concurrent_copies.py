"""Copies stay equal to the data while several clients and members change the same few rows at once.

The copies are read while the changes are made, in small pages. The last changes are read after the last one, so the
result doesn't depend on the order in which the threads run.
"""

import random
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connections
from django.test import Client

from appointments.models import Appointment
from foundation.db.timestamps import now
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_api, owner_of
from tests.mirror.acts import WEIGHTS, Acts
from tests.mirror.copies import FeedCopy, ListCopy, WebhookCopy
from tests.mirror.test_copies import START, assert_equal, start
from tests.staff.forms import form_data
from tests.staff.pages import logged_in_client

THREADS = 4
ACTS = 40  # of each thread
SLOW = {"add_custom_field", "delete_custom_field", "delete_status", "add_status", "retire_status", "add_lead_page"}


class ConcurrentActs(Acts):
    """Changes of few leads and appointments. Another thread may be about to store what a request refers to."""

    def email(self, known: int) -> str:
        return f"lead-{self.random.randint(1, 3)}@example.com"

    def appointment(self) -> Appointment:
        few = Appointment.objects.of(self.organization).order_by("created_at", "pk")[:3]
        return self.random.choice(list(few))

    def time(self) -> datetime:
        """Return a time from yesterday to in two days, often one that passes at once."""
        return now() + timedelta(seconds=self.random.choice([0.1, 1, -86_400, 3_600, 86_400, 172_800]))

    def post_form(self, client: Client, url: str, **changes: Any) -> None:
        """Send a form as it was when it was opened. It is shown again if someone else has changed the row since."""
        data = form_data(client, url, **{name: "" if value is None else value for name, value in changes.items()})
        assert client.post(url, data | {"book_anyway": "on"}).status_code in (200, 302)

    def expect(self, response: Any, *codes: int) -> None:
        super().expect(response, *codes, 200, 201, 404, 409)


@pytest.mark.django_db(transaction=True)
def test_copies_equal_the_data_after_simultaneous_changes(settings: Any) -> None:
    settings.RATE_LIMIT_PER_MINUTE = settings.ADMIN_REQUESTS_PER_MINUTE = 10**6
    chosen = random.Random(1)
    first = start("Acme", chosen, clock=None)
    organization = first.organization
    feed, lists = FeedCopy(first.api, limit="5"), ListCopy(first.api)
    lists.limit = 5

    # Of two merges of one lead at the same time one is refused (tests/merging).
    names = [name for name in WEIGHTS if name not in SLOW | {"merge_leads"}]
    weights = [WEIGHTS[name] for name in names]

    def change(number: int) -> None:
        acts = ConcurrentActs(
            organization,
            make_api(organization),
            logged_in_client(owner_of(organization)),
            first.operator,
            random.Random(number),
            None,
            first.bookings,
            first.submissions,
        )
        try:
            for name in acts.random.choices(names, weights, k=ACTS):
                getattr(acts, name)()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(THREADS) as pool:
        writers = [pool.submit(change, number) for number in range(THREADS)]
        while wait(writers, timeout=0).not_done:
            feed.catch_up()
            lists.catch_up()
    for writer in writers:
        writer.result()
    assert_equal(first, [feed, lists, WebhookCopy()], chosen)


@pytest.mark.parametrize("name", ["leads", "appointments"])
def test_rows_that_change_between_two_pages_hide_no_others(name: str, organization: Organization) -> None:
    api = make_api(organization)
    with time_machine.travel(START, tick=False) as clock:
        for number in range(5):
            assert api.book(external_reference=f"ref-{number}", lead_email=f"l{number}@example.com").status_code == 201
            clock.shift(timedelta(hours=1))
        copy = ListCopy(api)
        copy.limit = 2
        reading = copy.changed(name, "updated")
        read = {next(reading)["id"] for _ in range(2)}
        for number in (0, 4):  # the oldest and the newest, of which one is on the first page
            assert api.cancel(external_reference=f"ref-{number}").status_code == 200
        read |= {row["id"] for row in reading}

    changed = {row["id"] for row in api.get_data(f"/api/external/{name}", {"ordering": "-updated_at", "limit": 2})}
    everything = {row["id"] for row in api.get_data(f"/api/external/{name}")}
    assert everything - changed <= read


def test_a_change_between_list_and_detail_reaches_the_copy(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = make_api(organization)
    assert api.book().status_code == 201
    copy = ListCopy(api)

    def read_after_cancellation(path: str, query: Any = None) -> Any:
        if "appointments/" in path:
            assert api.cancel(notes="Ill").status_code == 200
        return ApiClient.get(api, path, query)

    with monkeypatch.context() as patch:
        patch.setattr(api, "get", read_after_cancellation)
        copy.catch_up()

    copy.catch_up()

    (appointment,) = copy.contents()["appointments"].values()
    assert appointment["notes"] == {"note": "Ill", "mention_users": []}
