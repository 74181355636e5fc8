"""The change history of leads and appointments: old and new values, who and when, in the transaction of the change."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from appointments.models import Appointment, AppointmentChange, CallAnalysis
from appointments.services import edit_appointment, save_analysis
from leads.models import Lead, LeadChange
from leads.services import edit_lead
from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.factories import owner_actor, owner_of
from tests.staff.pages import admin_url, logged_in_client


@pytest.fixture
def appointment(api: ApiClient, organization: Organization) -> Appointment:
    """A booked appointment."""
    api.book(external_reference="ref", lead_email="ada@example.com")
    booked: Appointment = Appointment.objects.of(organization).select_related("lead").get()
    return booked


def test_a_new_row_has_no_changes(appointment: Appointment, organization: Organization) -> None:
    page = logged_in_client(owner_of(organization)).get(admin_url(Lead, "history", appointment.lead_id))

    assert "Nothing has changed yet." in page.content.decode()
    assert "Forms and buttons used" not in page.content.decode()
    assert not LeadChange.objects.of(organization).exists()
    assert not AppointmentChange.objects.of(organization).exists()


def test_a_change_of_a_lead_is_stored_with_both_values_and_who_made_it(
    appointment: Appointment, organization: Organization, host: Membership
) -> None:
    actor = owner_actor(organization)

    edit_lead(organization=organization, actor=actor, lead=appointment.lead, last_name="Byron", setter=host)

    (change,) = LeadChange.objects.of(organization)
    assert change.lead_id == appointment.lead_id
    assert (change.actor_kind, change.actor_id, change.actor_name) == (actor.kind, actor.id, actor.name)
    assert change.fields.keys() == {"last_name", "setter"}
    assert change.fields["last_name"] == ["", "Byron"]
    assert change.fields["setter"][0] is None
    assert change.fields["setter"][1]["email"] == host.user.email


def test_a_change_of_an_appointment_is_stored_with_both_values(
    appointment: Appointment, organization: Organization
) -> None:
    url = "https://meet.example/1"

    edit_appointment(
        organization=organization, actor=owner_actor(organization), appointment=appointment, meeting_url=url
    )

    (change,) = AppointmentChange.objects.of(organization)
    assert (change.appointment_id, change.fields) == (appointment.pk, {"meeting_url": [None, url]})


def test_a_save_without_a_change_stores_nothing(appointment: Appointment, organization: Organization) -> None:
    lead: Lead = appointment.lead

    edit_lead(organization=organization, actor=owner_actor(organization), lead=lead, last_name=lead.last_name)

    assert not LeadChange.objects.of(organization).exists()


def test_the_history_takes_no_statement_of_its_own(appointment: Appointment, organization: Organization) -> None:
    with CaptureQueriesContext(connection) as captured:
        edit_lead(organization=organization, actor=owner_actor(organization), lead=appointment.lead, last_name="Byron")

    writes = [query["sql"] for query in captured.captured_queries if "leads_leadchange" in query["sql"]]
    assert len(writes) == 1
    assert "webhooks_event" in writes[0]


def test_the_page_shows_that_the_analysis_has_changed(appointment: Appointment, organization: Organization) -> None:
    values = dict.fromkeys(("call_analysis_call_id", "ai_rationale", "ai_suggested_outcome"), "x")
    analysis = CallAnalysis(
        appointment=appointment, ai_generated_title="A good call", ai_confidence_score=0.5, **values
    )
    save_analysis(organization=organization, actor=owner_actor(organization), analysis=analysis)

    page = logged_in_client(owner_of(organization)).get(admin_url(Appointment, "change", appointment.pk))

    assert "Call analysis changed" in page.content.decode()
