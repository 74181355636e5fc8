"""Copies of our data that integrators keep by docs/webhooks.md equal the data, after any changes.

Each test makes random changes in two organizations and keeps three copies of each: by webhooks that arrive out of order
and repeatedly, by the list of events, and by the lists of changed rows. `MIRROR_SEEDS=7,8` chooses other changes,
`MIRROR_ACTS=1000` how many there are for a seed.
"""

import json
import os
import random
import time
from itertools import pairwise
from typing import Any

import pytest
import time_machine
from django.test import Client

from organizations.models import MemberRole, Organization, User
from organizations.services import add_member
from tests.client import ApiClient
from tests.document import event_errors
from tests.factories import events_of, make_api, make_member, make_organization, owner_of
from tests.mirror.acts import Acts
from tests.mirror.copies import LISTS, Copy, FeedCopy, ListCopy, Row, WebhookCopy
from tests.staff.pages import logged_in_client
from webhooks.models import Delivery, Event
from webhooks.services import add_endpoint
from webhooks.topics import topics

START = "2026-12-01T09:30:00Z"
SEEDS = [int(seed) for seed in os.environ.get("MIRROR_SEEDS", "1,2").split(",")]
ACTS = int(os.environ.get("MIRROR_ACTS", "150"))
ACTS_BETWEEN_POLLS = 5
BODIES_COMPARED = 50  # with the OpenAPI document, of those received
# Fields whose values change without a new version of the row, and the version.
UNTRACKED = {"updated_at", "lead", "opt_ins", "appointment_type"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_copy_equals_the_data(seed: int, settings: Any) -> None:
    settings.RATE_LIMIT_PER_MINUTE = 10**6
    chosen = random.Random(seed)
    with time_machine.travel(START, tick=False) as clock:
        everyone = [start(name, chosen, clock) for name in ("Acme", "Globex")]
        both = User.objects.create_user("both@members.example", first_name="Both")
        for acts in everyone:
            add_member(organization=acts.organization, user=both, role=MemberRole.SETTER)
        polled = {acts.organization.name: [FeedCopy(acts.api), ListCopy(acts.api)] for acts in everyone}
        for number in range(ACTS):
            acts = chosen.choice(everyone)
            acts.act()
            if number % ACTS_BETWEEN_POLLS == 0:
                chosen.choice(polled[acts.organization.name]).catch_up()
        everyone[0].act_at_least_once()
        recorded = {type for acts in everyone for type in events_of(acts.organization)}
        assert sorted(topics().keys() - recorded - {"lead.erased"}) == ["webhook.test"]
        for acts in everyone:
            copies = [*polled[acts.organization.name], WebhookCopy()]
            assert_equal(acts, copies, chosen)


def start(name: str, chosen: random.Random, clock: time_machine.Traveller) -> Acts:
    """Return an organization with members, custom fields, one lead, one appointment, and an endpoint for all events."""
    organization = make_organization(name)
    add_endpoint(organization=organization, url=f"https://hooks.{name.lower()}.example/in")
    for word in ("hana", "seth", "tom"):
        make_member(organization, f"{word}@{name.lower()}.example", first_name=word.capitalize())
    operator = Client()
    operator.force_login(User.objects.create_superuser(f"root@{name.lower()}.example"))
    admin = logged_in_client(owner_of(organization))
    acts = Acts(organization, make_api(organization), admin, operator, chosen, clock)
    for _ in range(3):
        acts.add_custom_field()
    acts.add_status()
    acts.submit()
    acts.book()
    return acts


def assert_equal(acts: Acts, copies: list[Any], chosen: random.Random) -> None:
    """Let the copies catch up, and assert that they have what the lists and details show."""
    feed, lists, webhooks = copies
    wait_for_events(acts.organization)
    feed.catch_up()
    lists.catch_up()
    received = out_of_order(acts.organization, chosen)
    webhooks.receive(received)
    expected = read(acts.api)
    lines = [line for copy in copies for line in differences(copy, expected)]
    bodies = [body for _, body in received]
    lines += unexplained_changes(bodies)
    lines += event_errors(bodies[:BODIES_COMPARED])
    assert not lines, "\n".join(lines[:20])


def wait_for_events(organization: Organization) -> None:
    """Wait until the events list has all events: it waits for every transaction of the server, also autovacuum's."""
    events = Event.objects.of(organization)
    for _ in range(600):
        if events.visible().count() == events.count():
            return
        time.sleep(0.1)


def out_of_order(organization: Organization, chosen: random.Random) -> list[tuple[str, Row]]:
    """Return what the organization's endpoint gets, shuffled, a third of it twice: id and body."""
    deliveries = Delivery.objects.of(organization).select_related("event")
    bodies = [(str(delivery.event_id), json.loads(delivery.event.body)) for delivery in deliveries.order_by("event_id")]
    received = bodies + chosen.sample(bodies, len(bodies) // 3)
    chosen.shuffle(received)
    return received


def read(api: ApiClient) -> dict[str, dict[str, Row]]:
    """Return all objects by id, with the fields of list and detail."""
    contents: dict[str, dict[str, Row]] = {name: {} for name in LISTS}
    for name in LISTS:
        page, has_next = 0, True
        while has_next:
            page += 1
            response = api.get(f"/api/external/{name}", {"limit": 100, "page": page}).json()
            for row in response["data"]:
                contents[name][row["id"]] = row | api.get_data(f"/api/external/{name}/{row['id']}")
            has_next = response["pagination"]["hasNext"]
    return contents


def differences(copy: Copy, expected: dict[str, dict[str, Row]]) -> list[str]:
    """Return what the copy lacks or has wrong."""
    found = copy.contents()
    lines = []
    for name, rows in expected.items():
        if found[name].keys() != rows.keys():
            lines.append(f"{type(copy).__name__}: {len(found[name])} {name}, not {len(rows)}")
        for id, row in rows.items():
            copied = found[name].get(id, {})
            wrong = [field for field in row if copied.get(field) != row[field]]
            lines += [
                f"{type(copy).__name__}: {name} {id}, {field}: {copied.get(field)} != {row[field]}" for field in wrong
            ]
    return lines


def unexplained_changes(bodies: list[Row]) -> list[str]:
    """Return the changes between two versions of a lead or an appointment that `previous` of the second lacks."""
    versions: dict[str, dict[str, tuple[Row, Row]]] = {}
    for body in bodies:
        row = body["data"].get("appointment", body["data"])
        if "updated_at" in row:
            # An appointment's event and that of its new note have the same version.
            _, previous = versions.setdefault(row["id"], {}).setdefault(row["updated_at"], (row, {}))
            previous |= body.get("previous", {})
    # A merge that is undone brings a lead back, without a touch point that has passed in the meantime.
    created = {(body["data"]["id"], body["data"]["updated_at"]) for body in bodies if body["type"] == "lead.created"}
    lines = []
    for id, rows in versions.items():
        ordered = [rows[version] for version in sorted(rows)]
        for (old, _), (new, previous) in pairwise(ordered):
            if (id, new["updated_at"]) in created:
                continue
            shown = {**new, **previous}
            wrong = [name for name in set(new) - UNTRACKED if not is_same(shown[name], old[name])]
            lines += [f"{id} {new['updated_at']}, {name}: {shown[name]} instead of {old[name]}" for name in wrong]
    return lines


def is_same(shown: Any, old: Any) -> bool:
    """Compare two values of a field. What a row refers to may have other names: they have no version of the row."""
    if isinstance(shown, list) and all(isinstance(item, dict) for item in [*shown, *old]):
        # Custom fields, of which some may be new or deleted.
        values = {item["id"]: item["value"] for item in old}
        return all(item["value"] == values.get(item["id"], item["value"]) for item in shown)
    if isinstance(shown, dict) and isinstance(old, dict) and "call_analysis_call_id" not in shown:
        return bool(shown["id"] == old["id"])
    return bool(shown == old)
