"""Search in long lists: an id is found among all rows, a text among the newest."""

from datetime import timedelta

import pytest
from django.test import Client

from organizations.models import Organization
from staff.toolkit import newest_search
from tests.client import ApiClient
from tests.factories import owner_of, set_columns
from tests.staff.pages import admin_url, logged_in_client
from webhooks.models import Event


@pytest.fixture
def owner(organization: Organization) -> Client:
    """A client logged in as Acme's owner."""
    return logged_in_client(owner_of(organization))


def found(client: Client, text: str) -> list[Event]:
    """Return the events that a search finds."""
    return list(client.get(admin_url(Event, "changelist"), {"q": text}).context["cl"].result_list)


def test_text_is_found_in_the_newest_rows_and_ids_in_all(
    owner: Client, organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
):
    for number in range(3):
        api.submit(email=f"lead{number}@example.com")
    for hours, event in enumerate(Event.objects.of(organization)):
        set_columns(Event, organization, event.pk, created_at=event.created_at - timedelta(hours=hours))
    events = list(Event.objects.of(organization).order_by("-created_at", "-id"))
    actor = events[0].actor_name
    assert {event.actor_name for event in events} == {actor}
    everything = found(owner, actor)

    monkeypatch.setattr(newest_search, "SEARCHED", 2)
    newest = found(owner, actor)

    assert everything == events
    assert newest == events[:2]
    assert found(owner, str(events[-1].pk)) == [events[-1]]
    assert events[-1] in found(owner, str(events[-1].subject_id))
    assert found(owner, "01a202fa-fe15-76e4-8e67-c7ca30811849") == []
