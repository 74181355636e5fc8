"""A viewer is nobody's host, setter or triager: not by address, by a campaign's link, or by a lead (A12, L9, O10)."""

from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment
from appointments.services import import_appointment
from foundation.api.exceptions import ValidationFailed
from foundation.db.timestamps import now
from leads.models import Lead
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from tests.client import ApiClient
from tests.factories import make_member, make_provider_appointment, owner_of, snapshot_of
from tests.imports.files import Page, csv_file
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, logged_in_client

NOT_ACTIVE = "must belong to an active member of the organization who is not a viewer"
FUTURE = "2031-03-03 10:00"


@pytest.fixture
def viewer(organization: Organization) -> Membership:
    return make_member(organization, "vera@acme.example", first_name="Vera", role=MemberRole.VIEWER)


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


@pytest.mark.parametrize("field", ["host_email", "setter_email", "triager_email"])
def test_a_booking_that_names_a_viewer_is_refused_like_one_that_names_a_stranger(
    api: ApiClient, organization: Organization, viewer: Membership, field: str
) -> None:
    before = snapshot_of(organization)

    responses = [api.book(**{field: email}) for email in ("vera@acme.example", "nobody@acme.example")]

    body = {"status": "error", "message": f"{field} {NOT_ACTIVE}", "errors": {field: [f"{field} {NOT_ACTIVE}"]}}
    assert [(response.status_code, response.json()) for response in responses] == [(400, body), (400, body)]
    assert snapshot_of(organization) == before


def test_an_opt_in_by_the_link_of_a_viewer_is_recorded_without_setter(
    api: ApiClient, organization: Organization, viewer: Membership
) -> None:
    data = api.submit(traffic={"utm_content": viewer.user_id}).json()["data"]

    assert api.get_lead(data["lead_id"])["setter"] is None
    assert api.get_opt_in(data["opt_in_id"])["traffic_attribution"]["utm_content"] == viewer.user_id


def test_a_lead_keeps_its_setter_when_an_opt_in_names_a_viewer(
    api: ApiClient, organization: Organization, viewer: Membership
) -> None:
    setter = make_member(organization, "seth@acme.example")
    api.submit(traffic={"utm_content": setter.user_id})

    lead_id = api.submit(traffic={"utm_content": viewer.user_id}).json()["data"]["lead_id"]

    assert api.get_lead(lead_id)["setter"]["email"] == "seth@acme.example"


def test_a_booking_takes_no_setter_from_a_lead_whose_setter_is_a_viewer_now(
    api: ApiClient, organization: Organization
) -> None:
    setter = make_member(organization, "seth@acme.example")
    lead_id = api.submit(traffic={"utm_content": setter.user_id}).json()["data"]["lead_id"]
    Membership.objects.of(organization).filter(pk=setter.pk).update(role=MemberRole.VIEWER)

    booked = api.get_appointment(api.book().json()["data"]["id"])

    assert booked["setter"] is None
    assert api.get_lead(lead_id)["setter"]["email"] == "seth@acme.example"


@pytest.mark.parametrize("host", ["vera@acme.example", "Vera"])
def test_an_imported_call_that_names_a_viewer_as_host_is_booked_without_one(
    owner: Client, organization: Organization, viewer: Membership, host: str
) -> None:
    header = ["Reference", "Lead e-mail", "Time", "Event type", "Host"]

    page = Page(
        owner, organization, csv_file(header, ["a-1", "ada@example.com", FUTURE, "Coaching", host]), kind="APPOINTMENTS"
    ).run()

    assert page.report() == [(2, "NEW", f"Left out: Host: “{host}” is not an active member")]
    assert Appointment.objects.of(organization).get().host is None


def test_an_imported_lead_whose_setter_is_a_viewer_has_none(
    owner: Client, organization: Organization, viewer: Membership
) -> None:
    page = Page(owner, organization, csv_file(["E-mail", "Setter"], ["ada@example.com", "vera@acme.example"])).run()

    assert page.report() == [(2, "NEW", "Left out: Setter: “vera@acme.example” is not an active member")]
    assert Lead.objects.of(organization).get().setter is None


def test_a_providers_report_that_names_a_viewer_is_refused(organization: Organization, viewer: Membership) -> None:
    make_provider_appointment(organization, external_reference="sync-1")
    before = snapshot_of(organization)
    report: dict[str, Any] = {"organization": organization, "actor": SYSTEM, "provider": "SCHEDULER_A"}
    report |= {"lead_email": "ada@example.com", "event_type_name": "Demo", "host_email": "vera@acme.example"}

    for reference in ("sync-1", "sync-2"):
        with pytest.raises(ValidationFailed) as refusal:
            import_appointment(**report, external_reference=reference, schedule_time=now())

        assert refusal.value.errors == {"host_email": [f"host_email {NOT_ACTIVE}"]}

    assert snapshot_of(organization) == before


def test_the_forms_refuse_a_viewer(owner: Client, organization: Organization, api: ApiClient, viewer: Membership):
    id = api.book().json()["data"]["id"]
    appointment = admin_url(Appointment, "change", id)
    lead = admin_url(Lead, "change", Lead.objects.of(organization).get().pk)
    before = snapshot_of(organization)

    responses = [
        owner.post(url, form_data(owner, url, **{field: viewer.pk}))
        for url, field in ((appointment, "host"), (appointment, "setter"), (appointment, "triager"), (lead, "setter"))
    ]

    for response in responses:
        assert response.context["errors"] == [
            ["Select a valid choice. That choice is not one of the available choices."]
        ]
    assert snapshot_of(organization) == before


def test_filters_find_what_a_viewer_has_had_before(api: ApiClient, organization: Organization) -> None:
    host = make_member(organization, "hana@acme.example")
    booked = api.book(host_email="hana@acme.example").json()["data"]["id"]
    Membership.objects.of(organization).filter(pk=host.pk).update(role=MemberRole.VIEWER)

    found = api.get_data("/api/external/appointments", {"closer": "hana@acme.example"})

    assert [row["id"] for row in found] == [booked]
