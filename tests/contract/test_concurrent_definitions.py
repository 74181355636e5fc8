"""Changes of one definition at the same time: each event starts from what the previous one left (W2)."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep

import pytest
from django.db import connection, connections, transaction

from appointments.models import EventType
from appointments.services import delete_event_type, save_event_type
from foundation.api.exceptions import Conflict
from leads.models import CustomField
from leads.services import delete_custom_field, save_custom_field
from organizations.actors import SYSTEM
from organizations.models import Organization
from statuses.models import Status
from statuses.services import delete_status
from tests.client import ApiClient
from tests.factories import make_custom_field, make_event_type, make_status

COUNT_WAITING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def committed_while_waiting(change: Callable[[], object]) -> Iterator[None]:
    """Make a change in another transaction, which is committed once the block waits for one of its locks.

    Fails if the block doesn't wait.
    """
    is_made, is_waited_for = threading.Event(), threading.Event()

    def run() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            change()
            is_made.set()
            deadline = monotonic() + 60
            while monotonic() < deadline and not is_waited_for.is_set():
                sleep(0.01)
                if cursor.execute(COUNT_WAITING).fetchone()[0]:
                    is_waited_for.set()
        connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    assert is_made.wait(60)
    yield
    thread.join(60)
    assert is_waited_for.is_set()


def test_an_event_type_that_two_people_rename(api: ApiClient, organization: Organization) -> None:
    event_type = make_event_type(organization, "First")

    def rename(name: str) -> None:
        row = EventType.objects.of(organization).get(pk=event_type.pk)
        row.name = name
        save_event_type(organization=organization, actor=SYSTEM, event_type=row)

    with committed_while_waiting(lambda: rename("Second")):
        rename("Third")

    assert [(event["previous"]["name"], event["data"]["name"]) for event in api.list_events()] == [
        ("First", "Second"),
        ("Second", "Third"),
    ]


def test_a_custom_field_that_two_people_rename(api: ApiClient, organization: Organization) -> None:
    field = make_custom_field(organization, "LEAD", "budget", label="First")

    def rename(label: str) -> None:
        row = CustomField.objects.of(organization).get(pk=field.pk)
        row.label = label
        save_custom_field(organization=organization, actor=SYSTEM, field=row)

    with committed_while_waiting(lambda: rename("Second")):
        rename("Third")

    assert [(event["previous"]["label"], event["data"]["label"]) for event in api.list_events()] == [
        ("First", "Second"),
        ("Second", "Third"),
    ]


def test_a_custom_field_that_two_people_delete(api: ApiClient, organization: Organization) -> None:
    field = make_custom_field(organization, "LEAD", "budget")

    def delete() -> None:
        delete_custom_field(organization=organization, actor=SYSTEM, field=field)

    with committed_while_waiting(delete):
        delete()

    assert [event["type"] for event in api.list_events()] == ["custom_field.deleted"]


def test_an_event_type_that_is_deleted_while_someone_books_it(api: ApiClient, organization: Organization) -> None:
    event_type = make_event_type(organization, "Strategy call")

    with committed_while_waiting(lambda: api.book(event_type_name="Strategy call")), pytest.raises(Conflict):
        delete_event_type(organization=organization, actor=SYSTEM, event_type=event_type)

    (appointment,) = api.get_data("/api/external/appointments")
    assert appointment["appointment_event_type"]["id"] == str(event_type.pk)


def test_a_status_that_two_people_delete(api: ApiClient, organization: Organization) -> None:
    id = make_status(organization, "Second call").pk

    def delete() -> None:
        # One object for both would have no id any more when it is deleted again.
        delete_status(organization=organization, actor=SYSTEM, status=Status.objects.of(organization).get(pk=id))

    with committed_while_waiting(delete):
        delete()

    assert [event["type"] for event in api.list_events()] == ["status.created", "status.deleted"]
