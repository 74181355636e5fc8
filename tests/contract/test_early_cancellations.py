"""A cancellation that comes before its booking (docs/interface.md, A61 to A63)."""

from datetime import timedelta
from threading import Thread

import pytest
from django.db import connections, transaction

from appointments.models import Appointment, RememberedCancellation
from appointments.services import remembering
from foundation.db.timestamps import now
from notifications.models import Notification
from pipeline_backend.tasks import prune_organizations
from tests.client import ApiClient
from tests.contract.assertions import assert_error_format, assert_invalid_fields
from tests.contract.concurrency import run_concurrently
from tests.contract.test_reschedule import bodies
from tests.factories import events_of, make_api, make_provider_appointment, snapshot_of

DAY = timedelta(days=1)


def remember(api, reference="ref-1", **fields):
    return api.cancel(external_reference=reference, if_unknown="remember", **fields)


def test_it_is_202_and_the_booking_is_stored_canceled(api, organization):
    """docs/interface.md, A61, A62"""
    response = remember(api, notes="Found another one", canceled_by="LEAD", reason="Price", rescheduled_to="ref-9")
    created = api.book(meeting_url="https://meet.example/1")

    assert (response.status_code, response.json()["message"]) == (202, "Cancellation remembered")
    assert [*response.json()["data"]] == ["external_reference", "remembered_until"]
    assert (created.status_code, created.json()["data"]["is_duplicate"]) == (201, False)
    appointment = api.get_appointment(created.json()["data"]["id"])
    assert (appointment["outcome"]["role"], appointment["meeting_url"]) == ("CANCELED", None)
    assert api.get_data("/api/external/appointments")[0]["notes"]["note"] == "Found another one"
    assert api.get_lead(appointment["lead"]["id"])["status"]["role"] == "CANCELED"
    assert not Notification.objects.of(organization).exists()
    assert events_of(organization) == [
        *("appointment.canceled", "appointment.created", "lead.created", "lead.status_changed", "note.created")
    ]
    (body,) = bodies(organization, "appointment.canceled")
    assert body["details"] == {"canceled_by": "LEAD", "reason": "Price", "rescheduled_to": "ref-9"}


def test_it_cancels_one_booking_and_repeats_change_nothing(api, organization):
    """docs/interface.md, A62"""
    remember(api, reason="Old")
    remember(api, reason="New")
    first = api.book()
    before = snapshot_of(organization)

    again, canceled = api.book(), remember(api)

    assert (again.status_code, again.json()["data"]["is_duplicate"], canceled.status_code) == (200, True, 200)
    assert canceled.json()["data"]["id"] == first.json()["data"]["id"]
    assert snapshot_of(organization) == before
    assert bodies(organization, "appointment.canceled")[0]["details"]["reason"] == "New"
    assert not RememberedCancellation.objects.of(organization).exists()


def test_a_refused_booking_leaves_it(api, organization):
    remember(api)

    api.book(host_email="nobody@example.com")

    assert api.get_appointment(api.book().json()["data"]["id"])["outcome"]["role"] == "CANCELED"


@pytest.mark.parametrize("age", [DAY + timedelta(minutes=1), DAY - timedelta(minutes=1)])
def test_it_counts_for_a_day_and_is_deleted_then(api, organization, age):
    """docs/interface.md, A62"""
    remember(api)
    RememberedCancellation.objects.of(organization).update(created_at=now() - age)

    id = api.book().json()["data"]["id"]

    role = "APPOINTMENT_BOOKED" if age > DAY else "CANCELED"
    assert api.get_appointment(id)["outcome"]["role"] == role
    prune_organizations()
    assert not RememberedCancellation.objects.of(organization).exists()


def test_a_booking_that_it_has_canceled_is_booked_again_after_any_other_outcome(api, organization, host):
    """docs/interface.md, A29"""
    remember(api)
    path = f"/api/external/appointments/{api.book(host_email=host.user.email).json()['data']['id']}"

    for role in ("FOLLOW_UP", "APPOINTMENT_BOOKED"):
        api.patch(path, {"outcome_role": role})

    lead = Appointment.objects.of(organization).get().lead
    assert lead.status.role == "APPOINTMENT_BOOKED"
    assert [*Notification.objects.of(organization).values_list("kind", flat=True)] == ["CALL_BOOKED"]


def test_it_is_for_one_organization_and_its_own_bookings(api, organization, other_organization):
    """docs/interface.md, A63"""
    remember(make_api(other_organization))
    make_provider_appointment(organization, external_reference="ref-2")

    booked, of_scheduler = api.book().json()["data"]["id"], remember(api, "ref-2")

    assert api.get_appointment(booked)["outcome"]["role"] == "APPOINTMENT_BOOKED"
    assert_error_format(of_scheduler, 409)


def test_without_it_an_unknown_reference_is_404_and_another_value_400(api):
    assert_error_format(api.cancel(), 404)
    assert_invalid_fields(api.cancel(if_unknown="forget"), "if_unknown")


@pytest.mark.parametrize("is_early", [True, False])
def test_a_cancellation_and_the_move_to_its_reference_can_come_in_either_order(api, organization, host, is_early):
    """docs/interface.md, A62"""
    id = api.book(external_reference="ref-0", host_email=host.user.email).json()["data"]["id"]
    Notification.objects.of(organization).delete()
    move = {"external_reference": "ref-0", "schedule_time": "2027-06-01T09:00:00Z", "new_external_reference": "ref-1"}

    canceled = remember(api) if is_early else None
    moved = api.post("/api/external/appointments/reschedule", move)
    canceled = canceled or remember(api)

    assert (moved.status_code, moved.json()["data"], canceled.status_code) == (
        200,
        {"id": id},
        202 if is_early else 200,
    )
    appointment = api.get_appointment(id)
    assert (appointment["external_reference"], appointment["outcome"]["role"]) == ("ref-1", "CANCELED")
    assert api.get_lead(appointment["lead"]["id"])["status"]["role"] == "CANCELED"
    kinds = [row.kind for row in Notification.objects.of(organization).order_by("created_at", "id")]
    assert kinds == (["CALL_CANCELED"] if is_early else ["CALL_RESCHEDULED", "CALL_CANCELED"])
    assert not RememberedCancellation.objects.of(organization).exists()


def test_an_organization_has_a_limit(api, monkeypatch):
    """docs/interface.md, A63"""
    monkeypatch.setattr(remembering, "MAX_REMEMBERED", 1)
    remember(api)

    assert remember(api).status_code == 202
    assert_error_format(remember(api, "ref-2"), 409)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_booked_first", [True, False])
def test_whichever_waits_for_the_other_the_booking_ends_canceled(api, organization, is_booked_first):
    """docs/interface.md, A62"""
    steps = [lambda client: client.book(), remember]
    first, second = steps if is_booked_first else reversed(steps)
    results = []

    def send():
        results.append(second(ApiClient(api.key)))
        connections.close_all()

    api.get("/api/external/me")  # stores when the key was used, which the other request would wait for
    with transaction.atomic():
        first(api)
        thread = Thread(target=send)
        thread.start()
        thread.join(timeout=1)
        assert results == []
    thread.join(timeout=30)

    (appointment,) = api.get_data("/api/external/appointments")
    assert appointment["outcome"]["role"] == "CANCELED"
    assert results[0].status_code == (200 if is_booked_first else 201)


@pytest.mark.django_db(transaction=True)
def test_bookings_and_cancellations_at_the_same_time_leave_no_booked_appointment(api):
    """docs/interface.md, A62"""
    references = [f"ref-{number}" for number in range(12)]
    requests = [lambda api, name=name: api.book(external_reference=name) for name in references]
    requests += [lambda api, name=name: remember(api, name) for name in references]

    responses = run_concurrently(api.key, *requests)

    assert {response.status_code for response in responses} <= {200, 201, 202}
    appointments = api.get_data("/api/external/appointments", {"limit": 50})
    assert [row["outcome"]["role"] for row in appointments] == ["CANCELED"] * 12
