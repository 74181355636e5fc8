"""Actions on selected rows that ask for a status or a member."""

from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment
from leads.models import Lead
from organizations.models import MemberRole, Membership, Organization
from statuses.models import Status
from tests.factories import make_api, make_member, owner_of
from tests.staff.pages import list_url, logged_in_client, shown_messages
from webhooks.models import Event


@pytest.fixture
def rows(organization: Organization) -> list[Appointment]:
    """Two appointments of different leads."""
    api = make_api(organization)
    for name in ("ada", "bob"):
        api.book(lead_email=f"{name}@example.com", external_reference=name)
    return list(Appointment.objects.of(organization).order_by("external_reference"))


def send(client: Client, action: str, selected: list[Any], value: object = None) -> Any:
    """Select rows for an action, and answer its page if there is a value."""
    data = {"action": action, "_selected_action": [str(row.pk) for row in selected], "index": "0"}
    answer = {"confirmed": "yes", "value": str(value)} if value else {}
    return client.post(list_url(type(selected[0])), {**data, **answer})


def test_the_outcome_of_selected_appointments(rows: list[Appointment], organization: Organization):
    won = Status.objects.of(organization).get(role="WON")
    owner = logged_in_client(owner_of(organization))

    page = send(owner, "set_outcome_selected", rows)
    response = send(owner, "set_outcome_selected", rows, won.pk)

    assert "Won" in page.content.decode()
    assert shown_messages(response) == ["2 changed."]
    assert {row.outcome_id for row in Appointment.objects.of(organization)} == {won.pk}
    assert {row.status_id for row in Lead.objects.of(organization)} == {won.pk}
    assert Event.objects.of(organization).filter(type="appointment.outcome_changed").count() == 2


@pytest.mark.parametrize("role", ["host", "setter"])
def test_the_members_of_selected_appointments(role: str, rows: list[Appointment], organization: Organization):
    member = make_member(organization, "new@acme.example")

    send(logged_in_client(owner_of(organization)), f"set_{role}_selected", rows, member.pk)

    assert {getattr(row, role) for row in Appointment.objects.of(organization)} == {member}


def test_the_status_and_the_setter_of_selected_leads(rows: list[Appointment], organization: Organization):
    leads, lost = list(Lead.objects.of(organization)), Status.objects.of(organization).get(role="LOST")
    member, owner = make_member(organization, "new@acme.example"), logged_in_client(owner_of(organization))

    send(owner, "set_status_selected", leads, lost.pk)
    send(owner, "set_setter_selected", leads, member.pk)

    assert {(lead.status, lead.setter) for lead in Lead.objects.of(organization)} == {(lost, member)}


def test_rows_that_a_closer_may_not_change_are_skipped(
    rows: list[Appointment], organization: Organization, host: Membership
):
    closer = make_member(organization, "cleo@acme.example", role=MemberRole.CLOSER)
    Appointment.objects.of(organization).filter(pk=rows[0].pk).update(host=closer)
    Appointment.objects.of(organization).filter(pk=rows[1].pk).update(host=host)

    response = send(logged_in_client(closer), "set_setter_selected", rows, closer.pk)

    assert shown_messages(response) == ["Skipped 1: you may not change them.", "1 changed."]
    assert [Appointment.objects.of(organization).get(pk=row.pk).setter for row in rows] == [closer, None]


def test_a_value_of_another_organization_is_refused(
    rows: list[Appointment], organization: Organization, other_organization: Organization
):
    stranger = owner_of(other_organization)

    response = send(logged_in_client(owner_of(organization)), "set_host_selected", rows, stranger.pk)

    assert response.status_code == 200
    assert response.context["form"].errors
    assert not Appointment.objects.of(organization).filter(host=stranger).exists()
