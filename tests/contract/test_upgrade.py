"""Rows that the previous version has stored, after `migrate` (docs/interface.md, A15 and L5)."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from appointments.models import Appointment
from appointments.services import reschedule
from leads.models import Source
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import owner_actor

pytestmark = pytest.mark.django_db(transaction=True)
VERSION_0_2 = [("appointments", "0004_second_wall"), ("leads", "0005_plain_texts"), ("optins", "0003_second_wall")]


def migrate_from_version_0_2() -> None:
    """Migrate back, so that only what that version has stored is left, and forward again."""
    MigrationExecutor(connection).migrate(VERSION_0_2)
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_appointments_are_booked_for_the_time_that_they_have(api: ApiClient, organization: Organization) -> None:
    id = api.book().json()["data"]["id"]
    migrate_from_version_0_2()
    appointment = Appointment.objects.of(organization).get(pk=id)
    to = datetime(2028, 1, 5, tzinfo=UTC)
    reschedule(organization=organization, actor=owner_actor(organization), appointment=appointment, to=to)

    retry, refused = api.book(), api.book(schedule_time="2027-01-06T10:00:00Z")

    assert (retry.status_code, retry.json()["data"]) == (200, {"id": id, "is_duplicate": True})
    assert refused.status_code == 409


def test_sources_lose_unneeded_white_space_unless_another_one_has_the_name(
    api: ApiClient, organization: Organization, other_organization: Organization
) -> None:
    names = ["\t Google  Ads ", "google ads ", "  Bing", "BING", "x"]
    ids = [Source.unscoped.create(organization=organization, name=name).pk for name in names]
    other = Source.unscoped.create(organization=other_organization, name=" bing ")
    migrate_from_version_0_2()

    response = api.submit(traffic={"utm_source": "GOOGLE ADS"})

    assert [Source.unscoped.get(pk=id).name for id in [*ids, other.pk]] == [
        "Google Ads",
        "google ads ",
        "  Bing",
        "BING",
        "x",
        "bing",
    ]
    source = api.get_lead(response.json()["data"]["lead_id"])["first_source"]
    assert source == {"id": str(ids[0]), "name": "Google Ads"}


def test_only_first_names_that_bookings_have_taken_from_the_email_are_replaced(
    api: ApiClient, other_api: ApiClient
) -> None:
    api.book(lead_email="ada@example.com")
    api.book(external_reference="ref-2", lead_email="grace@example.com", lead_first_name="Grace")
    # A name that equals the first part of the e-mail, but that a person has typed.
    other_api.submit(email="ada@example.com", first_name="ada")
    migrate_from_version_0_2()

    for client in (api, other_api):
        client.submit(email="ada@example.com", first_name="Augusta")
        client.submit(email="grace@example.com", first_name="Augusta")

    names = {
        client: {lead["email"].partition("@")[0]: lead["first_name"] for lead in client.get_data("/api/external/leads")}
        for client in (api, other_api)
    }
    assert names == {api: {"ada": "Augusta", "grace": "Grace"}, other_api: {"ada": "ada", "grace": "Augusta"}}


def test_migrating_back_cuts_what_the_previous_version_has_no_room_for(api: ApiClient) -> None:
    traffic = {"utm_source": "s" * 8192, "utm_term": "t", "landing_page": "p" * 8192}
    opt_in_id = api.submit(email="ada@example.com", traffic=traffic).json()["data"]["opt_in_id"]
    api.book(lead_email="ada@example.com")
    migrate_from_version_0_2()

    shown = api.get_data(f"/api/external/opt-ins/{opt_in_id}")["traffic_attribution"]
    (appointment,) = api.get_data("/api/external/appointments")

    assert (len(shown["utm_source"]), shown["utm_term"], len(shown["landing_page"])) == (255, "t", 2048)
    assert appointment["utm_source"] == shown["utm_source"]
