"""A form that is sent twice does its work once: the page carries the id of the row that it adds."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from django.db.models import Model
from django.test import Client
from uuid_utils.compat import uuid7

from appointments.models import Appointment, EventType
from leads.models import CustomField, Lead
from leads.services import add_lead
from organizations.models import ApiKey, Invitation, Organization, User
from statuses.models import Status
from tests.factories import make_event_type, make_organization, owner_actor, owner_of, snapshot_of
from tests.merging.leads import merge
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client, shown_messages
from webhooks.models import Endpoint

TIME = {"schedule_time_0": "2027-01-05", "schedule_time_1": "10:00:00"}
SENT_BEFORE = "This form was sent before"


@pytest.fixture
def event_type(organization: Organization) -> EventType:
    """An event type of Acme."""
    return make_event_type(organization, "Strategy call")


def booking(client: Client, event_type: EventType, **fields: object) -> dict[str, object]:
    """Return what a browser sends from the booking form."""
    url = admin_url(Appointment, "add")
    return form_data(client, url, **{"lead_email": "ada@example.com", "event_type": event_type.pk, **TIME, **fields})


def test_a_booking_form_that_is_sent_twice_books_once(owner: Client, event_type: EventType, organization: Organization):
    url, data = admin_url(Appointment, "add"), booking(owner, event_type)
    first = owner.post(url, data)
    before = snapshot_of(organization)

    second = owner.post(url, data)

    appointment = Appointment.objects.of(organization).get()
    assert (first.status_code, second.status_code) == (302, 302)
    assert second.url == admin_url(Appointment, "change", appointment.pk)
    assert shown_messages(second)[-1].startswith(SENT_BEFORE)
    assert snapshot_of(organization) == before


def test_a_form_that_is_sent_again_with_other_values_changes_nothing(
    owner: Client, event_type: EventType, organization: Organization
):
    url, data = admin_url(Appointment, "add"), booking(owner, event_type)
    owner.post(url, data)
    before = snapshot_of(organization)

    second = owner.post(url, {**data, "lead_email": "bob@example.com", "schedule_time_1": "12:00:00"})

    assert second.url == admin_url(Appointment, "change", Appointment.objects.of(organization).get().pk)
    assert snapshot_of(organization) == before


def test_a_form_that_was_refused_can_be_sent_again(owner: Client, event_type: EventType, organization: Organization):
    url, data = admin_url(Appointment, "add"), booking(owner, event_type)
    refused = owner.post(url, {**data, "lead_email": ""})

    booked = owner.post(url, data)

    assert form_errors(refused)
    assert (booked.status_code, str(Appointment.objects.of(organization).get().pk)) == (302, data["new_id"])


def test_two_forms_book_two_appointments(owner: Client, event_type: EventType, organization: Organization):
    for time in ("10:00:00", "12:00:00"):
        owner.post(admin_url(Appointment, "add"), booking(owner, event_type, schedule_time_1=time))

    assert Appointment.objects.of(organization).count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_double_click_books_once():
    organization = make_organization()
    event_type, client = make_event_type(organization, "Strategy call"), logged_in_client(owner_of(organization))
    url, data = admin_url(Appointment, "add"), booking(client, event_type)

    def send(_: int) -> tuple[int, str]:
        try:
            response = logged_in_client(owner_of(organization)).post(url, data)
            return response.status_code, response.url
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        responses = list(pool.map(send, range(4)))

    appointment = Appointment.objects.of(organization).get()
    assert {code for code, _ in responses} == {302}
    assert {target for _, target in responses} <= {
        admin_url(Appointment, "changelist"),
        admin_url(Appointment, "change", appointment.pk),
    }


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (Lead, {"email": "ada@example.com"}),
        (Status, {"name": "Waiting list", "role": "FOLLOW_UP"}),
        (Endpoint, {"url": "https://hooks.acme.example/in"}),
        (ApiKey, {"name": "Zapier"}),
        (EventType, {"name": "Demo"}),
    ],
)
def test_every_form_that_adds_a_row_adds_it_once(
    model: type[Model], fields: dict[str, str], owner: Client, organization: Organization
):
    url = admin_url(model, "add")
    data = form_data(owner, url, **fields)
    first = owner.post(url, data)
    before = snapshot_of(organization)

    second = owner.post(url, data)

    assert first.status_code in (200, 302)
    assert second.url == admin_url(model, "change", data["new_id"])
    assert shown_messages(second)[-1].startswith(SENT_BEFORE)
    assert snapshot_of(organization) == before


def test_a_form_whose_row_is_gone_adds_another_one_with_an_id_of_its_own(owner: Client, organization: Organization):
    """What is stored may still name the old id: values of a deleted field, histories of a merged lead."""
    kept = add_lead(organization=organization, actor=owner_actor(organization), email="kept@example.com")
    forms: dict[type[Any], dict[str, str]] = {
        Lead: {"email": "ada@example.com"},
        CustomField: {"label": "Health notes", "key": "health", "entity": "LEAD", "type": "TEXT"},
    }
    for model, fields in forms.items():
        url = admin_url(model, "add")
        data = form_data(owner, url, **fields)
        assert owner.post(url, data).status_code == 302
        old = model.objects.of(organization).get(pk=data["new_id"])
        if model is Lead:
            merge(organization, kept.pk, old.pk)
            data["email"] = "bob@example.com"
        else:
            owner.post(admin_url(model, "delete", old.pk), {"post": "yes"})

        refused = owner.post(url, data)
        new_id = refused.context["adminform"].form["new_id"].value()
        added = owner.post(url, {**data, "new_id": new_id})

        assert "What you added with this form before is gone" in form_errors(refused)[0]
        assert not model.objects.of(organization).filter(pk=old.pk).exists()
        assert (added.status_code, model.objects.of(organization).filter(pk=new_id).count()) == (302, 1)


def test_a_note_that_is_sent_twice_is_stored_once(owner: Client, appointment: Appointment):
    url = admin_url(Appointment, "add_note", appointment.pk)
    form = form_data(owner, url, note="Wants a demo")
    owner.post(url, form)
    before = snapshot_of(appointment.organization)

    second = owner.post(url, form)

    assert second.url == admin_url(Appointment, "change", appointment.pk)
    assert snapshot_of(appointment.organization) == before


@pytest.mark.parametrize("new_id", ["nonsense", "00000000-0000-4000-8000-000000000000", "\0"])
def test_an_invalid_id_in_the_form_is_refused(
    new_id: str, owner: Client, event_type: EventType, organization: Organization
):
    before = snapshot_of(organization)

    response = owner.post(admin_url(Appointment, "add"), booking(owner, event_type, new_id=new_id))

    assert form_errors(response)
    assert snapshot_of(organization) == before


def test_the_id_of_a_row_of_another_organization_is_refused(
    owner: Client, event_type: EventType, organization: Organization, other_appointment: Appointment
):
    before = [snapshot_of(owner) for owner in (organization, other_appointment.organization)]

    response = owner.post(admin_url(Appointment, "add"), booking(owner, event_type, new_id=other_appointment.pk))

    assert any("Someone else just saved" in message for message in form_errors(response))
    assert [snapshot_of(owner) for owner in (organization, other_appointment.organization)] == before


def test_a_form_without_an_id_books_too(owner: Client, event_type: EventType, organization: Organization):
    response = owner.post(admin_url(Appointment, "add"), booking(owner, event_type, new_id=""))

    assert response.status_code == 302
    assert Appointment.objects.of(organization).get().pk.version == uuid7().version


def test_an_organization_and_an_invitation_that_are_sent_twice_are_added_once(organization: Organization):
    operator, owner = Client(), logged_in_client(owner_of(organization))
    operator.force_login(User.objects.create_superuser("operator@example.com"))
    forms: list[tuple[Client, str, dict[str, str]]] = [
        (operator, admin_url(Organization, "add"), {"name": "Twice", "owner_email": "twice@example.com"}),
        (owner, admin_url(Invitation, "add"), {"email": "new@example.com", "role": "CLOSER"}),
    ]

    for client, url, fields in forms:
        data = form_data(client, url, **fields)
        responses = [client.post(url, data) for _ in range(2)]
        assert [response.status_code for response in responses] == [302, 302]
        assert shown_messages(responses[1])[-1].startswith(SENT_BEFORE)

    assert Organization.objects.filter(name="Twice").count() == 1
    assert Invitation.unscoped.filter(email__in=["twice@example.com", "new@example.com"]).count() == 2
