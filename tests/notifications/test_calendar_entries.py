"""What a calendar entry shows, and which entry of a calendar it is (docs/interface.md, N5)."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from icalendar import Calendar, Event
from uuid_utils.compat import uuid7

from appointments.models import Appointment, EventType
from notifications.models import Notification
from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.factories import make_event_type, owner_of
from tests.jobs import send_notifications
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

START = datetime(2027, 1, 5, 10, tzinfo=UTC)


@pytest.fixture
def owner(organization: Organization) -> Client:
    """A client logged in as Acme's owner."""
    return logged_in_client(owner_of(organization))


@pytest.fixture
def closer(host: Membership) -> Client:
    """A client logged in as Hana, a closer of Acme."""
    return logged_in_client(host)


def migrate_from_before_stored_uids() -> None:
    """Migrate back to the previous version's tables, and forward again."""
    MigrationExecutor(connection).migrate([("appointments", "0005_booked_for")])
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def entries_in(mailoutbox: list[Any]) -> list[Event]:
    """Return the calendar entry of each e-mail."""
    calendars = [part.content for email in mailoutbox for part in email.alternatives if "calendar" in part.mimetype]
    return [Calendar.from_ical(text).walk("VEVENT")[0] for text in calendars]


def body_parts(email: Any) -> list[str]:
    """Return the text and the HTML of an e-mail, each without its line breaks."""
    html = next(part.content for part in email.alternatives if part.mimetype == "text/html")
    return [" ".join(text.split()) for text in (email.body, html)]


def test_an_owner_reads_that_nobody_is_assigned(
    api: ApiClient, organization: Organization, mailoutbox: list[Any]
) -> None:
    api.book()

    send_notifications(str(organization.pk))

    reason = "because no one is assigned to the call and you are an owner of Acme"
    assert [reason in text for text in body_parts(mailoutbox[0])] == [True, True]


def test_a_participant_reads_that_they_take_part(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    api.book(host_email=host.user.email)

    send_notifications(str(organization.pk))

    reason = "because you are the host, the setter or the triager of the call"
    assert [reason in text for text in body_parts(mailoutbox[0])] == [True, True]


def test_the_uid_depends_on_no_setting(
    api: ApiClient, organization: Organization, mailoutbox: list[Any], settings: Any
) -> None:
    id = api.book().json()["data"]["id"]
    settings.BASE_URL = "https://moved.example"
    api.cancel()
    settings.BASE_URL = "https://moved-again.example"

    send_notifications(str(organization.pk))

    assert {str(event["UID"]) for event in entries_in(mailoutbox)} == {f"{id}@pipeline-backend"}


@pytest.mark.django_db(transaction=True)
def test_an_appointment_from_before_the_upgrade_keeps_its_uid(
    api: ApiClient, organization: Organization, mailoutbox: list[Any], settings: Any
) -> None:
    old = api.book().json()["data"]["id"]
    migrate_from_before_stored_uids()
    settings.BASE_URL = "https://moved.example"
    new = api.book(external_reference="ref-2").json()["data"]["id"]
    send_notifications(str(organization.pk))
    mailoutbox.clear()

    api.cancel()
    api.cancel(external_reference="ref-2")
    send_notifications(str(organization.pk))

    # The settings of tests have the BASE_URL http://testserver.
    uids = {str(event["UID"]) for event in entries_in(mailoutbox)}
    assert uids == {f"{old}@testserver", f"{new}@pipeline-backend"}


def test_a_notification_that_waited_for_the_upgrade_is_still_sent(
    api: ApiClient, organization: Organization, mailoutbox: list[Any], settings: Any
) -> None:
    id = api.book(meeting_url="https://meet.example/1").json()["data"]["id"]
    notification = Notification.objects.of(organization).get()
    names = ["appointment_id", "sequence", "schedule_time", "updated_at", "event_type", "lead_name", "lead_email"]
    names += ["lead_phone", "host", "meeting_url", "note", "organization", "attendees"]
    notification.context = {name: notification.context[name] for name in names}
    notification.save()
    settings.BASE_URL = "https://crm.example:8443/"

    send_notifications(str(organization.pk))

    [event] = entries_in(mailoutbox)
    assert event["UID"] == f"{id}@crm.example"
    assert event["DTEND"].dt - event["DTSTART"].dt == timedelta(hours=1)


def test_nobody_is_asked_to_answer(api: ApiClient, organization: Organization, mailoutbox: list[Any]) -> None:
    api.book()

    send_notifications(str(organization.pk))

    assert entries_in(mailoutbox)[0]["ATTENDEE"].params["RSVP"] == "FALSE"


def test_the_description_has_what_the_host_needs(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    response = api.book(
        host_email=host.user.email,
        lead_phone="+14155552671",
        meeting_url="https://meet.example/1",
        notes="Asked twice about prices; wants a discount,\nand a demo",
    )

    send_notifications(str(organization.pk))

    assert str(entries_in(mailoutbox)[0]["DESCRIPTION"]).split("\n") == [
        "E-mail: ada@example.com",
        "Phone: +14155552671",
        "Host: Hana Host",
        "Category: Sales call",
        "Meeting: https://meet.example/1",
        f"Appointment: http://testserver/admin/appointments/appointment/{response.json()['data']['id']}/change/",
        "",
        "Asked twice about prices; wants a discount,",
        "and a demo",
    ]


def test_the_description_leaves_out_what_is_not_known(
    api: ApiClient, organization: Organization, mailoutbox: list[Any]
) -> None:
    id = api.book().json()["data"]["id"]

    send_notifications(str(organization.pk))

    assert str(entries_in(mailoutbox)[0]["DESCRIPTION"]).split("\n") == [
        "E-mail: ada@example.com",
        "Category: Sales call",
        f"Appointment: http://testserver/admin/appointments/appointment/{id}/change/",
    ]


@pytest.mark.parametrize("minutes", [5, 45, 1440])
def test_an_entry_is_as_long_as_its_event_type_says(
    minutes: int, owner: Client, api: ApiClient, organization: Organization, mailoutbox: list[Any]
) -> None:
    event_type = make_event_type(organization, "Strategy call")
    url = admin_url(EventType, "change", event_type.pk)
    response = owner.post(url, form_data(owner, url, duration_minutes=minutes))
    assert response.status_code == 302, form_errors(response)
    api.book()

    send_notifications(str(organization.pk))

    [event] = entries_in(mailoutbox)
    assert (event["DTSTART"].dt, event["DTEND"].dt) == (START, START + timedelta(minutes=minutes))


@pytest.mark.parametrize("minutes", ["4", "1441", "-5", "", "half an hour"])
def test_a_duration_is_from_five_minutes_to_a_day(minutes: str, owner: Client, organization: Organization) -> None:
    event_type = make_event_type(organization, "Strategy call")
    url = admin_url(EventType, "change", event_type.pk)

    response = owner.post(url, form_data(owner, url, duration_minutes=minutes))

    assert response.status_code == 200
    assert form_errors(response) != []
    event_type.refresh_from_db()
    assert event_type.duration_minutes == 60


def mention(client: Client, appointment_id: str, note: str, *members: Membership, form: str = "") -> None:
    """Add a note in the admin that mentions these members."""
    url = admin_url(Appointment, "add_note", appointment_id)
    text = " ".join([note, *(f"@{member.user.email}" for member in members)])
    response = client.post(url, {"note": text, "new_id": form})
    assert response.status_code == 302, form_errors(response)


def test_a_mentioned_member_gets_an_email_with_the_note(
    owner: Client, api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    id = api.book(lead_first_name="Ada", lead_last_name="Lovelace").json()["data"]["id"]
    send_notifications(str(organization.pk))
    mailoutbox.clear()

    mention(owner, id, "Please call her <b>today</b>\nand ask about the budget", host)
    send_notifications(str(organization.pk))

    [email] = mailoutbox
    assert (email.to, email.subject) == (["hana@acme.example"], "Mentioned in a note: Ada Lovelace")
    assert "Please call her <b>today</b>\nand ask about the budget" in email.body
    link = f"http://testserver/admin/appointments/appointment/{id}/change/"
    author = str(owner_of(organization))
    text, html = body_parts(email)
    assert [part for part in (author, link, "Tuesday, 05 January 2027, 10:00 (UTC)") if part not in text] == []
    assert [part for part in (author, link, "&lt;b&gt;today&lt;/b&gt;") if part not in html] == []
    assert [part for part in email.message().walk() if part.get_content_type() == "text/calendar"] == []
    assert "unsubscribe/" in email.message()["List-Unsubscribe"]


def test_the_author_of_a_note_gets_no_email_about_it_and_others_get_one(
    closer: Client, api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    id = api.book().json()["data"]["id"]
    send_notifications(str(organization.pk))
    mailoutbox.clear()

    form = str(uuid7())
    for _ in range(2):  # the second one is the same form, whose note is not stored again
        mention(closer, id, "For both of us", host, owner_of(organization), form=form)
    send_notifications(str(organization.pk))

    assert [email.to for email in mailoutbox] == [["owner@acme.example"]]


def test_mentions_can_be_switched_off(
    owner: Client,
    closer: Client,
    api: ApiClient,
    organization: Organization,
    host: Membership,
    mailoutbox: list[Any],
) -> None:
    id = api.book().json()["data"]["id"]
    send_notifications(str(organization.pk))
    mailoutbox.clear()
    url = admin_url(Membership, "email_notifications", host.pk)
    kinds = form_data(closer, url)["kinds"]

    response = closer.post(url, {"kinds": [kind for kind in kinds if kind != "MENTIONED"]})
    assert response.status_code == 302, form_errors(response)
    mention(owner, id, "Please call her", host)
    send_notifications(str(organization.pk))

    assert "MENTIONED" in kinds
    assert mailoutbox == []


def test_a_mention_is_not_posted_to_slack(
    owner: Client, api: ApiClient, organization: Organization, host: Membership
) -> None:
    organization.slack_url = "https://hooks.slack.example/1"
    organization.save()
    id = api.book().json()["data"]["id"]

    mention(owner, id, "Please call her", host)

    rows = Notification.objects.of(organization).values_list("kind", "medium")
    assert sorted(rows) == [("CALL_BOOKED", "EMAIL"), ("CALL_BOOKED", "SLACK"), ("MENTIONED", "EMAIL")]
    assert "slack" not in json.dumps(Notification.objects.of(organization).get(kind="MENTIONED").context)


def test_a_long_name_leaves_the_time_in_the_subject(
    api: ApiClient, organization: Organization, mailoutbox: list[Any]
) -> None:
    api.book(lead_first_name="Wolfeschlegelstein" * 14)

    send_notifications(str(organization.pk))

    assert mailoutbox[0].subject.endswith(", Tuesday, 05 January 2027, 10:00 (UTC)")
