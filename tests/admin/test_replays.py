"""An endpoint's page tells how its replays are getting on: who asked for what, and what has become of it."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment
from organizations.models import Membership, Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.outbox import State, run_group
from tests.admin.pages import admin_url, form_errors, shown_messages
from tests.receiver import Receiver
from webhooks.models import Delivery, Endpoint, Replay
from webhooks.queue import DELIVERIES

EVER = {"since_0": "2020-01-01", "since_1": "00:00", "until_0": "", "until_1": ""}


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """Where the endpoint leads."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def endpoint(ours: Appointment, receiver: Receiver) -> Endpoint:
    """Acme's endpoint; all that was on its way to it has failed."""
    Endpoint.objects.of(ours.organization).update(url=receiver.url)
    Delivery.objects.of(ours.organization).update(state=State.DEAD, next_attempt_at=None)
    return Endpoint.objects.of(ours.organization).get()


def part(client: Client, endpoint: Endpoint) -> str:
    """The words of the part of the page that moves."""
    page = client.get(admin_url(Endpoint, "replays", endpoint.pk)).content.decode()
    assert page in client.get(admin_url(Endpoint, "change", endpoint.pk)).content.decode()
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def is_moving(client: Client, endpoint: Endpoint) -> bool:
    """Whether the page looks again by itself."""
    return "data-in-progress" in client.get(admin_url(Endpoint, "replays", endpoint.pk)).content.decode()


def count(endpoint: Endpoint) -> int:
    """How many deliveries the endpoint has."""
    return Delivery.objects.of(endpoint.organization).filter(endpoint=endpoint).count()


def test_without_a_replay_the_page_says_how_to_ask_for_one(owner: Client, endpoint: Endpoint) -> None:
    assert part(owner, endpoint).startswith("No replays yet.")
    assert not is_moving(owner, endpoint)


def test_the_page_follows_a_replay_from_the_question_to_its_end(
    owner: Client, endpoint: Endpoint, receiver: Receiver
) -> None:
    whole = count(endpoint)

    owner.post(admin_url(Endpoint, "replay_missed", endpoint.pk), EVER)
    asked, was_moving = part(owner, endpoint), is_moving(owner, endpoint)
    receiver.status_codes = [204, 500, 204]
    run_group(DELIVERIES, endpoint.pk)
    amid = part(owner, endpoint)
    Delivery.objects.of(endpoint.organization).filter(state=State.PENDING).update(
        state=State.DEAD, next_attempt_at=None
    )

    assert asked.startswith("Missed events from 1 Jan 2020, 00:00 to ")
    assert " Requested by owner@acme.example on " in asked
    assert asked.endswith(f" {whole} deliveries: 0 delivered, {whole} pending, 0 failed. 0 of {whole}")
    assert amid.endswith(f" {whole} deliveries: {whole - 1} delivered, 1 pending, 0 failed. {whole - 1} of {whole}")
    assert part(owner, endpoint).endswith(f" {whole} deliveries: {whole - 1} delivered, 0 pending, 1 failed. Done.")
    assert (was_moving, is_moving(owner, endpoint)) == (True, False)


def test_a_replay_of_some_types_says_which(owner: Client, endpoint: Endpoint) -> None:
    owner.post(admin_url(Endpoint, "replay_missed", endpoint.pk), {**EVER, "types": ["lead.created"]})

    assert ": lead.created Requested by " in part(owner, endpoint)
    assert part(owner, endpoint).endswith(" 1 delivery: 0 delivered, 1 pending, 0 failed. 0 of 1")
    assert list(
        Delivery.objects.of(endpoint.organization).filter(state=State.PENDING).values_list("event__type", flat=True)
    ) == ["lead.created"]


def test_a_time_in_which_nothing_was_missed_is_told_as_such(owner: Client, endpoint: Endpoint) -> None:
    owner.post(admin_url(Endpoint, "replay_missed", endpoint.pk), {**EVER, "until_0": "2020-01-02", "until_1": "00:00"})

    assert " to 2 Jan 2020, 00:00 Requested by " in part(owner, endpoint)
    assert part(owner, endpoint).endswith(" There was nothing to send.")


def test_what_a_later_replay_takes_over_is_told(owner: Client, endpoint: Endpoint) -> None:
    whole = count(endpoint)
    owner.post(admin_url(Endpoint, "replay_missed", endpoint.pk), EVER)
    Delivery.objects.of(endpoint.organization).update(state=State.DEAD, next_attempt_at=None)

    owner.post(admin_url(Endpoint, "replay_missed", endpoint.pk), EVER)

    assert part(owner, endpoint).endswith(
        f" {whole} deliveries: 0 delivered, 0 pending, 0 failed, {whole} superseded by a later replay. Done."
    )


def test_all_that_a_filter_finds_is_replayed_and_followed(owner: Client, endpoint: Endpoint) -> None:
    chosen = Delivery.objects.of(endpoint.organization).filter(state=State.DEAD).first()
    data = {"action": "replay_selected", "_selected_action": str(chosen.pk), "index": "0", "select_across": "1"}
    whole = count(endpoint)

    answer = owner.post(admin_url(Delivery, "changelist") + "?state__exact=DEAD", data)

    assert shown_messages(answer) == [f"{whole} deliveries queued. Follow progress on the endpoint page."]
    assert part(owner, endpoint).startswith("Selected deliveries Requested by owner@acme.example on ")
    assert part(owner, endpoint).endswith(f" {whole} deliveries: 0 delivered, {whole} pending, 0 failed. 0 of {whole}")


def test_whoever_may_not_change_connections_replays_nothing(
    closer: Client, manager: Client, endpoint: Endpoint
) -> None:
    chosen = Delivery.objects.of(endpoint.organization).first()
    data = {"action": "replay_selected", "_selected_action": str(chosen.pk), "index": "0"}

    assert closer.get(admin_url(Endpoint, "replays", endpoint.pk)).status_code in {302, 403, 404}
    closer.post(admin_url(Delivery, "changelist"), data)

    assert not Replay.objects.of(endpoint.organization).exists()


def test_nobody_sees_or_replays_a_strangers(owner: Client, endpoint: Endpoint, theirs: Appointment) -> None:
    theirs_endpoint = Endpoint.objects.of(theirs.organization).get()
    Delivery.objects.of(theirs.organization).update(state=State.DEAD, next_attempt_at=None)
    chosen = Delivery.objects.of(theirs.organization).first()

    answer = owner.get(admin_url(Endpoint, "replays", theirs_endpoint.pk))
    owner.post(
        admin_url(Delivery, "changelist"),
        {"action": "replay_selected", "_selected_action": str(chosen.pk), "index": "0"},
    )

    assert answer.status_code == 404
    assert not Replay.objects.of(theirs.organization).exists()
    assert set(Delivery.objects.of(theirs.organization).values_list("state", flat=True)) == {State.DEAD}


REASONS = {
    "button": "This endpoint is disabled. Enable it, then replay.",
    "list": "Skipped 1: the endpoint is disabled. Enable it, then replay.",
}


@pytest.mark.parametrize("way", REASONS)
def test_a_disabled_endpoint_is_named_as_the_reason(way: str, owner: Client, endpoint: Endpoint) -> None:
    Endpoint.objects.of(endpoint.organization).update(is_active=False, disabled_at=now() - timedelta(days=1))
    delivery = Delivery.objects.of(endpoint.organization).first()

    if way == "button":
        answer = owner.post(admin_url(Delivery, "replay", delivery.pk))
    else:
        answer = owner.post(
            admin_url(Delivery, "changelist"),
            {"action": "replay_selected", "_selected_action": str(delivery.pk), "index": "0"},
        )

    said = form_errors(answer) if way == "button" else shown_messages(answer)
    assert said == [REASONS[way]]
    assert not Replay.objects.of(endpoint.organization).exists()


def test_a_long_name_is_cut_and_escaped(owner: Client, endpoint: Endpoint, organization: Organization) -> None:
    person = Membership.objects.of(organization).get(user__email="owner@acme.example").user
    person.first_name, person.last_name = "<b>" + "Ada" * 40, "Lovelace" * 15
    person.save()

    owner.post(admin_url(Endpoint, "replay_missed", endpoint.pk), EVER)

    page = owner.get(admin_url(Endpoint, "replays", endpoint.pk)).content.decode()
    assert "by &lt;b&gt;AdaAda" in page
    assert "<b>" not in page
    assert "Lovelace" * 15 not in page
