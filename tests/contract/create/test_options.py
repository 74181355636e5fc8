"""What a booking can say about itself, and what its response has on request (docs/interface.md, A57 to A60, G56)."""

from datetime import UTC, datetime, timedelta

import pytest

from appointments.models import Appointment
from notifications.models import Notification
from tests.client import SCHEDULE_TIME
from tests.contract.assertions import assert_invalid_fields
from tests.factories import events_of, make_custom_field, make_event_type, make_member, snapshot_of

TRAFFIC = {"utm_source": " letter ", "utm_campaign": 5, "referrer": "https://www.example.com/"}


def listed(api):
    (appointment,) = api.get_data("/api/external/appointments")
    return appointment


def test_traffic_gives_a_new_lead_its_sources_and_setter_and_the_appointment_its_utm_values(api, organization):
    """docs/interface.md, A57"""
    setter = make_member(organization, "sam@acme.example")

    id = api.book(traffic={**TRAFFIC, "utm_content": setter.user_id}).json()["data"]["id"]

    appointment, item = api.get_appointment(id), listed(api)
    lead = api.get_lead(item["lead"]["id"])
    assert {item["utm_source"], appointment["first_source"]["name"], lead["last_source"]["name"]} == {"letter"}
    assert (item["utm_campaign"], item["utm_medium"], item["utm_content"]) == ("5", None, setter.user_id)
    assert lead["setter"]["email"] == appointment["setter"]["email"] == "sam@acme.example"


def test_traffic_replaces_the_attribution_by_the_opt_in_and_leaves_a_known_lead_alone(api, organization):
    """docs/interface.md, A57"""
    lead_id = api.submit(traffic={"utm_source": "webinar", "utm_term": "crm"}).json()["data"]["lead_id"]
    setter = make_member(organization, "sam@acme.example")

    api.book(traffic={**TRAFFIC, "utm_content": setter.user_id})

    item, lead = listed(api), api.get_lead(lead_id)
    assert (item["utm_source"], item["utm_term"]) == ("letter", None)
    assert (lead["last_source"]["name"], lead["setter"], item["setter"]) == ("webinar", None, None)


@pytest.mark.parametrize("traffic", [{}, {"utm_source": " "}, {"referrer": "https://www.example.com/"}, "letter", 5])
def test_without_utm_values_the_opt_in_counts(api, traffic):
    """docs/interface.md, A57"""
    api.submit(traffic={"utm_source": "webinar"})

    assert api.book(traffic=traffic).status_code == 201
    assert listed(api)["utm_source"] == "webinar"


def test_the_duration_of_a_booking_counts_instead_of_the_event_types(api, organization):
    """docs/interface.md, A58"""
    make_event_type(organization, "Strategy call", duration_minutes=30)
    begun = datetime.now(UTC) - timedelta(minutes=40)

    api.book(duration_minutes=90, schedule_time=begun.isoformat())
    api.book(external_reference="ref-2", lead_email="b@example.com", schedule_time=begun.isoformat())

    contexts = Notification.objects.of(organization).values_list("context__duration_minutes", flat=True)
    assert list(contexts) == [90]
    assert api.get_data("/api/external/leads", {"email": "b@example.com"})[0]["status"]["role"] == "NEW_LEAD"
    assert listed_roles(api) == {"APPOINTMENT_BOOKED", "NEW_LEAD"}


def listed_roles(api):
    return {lead["status"]["role"] for lead in api.get_data("/api/external/leads")}


def test_custom_values_are_stored_with_the_booking(api, organization):
    """docs/interface.md, A59"""
    make_custom_field(organization, "APPOINTMENT", "color")

    id = api.book(custom_fields={"color": "blue"}).json()["data"]["id"]

    assert [field["value"] for field in api.get_appointment(id)["custom_fields"]] == ["blue"]
    assert events_of(organization) == ["appointment.created", "lead.created"]


def test_an_invalid_custom_value_is_400_and_books_nothing(api, organization):
    """docs/interface.md, A59"""
    make_custom_field(organization, "APPOINTMENT", "color")
    before = snapshot_of(organization)

    response = api.book(custom_fields={"color": 5, "size": "L"})

    assert_invalid_fields(response, "custom_fields.color", "custom_fields.size")
    assert snapshot_of(organization) == before


def test_without_notify_no_one_gets_a_message_and_the_events_are_recorded(api, organization):
    """docs/interface.md, A60"""
    organization.slack_url = "https://hooks.slack.com/services/1"
    organization.save()

    api.book(notify=False)

    assert not Notification.objects.of(organization).exists()
    assert events_of(organization) == ["appointment.created", "lead.created"]
    assert listed(api)["lead"]["next_touch_point_at"] == SCHEDULE_TIME


def test_on_request_booking_rescheduling_canceling_and_submitting_respond_with_the_object_too(api):
    """docs/interface.md, G56"""
    prefer = {"prefer": 'respond-async, RETURN = "representation"; x=1, return=minimal'}
    path, reference = "/api/external/appointments", {"external_reference": "ref-1"}
    booking = {**reference, "schedule_time": SCHEDULE_TIME, "lead_email": "b@example.com", "event_type_name": "x"}
    requests = [
        (path, booking, 201),
        (path, booking, 200),
        (f"{path}/reschedule", {**reference, "schedule_time": "2027-01-06T11:00:00Z"}, 200),
        (f"{path}/cancel", reference, 200),
    ]
    for url, body, status_code in requests:
        response = api.post(url, body, **prefer)

        id = response.json()["data"]["id"]
        assert response.status_code == status_code
        assert response.headers["Preference-Applied"] == "return=representation"
        assert response.json()["appointment"] == api.get_appointment(id)
        assert [*response.json()] == ["status", "message", "data", "appointment"]

    submitted = api.post(
        "/api/opt-in/submit", {"email": "a@example.com", "first_name": "A", "source": "OTHER"}, **prefer
    )
    assert submitted.json()["opt_in"] == api.get_opt_in(submitted.json()["data"]["opt_in_id"])


@pytest.mark.parametrize(
    "header", [{}, {"prefer": "return=minimal, return=representation"}, {"prefer": "representation"}]
)
def test_without_the_request_nothing_is_added(api, organization, header):
    """docs/interface.md, G56"""
    api.book()

    response = api.post("/api/external/appointments/cancel", {"external_reference": "ref-1"}, **header)

    id = Appointment.objects.of(organization).get().pk
    assert "Preference-Applied" not in response.headers
    assert response.json() == {"status": "success", "message": "Appointment canceled", "data": {"id": str(id)}}
