"""Touch points that follow outcomes and time (docs/interface.md, L13 and S9). Bookings: create/test_resolution.py."""

import json
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine

from appointments.models import Appointment
from appointments.services import edit_appointment
from appointments.tasks import refresh_touch_points
from foundation.db.timestamps import now
from leads.models import Lead
from organizations.models import Organization
from statuses.models import Status
from tests.client import ApiClient
from tests.contract.concurrency import THREADS, run_concurrently
from tests.factories import owner_actor, set_columns, snapshot_of
from webhooks.models import Event

FIRST, SECOND = "2090-01-05T10:00:00.000Z", "2091-01-05T10:00:00.000Z"


def book(api: ApiClient, reference: str, time: str) -> dict[str, Any]:
    id = api.book(external_reference=reference, schedule_time=time).json()["data"]["id"]
    return api.get_appointment(id)


def book_twice(api: ApiClient) -> dict[str, Any]:
    """Book two upcoming appointments of one lead, and return the first one."""
    first = book(api, "ref-1", FIRST)
    book(api, "ref-2", SECOND)
    return first


def set_outcome(organization: Organization, id: str, role: str) -> None:
    edit_appointment(
        organization=organization,
        actor=owner_actor(organization),
        appointment=Appointment.objects.of(organization).get(pk=id),
        status_id=Status.objects.of(organization).get(role=role).pk,
    )


def touch_point(api: ApiClient, lead_id: str) -> tuple[str | None, str | None]:
    lead = api.get_lead(lead_id)
    return lead["next_touch_point_at"], lead["next_touch_point_type"]


@pytest.mark.parametrize("role", ["WON", "PARTIAL_PAYMENT", "LOST", "UNQUALIFIED", "NO_SHOW", "CANCELED"])
def test_an_appointment_with_a_final_outcome_is_not_the_next_one(
    api: ApiClient, organization: Organization, role: str
) -> None:
    first = book_twice(api)

    set_outcome(organization, first["id"], role)

    assert touch_point(api, first["lead"]["id"]) == (SECOND, "APPOINTMENT")


@pytest.mark.parametrize("role", ["NEW_LEAD", "RESCHEDULED", "FOLLOW_UP"])
def test_an_appointment_with_another_outcome_still_is_the_next_one(
    api: ApiClient, organization: Organization, role: str
) -> None:
    first = book_twice(api)

    set_outcome(organization, first["id"], role)

    assert touch_point(api, first["lead"]["id"]) == (FIRST, "APPOINTMENT")


def test_an_upcoming_appointment_with_a_final_outcome_does_not_keep_the_lead_booked(
    api: ApiClient, organization: Organization
) -> None:
    first = book_twice(api)
    set_outcome(organization, first["id"], "LOST")
    booked = Status.objects.of(organization).get(role="APPOINTMENT_BOOKED")
    set_columns(Lead, organization, first["lead"]["id"], status=booked)  # by staff

    api.cancel(external_reference="ref-2")

    assert api.get_lead(first["lead"]["id"])["status"]["role"] == "CANCELED"
    assert touch_point(api, first["lead"]["id"]) == (None, None)


def test_canceling_removes_a_touch_point_of_staff_that_has_passed(api: ApiClient, organization: Organization) -> None:
    lead_id = book(api, "ref-1", FIRST)["lead"]["id"]
    set_columns(Lead, organization, lead_id, next_touch_point_at="2020-01-01T00:00:00Z", next_touch_point_type="CALL")

    api.cancel()

    assert touch_point(api, lead_id) == (None, None)


def test_a_touch_point_that_has_passed_becomes_the_next_appointment_and_then_null(
    api: ApiClient, organization: Organization
) -> None:
    lead_id = book_twice(api)["lead"]["id"]
    found = []

    for time in [FIRST, SECOND]:
        with time_machine.travel(datetime.fromisoformat(time), tick=False):
            refresh_touch_points()
            refresh_touch_points()
            found.append((*touch_point(api, lead_id), api.get_lead(lead_id)["updated_at"]))

    assert found == [(SECOND, "APPOINTMENT", FIRST), (None, None, SECOND)]
    events = Event.objects.of(organization).filter(type="lead.updated", actor_kind="SYSTEM").order_by("created_at")
    assert [json.loads(event.body)["previous"] for event in events] == [
        {"next_touch_point_at": FIRST},
        {"next_touch_point_at": SECOND, "next_touch_point_type": "APPOINTMENT"},
    ]


def test_the_touch_points_of_another_organization_stay_until_they_have_passed(
    api: ApiClient, other_api: ApiClient, other_organization: Organization
) -> None:
    lead_id = book(api, "ref-1", FIRST)["lead"]["id"]
    other_lead_id = book(other_api, "ref-1", SECOND)["lead"]["id"]
    before = snapshot_of(other_organization)

    with time_machine.travel(datetime.fromisoformat(FIRST), tick=False):
        refresh_touch_points()

    assert touch_point(api, lead_id) == (None, None)
    assert snapshot_of(other_organization) == before
    with time_machine.travel(datetime.fromisoformat(SECOND), tick=False):
        refresh_touch_points()
    assert touch_point(other_api, other_lead_id) == (None, None)


@pytest.mark.parametrize(
    ("touch_point_at", "expected"),
    [
        ("2089-01-01T00:00:00.000Z", ("2089-01-01T00:00:00.000Z", "CALL")),
        ("2020-01-01T00:00:00Z", (FIRST, "APPOINTMENT")),
    ],
)
def test_a_touch_point_of_staff_is_kept_until_it_has_passed(
    api: ApiClient, organization: Organization, touch_point_at: str, expected: tuple[str, str]
) -> None:
    lead_id = book(api, "ref-1", FIRST)["lead"]["id"]
    set_columns(Lead, organization, lead_id, next_touch_point_at=touch_point_at, next_touch_point_type="CALL")

    refresh_touch_points()

    assert touch_point(api, lead_id) == expected


@pytest.mark.django_db(transaction=True)
def test_many_leads_are_refreshed_once_while_several_workers_run_and_clients_book(
    api: ApiClient, organization: Organization
) -> None:
    lead_ids = [api.submit(email=f"lead{number}@example.com").json()["data"]["lead_id"] for number in range(120)]
    Lead.objects.of(organization).update(
        next_touch_point_at=now() - timedelta(days=1), next_touch_point_type="FOLLOW_UP"
    )
    refreshes = [lambda _: refresh_touch_points()] * 4
    bookings = [
        lambda api, number=number: api.book(
            external_reference=f"ref-{number}", lead_email=f"lead{number}@example.com", schedule_time=FIRST
        )
        for number in range(THREADS - len(refreshes))
    ]

    run_concurrently(api.key, *refreshes, *bookings)
    refresh_touch_points()

    leads = {
        lead["id"]: lead["next_touch_point_at"]
        for page in "12"
        for lead in api.get_data("/api/external/leads", {"limit": "100", "page": page})
    }
    booked = lead_ids[: len(bookings)]
    assert leads == {lead_id: FIRST if lead_id in booked else None for lead_id in lead_ids}
    # A booking replaces the touch point by itself if it comes first.
    counts = Counter(Event.objects.of(organization).filter(type="lead.updated").values_list("subject_id", flat=True))
    assert {str(id): count for id, count in counts.items() if str(id) not in booked} == dict.fromkeys(
        lead_ids[len(bookings) :], 1
    )
