"""E-mails to leads: what staff book, move and cancel, reminders, unsubscribing, and the organization's texts."""

import re
from datetime import UTC, date, datetime, timedelta
from email.parser import BytesParser
from email.policy import default as modern
from email.utils import parseaddr
from html import unescape
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from appointments import lead_notifications
from appointments.models import Appointment, EventType
from appointments.services import cancel_appointment, edit_appointment, remind_leads, reschedule
from foundation.api.emails import mail_address
from foundation.db.timestamps import now
from foundation.outbox import State
from leads.merging import merge_leads, undo_merge
from leads.models import Lead, LeadMerge
from leads.privacy.erasing import request_erasure
from leads.privacy.models import Erasure
from notifications import daily_limit
from notifications.lead_messages import STANDARD_TEXTS
from notifications.models import LEAD_KINDS, Kind, LeadMessage, Notification
from notifications.queues import EMAILS
from notifications.services import lead_unsubscribe_url
from organizations.actors import SYSTEM, actor_columns
from organizations.models import MemberRole, Membership, Organization, User
from statuses.models import Status
from tests.accounts import deliver_mail, request_reset
from tests.client import ApiClient, booking_payload
from tests.factories import make_member, make_status, owner_actor, owner_of, snapshot_of
from tests.jobs import send_notifications
from tests.notifications.test_invitations import parse_invitation
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client, shown_messages

pytestmark = pytest.mark.django_db

MOVED = datetime(2027, 1, 6, 15, 30, tzinfo=UTC)


@pytest.fixture
def messages(organization: Organization) -> None:
    """Switch all messages to leads on, with their standard texts."""
    for kind, (subject, text) in STANDARD_TEXTS.items():
        LeadMessage.objects.create(organization=organization, kind=kind, is_active=True, subject=subject, text=text)


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


def sent_to_leads(organization: Organization, mailoutbox: list[Any]) -> list[Any]:
    """Send what is due; return the e-mails to others than members, and empty the box."""
    send_notifications(organization.pk)
    members = set(map(mail_address, Membership.objects.of(organization).values_list("user__email", flat=True)))
    emails = [email for email in mailoutbox if email.to[0] not in members]
    mailoutbox.clear()
    return emails


def mails_to_leads(organization: Organization) -> list[tuple[str, str]]:
    """Return kind and state of the stored e-mails to leads, in order."""
    rows = Notification.objects.of(organization).filter(kind__in=LEAD_KINDS, recipient=None)
    return list(rows.order_by("created_at", "pk").values_list("kind", "state"))


def booked(api: ApiClient, **fields: Any) -> Appointment:
    id = api.book(lead_first_name="Ada", **fields).json()["data"]["id"]
    appointment: Appointment = Appointment.unscoped.get(pk=id)
    return appointment


def test_mail_goes_to_the_domain_that_the_address_names(
    api: ApiClient, organization: Organization, messages: None, mailoutbox: list[Any]
):
    """ß is a letter of its own, and the domain with ss is another one's; Django writes it so."""
    make_member(organization, "chef@faß.example")
    booked(api, lead_email="ada@straße.example", host_email="chef@faß.example", notify_lead=True)
    send_notifications(organization.pk)
    request_reset("chef@faß.example")
    deliver_mail(organization)

    sent = [BytesParser(policy=modern).parsebytes(email.message().as_bytes()) for email in mailoutbox]
    entries = [parse_invitation(email) for email in mailoutbox if email.attachments]
    assert {str(message["To"]) for message in sent} == {"ada@xn--strae-oqa.example", "chef@xn--fa-hia.example"}
    assert len(sent) == 3
    [answers] = [message["Reply-To"].addresses for message in sent if message["Reply-To"]]
    assert [answer.addr_spec for answer in answers] == ["chef@xn--fa-hia.example"]
    assert "chef@xn--fa-hia.example" in str(entries)


def unsubscribe_link(email: Any) -> str:
    return urlsplit(email.extra_headers["List-Unsubscribe"].strip("<>")).path


def test_the_page_that_cancels_several_says_which_leads_get_an_email(
    api: ApiClient, owner: Client, organization: Organization, messages: None
):
    rows = [booked(api, external_reference=name, lead_email=f"{name}@example.com") for name in ("a", "b", "c", "d")]
    cancel_appointment(organization=organization, actor=owner_actor(organization), appointment=rows[3])
    Lead.objects.of(organization).filter(pk=rows[2].lead_id).update(unsubscribed_at=MOVED)

    def question(action: str, *selected: Appointment) -> str:
        data = {"action": action, "_selected_action": [str(row.pk) for row in selected], "index": "0"}
        text: str = owner.post(admin_url(Appointment, "changelist"), data).context["question"]
        return text

    assert "? 2 leads get a cancellation by e-mail. The host," in question("cancel_selected", *rows)
    assert "outcome: Ada gets a cancellation by e-mail. The host," in question("set_outcome_selected", *rows[1:])
    assert "? No lead gets an e-mail. The host," in question("cancel_selected", *rows[2:])
    assert "Rescheduled: Ada gets an invitation by e-mail. The host," in question("set_outcome_selected", *rows)
    assert "a booked one" not in question("set_outcome_selected", *rows[:2])


def test_the_page_of_the_outcome_says_who_is_invited_if_a_canceled_call_is_booked_again(
    api: ApiClient, owner: Client, organization: Organization, host: Membership, messages: None
) -> None:
    row = booked(api, host_email="hana@acme.example")
    url = admin_url(Appointment, "set_outcome", row.pk)
    before = owner.get(url).context["question"]
    cancel_appointment(organization=organization, actor=owner_actor(organization), appointment=row)

    question = owner.get(url).context["question"]

    assert "a booked one" not in before
    assert question.endswith(
        "If you choose a booked one, or one with the role Rescheduled: Hana Host gets an invitation by e-mail. "
        "Ada gets an invitation by e-mail."
    )


@pytest.mark.parametrize("name", ["Appointment booked", "Called off"])
def test_a_move_on_the_board_asks_before_it_mails_the_lead_alone(
    name: str,
    api: ApiClient,
    owner: Client,
    organization: Organization,
    host: Membership,
    messages: None,
    mailoutbox: list[Any],
) -> None:
    Membership.objects.of(organization).filter(pk=host.pk).update(wants_mail=False)
    row = booked(api, host_email="hana@acme.example")
    statuses = Status.objects.of(organization)
    target = make_status(organization, "Called off", role="CANCELED", type="APPOINTMENT")
    if name == "Appointment booked":
        cancel_appointment(organization=organization, actor=owner_actor(organization), appointment=row)
        target = statuses.get(name=name)
    sent_to_leads(organization, mailoutbox)
    row.refresh_from_db()
    data = {"card": f"{row.pk}:{row.outcome_id}", f"to-{row.pk}": str(target.pk)}

    answer = owner.post(admin_url(Appointment, "move"), data, headers={"Accept": "application/json"}).json()

    assert answer["state"] == "asks"
    assert re.search("Ada gets an? (invitation|cancellation) by e-mail.$", owner.get(answer["url"]).context["question"])
    assert sent_to_leads(organization, mailoutbox) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"meeting_url": "https://meet.example/2"},
            "Hana Host gets an updated invitation by e-mail. Elif gets an invitation by e-mail.",
        ),
        (
            {"schedule_time_1": "15:30"},
            "Hana Host gets an updated invitation by e-mail. Elif gets the new time by e-mail.",
        ),
        ({"call_category": "TRIAGE_CALL"}, "Hana Host gets an updated invitation by e-mail. Elif isn't notified."),
        ({"recording_url": "https://meet.example/2"}, ""),
        ({}, ""),
    ],
)
def test_the_edit_form_says_who_was_notified(
    change: dict[str, str],
    message: str,
    owner: Client,
    organization: Organization,
    host: Membership,
    api: ApiClient,
    messages: None,
    mailoutbox: list[Any],
):
    api.book(host_email=host.user.email, lead_first_name="Elif", schedule_time="2031-01-06T10:00:00Z")
    send_notifications(str(organization.pk))
    url = admin_url(Appointment, "change", Appointment.objects.of(organization).get().pk)

    response = owner.post(url, form_data(owner, url, **change))
    send_notifications(str(organization.pk))

    said = [text for text in shown_messages(response) if "successfully" not in text]
    assert said == [message] * bool(message)
    assert len(sent_to_leads(organization, mailoutbox)) == ("Elif gets" in message)


def test_a_booking_by_staff_its_move_and_its_cancellation_reach_the_lead_and_their_calendar(
    owner: Client, organization: Organization, host: Membership, messages: None, mailoutbox: list[Any]
):
    event_type = EventType.objects.create(organization=organization, name="Strategy call")
    url = admin_url(Appointment, "add")
    fields = {"lead_email": "elif@example.com", "lead_first_name": "Elif", "lead_phone": "+905012345678"}
    fields |= {"schedule_time_0": "2027-01-05", "schedule_time_1": "10:00", "event_type": event_type.pk}
    page = owner.post(url, form_data(owner, url, host=host.pk, meeting_url="https://meet.example/1", **fields))
    appointment = Appointment.objects.of(organization).get()
    assert "Elif gets an invitation by e-mail." in shown_messages(page)
    emails = sent_to_leads(organization, mailoutbox)
    reschedule_url = admin_url(Appointment, "reschedule", appointment.pk)
    assert "Elif gets the new time by e-mail." in owner.get(reschedule_url).context["question"]
    owner.post(reschedule_url, form_data(owner, reschedule_url, schedule_time_0="2027-01-06", schedule_time_1="15:30"))
    emails += sent_to_leads(organization, mailoutbox)
    cancel_url = admin_url(Appointment, "cancel", appointment.pk)
    assert "Elif gets a cancellation by e-mail." in owner.get(cancel_url).context["question"]
    owner.post(cancel_url, form_data(owner, cancel_url))
    emails += sent_to_leads(organization, mailoutbox)

    assert [email.to for email in emails] == [["elif@example.com"]] * 3
    invitation, move, cancellation = [parse_invitation(email) for email in emails]
    uid = f"{appointment.pk}-lead@pipeline-backend"
    assert [entry.get("UID") for entry in (invitation, move, cancellation)] == [uid] * 3
    assert [entry.get("SEQUENCE") for entry in (invitation, move, cancellation)] == ["0", "1", "2"]
    methods = [entry.calendar_values("METHOD") for entry in (invitation, move, cancellation)]
    assert methods == [["REQUEST"], ["REQUEST"], ["CANCEL"]]
    assert [entry.get("DTSTART") for entry in (invitation, move)] == ["20270105T100000Z", "20270106T153000Z"]
    first, second, third = emails
    assert first.subject == "Strategy call with Acme: Tuesday, 05 January 2027, 13:00, Istanbul time (GMT+3)"
    assert first.body.startswith("Hi Elif,\n\nyour call is booked.\n\nStrategy call with Hana Host\n")
    assert ("https://meet.example/1" in first.body, "https://meet.example/1" in third.body) == (True, False)
    assert "Wednesday, 06 January 2027, 18:30, Istanbul time (GMT+3)" in second.body
    assert (first.from_email, first.reply_to) == ("Acme <pipeline@localhost>", ["Hana Host <hana@acme.example>"])
    timeline = owner.get(admin_url(Lead, "change", appointment.lead_id)).content.decode()
    assert "Invitation to the lead (delivered)" in timeline


def test_integrations_write_to_leads_themselves_unless_they_ask_for_it(
    api: ApiClient, organization: Organization, host: Membership, messages: None, mailoutbox: list[Any]
):
    api.book(host_email=host.user.email)
    api.reschedule()
    api.cancel()
    assert sent_to_leads(organization, mailoutbox) == []

    asked = {"notify_lead": True, "external_reference": "ref-2"}
    id = api.book(**asked).json()["data"]["id"]
    api.book(**asked)  # a retry
    api.reschedule(**asked)
    api.patch(f"/api/external/appointments/{id}", {"meeting_url": "https://meet.example/2", "notify_lead": True})
    api.patch(f"/api/external/appointments/{id}", {"recording_url": "https://rec.example/2", "notify_lead": True})
    api.cancel(**asked)
    api.cancel(**asked)
    row = booking_payload(external_reference="ref-3", notify_lead=True)
    assert api.post("/api/external/appointments/import", {"rows": [row]}).json()["data"]["failed"] == 0

    kinds = [kind for kind, _ in mails_to_leads(organization)]
    assert kinds == ["LEAD_INVITED", "LEAD_RESCHEDULED", "LEAD_INVITED", "LEAD_CANCELED"]


def test_leads_get_nothing_from_organizations_that_have_not_switched_it_on_or_are_for_tests(
    api: ApiClient, organization: Organization, owner: Client, messages: None
):
    first, actor = booked(api), owner_actor(organization)
    LeadMessage.objects.of(organization).update(is_active=False)
    question = owner.get(admin_url(Appointment, "reschedule", first.pk)).context["question"]
    assert "Ada isn't notified." in question
    reschedule(organization=organization, actor=actor, appointment=first, to=MOVED)

    LeadMessage.objects.of(organization).update(is_active=True)
    Organization.objects.update(is_test=True)
    organization.refresh_from_db()
    cancel_appointment(organization=organization, actor=actor, appointment=first)

    assert mails_to_leads(organization) == []


@pytest.fixture
def reminded(api: ApiClient, organization: Organization, messages: None) -> Appointment:
    """An appointment on 5 January 2027, 10:00 UTC, of whose reminder, 24 hours before, the lead has been told."""
    EventType.objects.create(
        organization=organization, name="Strategy call", name_key="strategy call", reminder_hours=24
    )
    with time_machine.travel("2027-01-02T10:00:00Z"):
        return booked(api, event_type_name="Strategy call", notify_lead=True)


def reminders(organization: Organization) -> int:
    return [kind for kind, _ in mails_to_leads(organization)].count("LEAD_REMINDED")


def test_a_reminder_is_sent_once_and_again_only_for_a_new_time(reminded: Appointment, organization: Organization):
    actor, counts = owner_actor(organization), []
    for at, to in [
        ("2027-01-04T09:59:00Z", None),  # not yet
        ("2027-01-04T11:00:00Z", None),  # an hour late, because no worker ran
        ("2027-01-04T11:01:00Z", MOVED),  # once; then staff move the call to the 6th, 15:30
        ("2027-01-05T15:29:00Z", None),
        ("2027-01-05T15:30:00Z", datetime(2027, 1, 6, 15, tzinfo=UTC)),  # in less than 24 hours from now: none
        ("2027-01-06T14:59:00Z", None),
    ]:
        with time_machine.travel(at, tick=False):
            remind_leads(organization=organization)
            remind_leads(organization=organization)
            counts.append(reminders(organization))
            if to:
                reschedule(organization=organization, actor=actor, appointment=reminded, to=to)

    assert counts == [0, 1, 1, 1, 2, 2]


def test_another_event_type_moves_the_reminder_and_brings_no_second_one(
    reminded: Appointment, api: ApiClient, organization: Organization, owner: Client
):
    def remind_at(at: str, *, then: str = "") -> int:
        with time_machine.travel(at, tick=False):
            remind_leads(organization=organization)
            if then:
                owner.force_login(owner_of(organization).user)  # the session of another time
                url = admin_url(Appointment, "change", reminded.pk)
                event_type = EventType.objects.of(organization).get(name=then).pk
                response = owner.post(url, form_data(owner, url, event_type=event_type))
                assert response.status_code == 302, form_errors(response)
        return reminders(organization)

    for name, hours in {"None": 0, "Short": 1}.items():
        EventType.objects.create(organization=organization, name=name, name_key=name.lower(), reminder_hours=hours)

    with time_machine.travel("2027-01-02T11:00:00Z"):
        send_notifications(organization.pk)
    counts = [
        remind_at("2027-01-02T12:00:00Z", then="None"),
        remind_at("2027-01-04T10:00:00Z", then="Short"),  # which has no reminder; the lead still waits for one
        remind_at("2027-01-05T09:00:00Z", then="Strategy call"),
        remind_at("2027-01-05T09:01:00Z"),
    ]
    # The lead has not been told of this one.
    booked(api, event_type_name="None", external_reference="silent", schedule_time="2027-01-07T10:00:00Z")
    reminded = Appointment.objects.of(organization).get(external_reference="silent")
    counts.append(remind_at("2027-01-02T12:00:00Z", then="Short"))
    counts.append(remind_at("2027-01-07T09:30:00Z"))

    assert counts == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(("roles", "count"), [(["FOLLOW_UP"], 1), (["CANCELED", "FOLLOW_UP"], 1), (["LOST"], 0)])
def test_a_follow_up_that_is_moved_is_reminded_of(
    reminded: Appointment, organization: Organization, roles: list[str], count: int
):
    actor = owner_actor(organization)
    with time_machine.travel("2027-01-05T09:30:00Z", tick=False):
        for role in roles:
            status = Status.objects.of(organization).get(role=role)
            edit_appointment(organization=organization, actor=actor, appointment=reminded, status_id=status.pk)
        reschedule(
            organization=organization, actor=actor, appointment=reminded, to=datetime(2027, 1, 8, 15, tzinfo=UTC)
        )
    with time_machine.travel("2027-01-07T15:01:00Z", tick=False):
        remind_leads(organization=organization)

    assert reminders(organization) == count


def test_of_the_same_time_a_lead_is_reminded_once_whatever_changes(
    reminded: Appointment, organization: Organization, owner: Client
):
    with time_machine.travel("2027-01-04T10:00:00Z", tick=False):
        remind_leads(organization=organization)
        send_notifications(organization.pk)
        EventType.objects.of(organization).update(reminder_hours=2)
        actor = owner_actor(organization)
        new_link: dict[str, Any] = {"meeting_url": "https://meet.example/2"}
        edit_appointment(organization=organization, actor=actor, appointment=reminded, **new_link)
        invited = [kind for kind, _ in mails_to_leads(organization)].count("LEAD_INVITED")
    with time_machine.travel("2027-01-05T08:00:00Z", tick=False):
        remind_leads(organization=organization)

    assert (invited, reminders(organization)) == (2, 1)


def test_answers_go_to_somebody_who_is_there(
    api: ApiClient, organization: Organization, host: Membership, messages: None, mailoutbox: list[Any]
):
    setter = make_member(organization, "seth@acme.example", role=MemberRole.SETTER, first_name="Seth")
    owner = owner_of(organization).user.email
    asked = {"notify_lead": True, "host_email": host.user.email}
    answerers = []
    booked(api, **asked, setter_email=setter.user.email)
    for leaving in (None, host, setter):
        if leaving:
            Membership.objects.of(organization).filter(pk=leaving.pk).update(is_active=False)
            api.reschedule(notify_lead=True, schedule_time=f"2027-01-06T1{len(answerers)}:00:00Z")
        answerers += [email.reply_to for email in sent_to_leads(organization, mailoutbox)]

    assert [parseaddr(reply_to)[1] for [reply_to] in answerers] == [host.user.email, setter.user.email, owner]


@pytest.mark.parametrize(
    "reason",
    ["begun", "canceled", "canceled silently", "rescheduled", "unsubscribed", "off", "booked silently", "being erased"],
)
def test_there_is_no_reminder(reason: str, reminded: Appointment, api: ApiClient, organization: Organization):
    with time_machine.travel("2027-01-02T11:00:00Z"):
        if reason == "canceled":
            cancel_appointment(organization=organization, actor=owner_actor(organization), appointment=reminded)
        if reason == "canceled silently":
            api.cancel()
        if reason == "rescheduled":
            api.patch(f"/api/external/appointments/{reminded.pk}", {"outcome_role": "RESCHEDULED"})
        if reason == "unsubscribed":
            Lead.objects.of(organization).update(unsubscribed_at=datetime.now(UTC))
        if reason == "being erased":
            columns = {"organization": organization, "lead_id": reminded.lead_id, **actor_columns(SYSTEM)}
            Erasure.objects.create(updated_at=datetime.now(UTC), **columns)
        if reason == "off":
            LeadMessage.objects.of(organization).filter(kind=Kind.LEAD_REMINDED).update(is_active=False)
        if reason == "booked silently":
            api.cancel()
            booked(api, event_type_name="Strategy call", external_reference="ref-2")

    with time_machine.travel("2027-01-05T10:00:00Z" if reason == "begun" else "2027-01-04T10:00:00Z"):
        remind_leads(organization=organization)

    assert reminders(organization) == 0
    assert not Appointment.objects.of(organization).filter(pk=reminded.pk, lead_reminder_at__isnull=False).exists()


def test_a_lead_unsubscribes_with_one_click_for_good_and_staff_see_it(
    api: ApiClient, owner: Client, organization: Organization, messages: None, mailoutbox: list[Any]
):
    appointment, actor = booked(api, notify_lead=True), owner_actor(organization)
    (email,) = sent_to_leads(organization, mailoutbox)
    link, one_click = unsubscribe_link(email), "List-Unsubscribe=One-Click"
    reschedule(organization=organization, actor=actor, appointment=appointment, to=MOVED)  # still waiting
    before = snapshot_of(organization)
    asked = Client().get(link)
    assert (asked.status_code, "Acme" in asked.content.decode(), "Ada" in asked.content.decode()) == (200, True, False)
    assert snapshot_of(organization) == before

    stranger = Client(enforce_csrf_checks=True)
    Organization.objects.update(is_active=False, move="OUT")  # its new place would not learn of it
    moving = stranger.post(link, one_click, content_type="application/x-www-form-urlencoded")
    assert (moving.status_code, moving["Retry-After"], "Try again" in moving.content.decode()) == (503, "5", True)
    Organization.objects.update(is_active=True, move="")
    assert snapshot_of(organization) == before
    posts = [stranger.post(link, one_click, content_type="application/x-www-form-urlencoded") for _ in range(2)]
    assert [post.status_code for post in posts] == [200, 200]
    assert email.extra_headers["List-Unsubscribe-Post"] == one_click
    assert mails_to_leads(organization) == [("LEAD_INVITED", State.DONE), ("LEAD_RESCHEDULED", State.CANCELED)]
    cancel_url = admin_url(Appointment, "cancel", appointment.pk)
    assert "Ada has unsubscribed and doesn't get e-mails." in owner.get(cancel_url).context["question"]
    assert "Unsubscribed on" in owner.get(admin_url(Lead, "change", appointment.lead_id)).content.decode()
    cancel_appointment(organization=organization, actor=actor, appointment=appointment)
    assert sent_to_leads(organization, mailoutbox) == []

    # The page of a lead that is gone is the same; a changed link is no link.
    request_erasure(organization=organization, actor=actor, lead_id=appointment.lead_id)
    assert Client().get(link).content == asked.content
    assert stranger.post(link).status_code == 200
    lead = Lead.objects.of(organization).get()
    assert (lead.unsubscribed_at, mails_to_leads(organization)) == (None, [])
    broken = Client().get(f"{link}x")
    assert (broken.status_code, "Acme" in broken.content.decode()) == (404, False)


def test_a_merged_lead_stays_unsubscribed_and_so_do_both_if_it_was_done_since(
    api: ApiClient, organization: Organization, messages: None, mailoutbox: list[Any]
):
    first = booked(api, lead_email="ada@example.com", notify_lead=True)
    second = booked(api, lead_email="ada@example.org", external_reference="ref-2", notify_lead=True)
    actor, links = owner_actor(organization), [unsubscribe_link(m) for m in sent_to_leads(organization, mailoutbox)]
    leads = Lead.objects.of(organization)

    def unsubscribed() -> list[bool]:
        return [leads.get(pk=row.lead_id).unsubscribed_at is not None for row in (first, second)]

    def merge_and_undo(*, then: str = "") -> None:
        merge_leads(organization=organization, actor=actor, keep=first.lead_id, merge=second.lead_id)
        if then:
            Client().post(then)
        assert leads.get().unsubscribed_at is not None
        undo_merge(organization=organization, actor=actor, merge_id=LeadMerge.objects.of(organization).get().pk)

    leads.filter(pk=second.lead_id).update(unsubscribed_at=datetime.now(UTC))
    merge_and_undo()
    assert unsubscribed() == [False, True]
    merge_and_undo(then=links[0])
    assert unsubscribed() == [True, True], "although the merged lead had unsubscribed before"
    leads.update(unsubscribed_at=None)
    merge_and_undo(then=links[1])
    assert unsubscribed() == [True, True]


def test_an_organization_has_a_limit_of_emails_to_leads_a_day(
    api: ApiClient,
    organization: Organization,
    host: Membership,
    messages: None,
    mailoutbox: list[Any],
    monkeypatch: Any,
):
    monkeypatch.setattr(daily_limit, "LEAD_MAILS_PER_DAY", 2)
    with time_machine.travel("2026-12-01T10:00:00Z"):
        for number in range(3):
            api.book(external_reference=f"ref-{number}", host_email=host.user.email, notify_lead=True)
        first_day = sent_to_leads(organization, mailoutbox)
    with time_machine.travel("2026-12-01T11:00:00Z"):
        refused = Notification.objects.of(organization).get(state=State.DEAD)
    Organization.objects.update(mail_count_date="2026-12-01")
    api.cancel(external_reference="ref-1")
    assert sent_to_leads(organization, mailoutbox) == []  # the first e-mail of the new day is to a member
    api.cancel(external_reference="ref-0", notify_lead=True)

    assert (len(first_day), refused.last_error) == (2, "lead_limit")
    assert len(sent_to_leads(organization, mailoutbox)) == 1
    # Members get theirs: three bookings and two cancellations.
    assert Notification.objects.of(organization).filter(recipient=host, state=State.DONE).count() == 5


def test_one_lead_has_a_limit_of_emails_a_day(
    api: ApiClient, organization: Organization, messages: None, mailoutbox: list[Any], monkeypatch: Any
):
    """Bookings for somebody else's address don't use up the organization's e-mails of the day."""
    monkeypatch.setattr(lead_notifications, "MAILS_PER_DAY", 2)
    for number in range(3):
        booked(api, external_reference=f"ref-{number}", lead_email="ada@example.com", notify_lead=True)
    booked(api, external_reference="other", lead_email="bob@example.com", notify_lead=True)

    recipients = sorted(email.to[0] for email in sent_to_leads(organization, mailoutbox))
    refused = Notification.objects.of(organization).get(state=State.DEAD)
    Notification.objects.of(organization).update(created_at=now() - timedelta(days=1))
    booked(api, external_reference="next day", lead_email="ada@example.com", notify_lead=True)

    assert recipients == ["ada@example.com", "ada@example.com", "bob@example.com"]
    assert (refused.last_error, refused.next_attempt_at, refused.finished_at is None) == ("lead_limit", None, False)
    assert [email.to for email in sent_to_leads(organization, mailoutbox)] == [["ada@example.com"]]


def test_calls_without_an_email_make_no_room_for_more_emails_to_a_lead(
    api: ApiClient, organization: Organization, messages: None, monkeypatch: Any
):
    monkeypatch.setattr(lead_notifications, "MAILS_PER_DAY", 2)
    for number in range(3):
        row = booked(api, external_reference=f"near-{number}", lead_email="ada@example.com", notify_lead=True)
    far = {**row.stored_values, "schedule_time": row.schedule_time + timedelta(days=9), "external_reference": None}
    Appointment.objects.of(organization).bulk_create([Appointment(**{**far, "id": uuid4()}) for _ in range(120)])

    booked(api, external_reference="last", lead_email="ada@example.com", notify_lead=True)

    assert Notification.objects.of(organization).filter(last_error="lead_limit").count() == 2


def test_staff_are_told_that_a_lead_has_reached_the_limit(
    api: ApiClient, organization: Organization, owner: Client, messages: None, monkeypatch: Any
):
    """What was refused or canceled before it was sent doesn't count: it would keep a lead from all e-mails."""
    monkeypatch.setattr(lead_notifications, "MAILS_PER_DAY", 2)
    limit = "Ada isn't notified: we send one lead at most 2 e-mails in 24 hours."

    event_type = EventType.objects.create(organization=organization, name="Strategy call")

    def book_by_staff(day: int) -> str:
        url = admin_url(Appointment, "add")
        fields = {"lead_email": "ada@example.com", "lead_first_name": "Ada", "event_type": event_type.pk}
        fields |= {"schedule_time_0": f"2027-01-0{day}", "schedule_time_1": "10:00"}
        return next(text for text in shown_messages(owner.post(url, form_data(owner, url, **fields))) if "Ada" in text)

    said = [book_by_staff(day) for day in (5, 6, 7)]
    row = Appointment.objects.of(organization).latest("created_at")
    question = owner.get(admin_url(Appointment, "cancel", row.pk)).context["question"]
    selected = {"action": "cancel_selected", "_selected_action": [str(row.pk)], "index": "0"}
    about_several = owner.post(admin_url(Appointment, "changelist"), selected).context["question"]
    Notification.objects.of(organization).filter(recipient=None, state=State.PENDING).update(state=State.CANCELED)
    after = owner.get(admin_url(Appointment, "cancel", row.pk)).context["question"]

    assert said == ["Ada gets an invitation by e-mail."] * 2 + [limit]
    assert limit in question
    assert "No lead gets an e-mail." in about_several
    assert "Ada gets a cancellation by e-mail." in after


def test_the_question_about_several_takes_as_many_statements_for_more(
    api: ApiClient, organization: Organization, owner: Client, messages: None
):
    rows = [booked(api, external_reference=name, lead_email=f"{name}@example.com") for name in ("a", "b", "c")]
    url, counts = admin_url(Appointment, "changelist"), []
    for selected in (rows[:1], rows[:1], rows):  # the first one fills what is kept for the process
        data = {"action": "cancel_selected", "_selected_action": [str(row.pk) for row in selected], "index": "0"}
        with CaptureQueriesContext(connection) as queries:
            assert "by e-mail" in owner.post(url, data).context["question"]
        counts.append(len(queries))

    assert counts[1] == counts[2]


def test_staff_are_told_of_the_organizations_daily_limits(
    api: ApiClient, organization: Organization, owner: Client, messages: None, monkeypatch: Any
):
    monkeypatch.setattr("notifications.daily_limit.LEAD_MAILS_PER_DAY", 1)
    row = booked(api, external_reference="first", lead_email="ada@example.com", notify_lead=True)
    url, times = admin_url(Appointment, "cancel", row.pk), admin_url(Appointment, "times")
    at = {"organization": organization.pk, "schedule_time_0": "2027-01-05", "schedule_time_1": "10:00"}
    selected = {"action": "cancel_selected", "_selected_action": [str(row.pk)], "index": "0"}

    def said() -> list[str]:
        beside = owner.post(times, at | {"field": "schedule_time", "host": ""}).content.decode()
        about_several = owner.post(admin_url(Appointment, "changelist"), selected).context["question"]
        return [owner.get(url).context["question"], unescape(beside), about_several]

    before = said()
    send_notifications(str(organization.pk))
    after = said()
    Organization.objects.update(mail_count_date=date(2026, 1, 1), mail_paused_until=now() + timedelta(hours=3))
    paused = said()

    limit = "isn't notified: your organization has sent its 1,000 e-mails to leads of today (UTC)."
    assert ["by e-mail." in text for text in before] == [True] * 3
    assert ["by e-mail, but not before" in text for text in paused] == [True, True, False]
    assert [limit in text for text in after] == [True, True, False]
    assert "No lead gets an e-mail." in after[2]


def test_an_email_to_a_lead_counts_once_however_often_it_is_claimed(
    api: ApiClient,
    organization: Organization,
    host: Membership,
    messages: None,
    mailoutbox: list[Any],
    monkeypatch: Any,
):
    monkeypatch.setattr(daily_limit, "LEAD_MAILS_PER_DAY", 1)
    api.book(host_email=host.user.email, notify_lead=True)
    for _ in range(3):  # as when a slow mail server takes the lease's time for others
        batch = EMAILS.claim(organization.pk)
        assert batch
        EMAILS.release(batch, batch.jobs)
    with monkeypatch.context() as broken:
        broken.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", fail)
        assert sent_to_leads(organization, mailoutbox) == []
    Notification.objects.of(organization).update(next_attempt_at=datetime(2026, 1, 1, tzinfo=UTC))

    assert [email.to for email in sent_to_leads(organization, mailoutbox)] == [["ada@example.com"]]


def fail(*_: object) -> None:
    raise ConnectionRefusedError


HOSTILE = 'Ada\r\nBcc: victim {host} =?utf-8?q?x?= <b>"x"<i>\u202e'


def test_names_of_strangers_change_neither_headers_nor_markup_nor_the_text(
    api: ApiClient, organization: Organization, host: Membership, messages: None, mailoutbox: list[Any]
):
    User.objects.filter(pk=host.user_id).update(email="hana@bücher.example", first_name='H "=?x', last_name="")
    organization.name = 'Acme, "Inc" <evil@example.com>\nX: y'
    organization.save(update_fields=["name"])
    appointment = booked(api, host_email="hana@bücher.example", event_type_name="E\x1b[31m\nX-EVIL:1\u202e\x0bD")
    actor, leads = owner_actor(organization), Lead.objects.of(organization)
    leads.update(first_name=HOSTILE)
    reschedule(organization=organization, actor=actor, appointment=appointment, to=MOVED)
    (email,) = sent_to_leads(organization, mailoutbox)
    leads.update(first_name="You won: www.evil.example", last_name="https://evil.example/")
    cancel_appointment(organization=organization, actor=actor, appointment=appointment)
    (with_links,) = sent_to_leads(organization, mailoutbox)

    message = BytesParser(policy=modern).parsebytes(email.message().as_bytes())
    (sender,) = message["From"].addresses
    assert (sender.addr_spec, sender.display_name) == ("pipeline@localhost", 'Acme, "Inc" <evil@example.com> X: y')
    assert (message["Bcc"], message["X"], message["To"]) == (None, None, "ada@example.com")
    (reply_to,) = message["Reply-To"].addresses
    assert (reply_to.addr_spec, reply_to.display_name) == ("hana@xn--bcher-kva.example", 'H "= ?x')
    User.objects.filter(pk=host.user_id).update(first_name="Александра Константиновна", last_name="Преображенская")
    other = booked(api, host_email="hana@bücher.example", external_reference="ref-2", lead_email="bob@example.com")
    cancel_appointment(organization=organization, actor=actor, appointment=other)
    (long_name,) = sent_to_leads(organization, mailoutbox)
    (reply_to,) = BytesParser(policy=modern).parsebytes(long_name.message().as_bytes())["Reply-To"].addresses
    assert reply_to.display_name == "Александра Константиновна Преображенская"
    assert "SUMMARY:E [31m X-EVIL:1 D with Acme" in email.attachments[0][1]
    assert email.body.startswith('Hi Ada Bcc: victim {host} =?utf-8?q?x?= <b>"x"<i>,\n')
    assert "<b>" not in email.alternatives[0].content
    # Not a name that mail programs make a link of.
    assert with_links.body.startswith("Hi there,\n")
    assert "evil.example" not in str(with_links.alternatives) + with_links.attachments[0][1] + with_links.body


@pytest.mark.parametrize(
    ("change", "is_tried"),
    [
        ("begun", False),
        *((change, tried) for change in ("canceled", "moved", "unsubscribed") for tried in (False, True)),
    ],
)
def test_an_email_that_waits_is_not_sent_once_the_call_is_another(
    change: str, is_tried: bool, api: ApiClient, organization: Organization, messages: None, mailoutbox: list[Any]
):
    """Nor one that a worker tries to send at that moment, if this attempt fails."""
    lead_id = booked(api, notify_lead=True).lead_id
    if is_tried:
        claimed = {"lease_token": uuid4(), "next_attempt_at": datetime.now(UTC)}  # the lease ends at once
        assert Notification.objects.of(organization).filter(kind="LEAD_INVITED").update(**claimed, claim_count=1) == 1
    if change == "unsubscribed":
        Client().post(urlsplit(lead_unsubscribe_url(organization.pk, str(lead_id))).path)
    if change == "canceled":
        api.cancel()
    if change == "moved":
        api.reschedule(schedule_time="2027-01-06T15:30:00Z")
    with time_machine.travel("2027-01-05T18:00:00Z" if change == "begun" else "2027-01-02T11:00:00Z"):
        emails = sent_to_leads(organization, mailoutbox)

    assert emails == []
    assert mails_to_leads(organization) == [("LEAD_INVITED", "CANCELED")]


def test_a_cancellation_that_waits_is_sent_unless_the_call_is_booked_again(
    api: ApiClient, organization: Organization, host: Membership, messages: None
):
    """An outcome such as Lost, of a canceled call, invites nobody; if it is booked after that, everybody."""
    appointment, actor = booked(api, host_email=host.user.email), owner_actor(organization)
    waiting, members = [], []
    for role in ("CANCELED", "LOST", "APPOINTMENT_BOOKED"):
        Notification.objects.of(organization).filter(recipient=host).delete()
        status = Status.objects.of(organization).get(role=role)
        values: dict[str, Any] = {"status_id": status.pk, "meeting_url": f"https://meet.example/{role}"}
        edit_appointment(organization=organization, actor=actor, appointment=appointment, **values)
        waiting.append(mails_to_leads(organization))
        members.append([*Notification.objects.of(organization).filter(recipient=host).values_list("kind", flat=True)])

    assert members == [["CALL_CANCELED"], [], ["CALL_BOOKED"]]
    assert waiting == [
        [("LEAD_CANCELED", "PENDING")],
        [("LEAD_CANCELED", "PENDING")],
        [("LEAD_CANCELED", "CANCELED"), ("LEAD_INVITED", "PENDING")],
    ]
    assert Appointment.objects.of(organization).get().lead.status.role == "APPOINTMENT_BOOKED"


LINKS = (
    "https://example.com/login?next=%2Froom%3Fpwd%3Da%252Bb%2526c",
    "https://meet.example/room%2Fa?token=x%252Fy#k=1%26",
    "https://zoom.example/j/123?pwd=abc.",
)


@pytest.mark.parametrize("link", LINKS)
def test_the_html_of_an_email_links_to_exactly_the_meeting_link(
    link: str, api: ApiClient, organization: Organization, messages: None, mailoutbox: list[Any]
):
    text = "Join {meeting_link}, or see https://acme.example/help?a=1&b=<x>."
    LeadMessage.objects.of(organization).update(text=text)
    booked(api, notify_lead=True, meeting_url=link)

    [email] = sent_to_leads(organization, mailoutbox)

    html = email.alternatives[0].content
    hrefs = [unescape(text) for text in re.findall('<a href="([^"]+)" rel', html)]
    assert hrefs == [link, "https://acme.example/help?a=1&b="]
    assert "</a>, or see <a" in html
    assert "&lt;x&gt;." in html


def test_values_make_no_message_larger_than_it_may_be(api: ApiClient, organization: Organization, messages: None):
    LeadMessage.objects.of(organization).update(subject="{meeting_link}" * 14, text="{meeting_link}" * 350)
    booked(api, notify_lead=True, meeting_url=f"https://meet.example/{'a' * 1900}")

    context = Notification.objects.of(organization).get(kind=Kind.LEAD_INVITED).context
    assert (len(context["subject"]), len(context["body"])) == (300, 10_000)


def test_the_text_is_edited_with_a_preview_and_a_test_to_oneself(
    organization: Organization, owner: Client, mailoutbox: list[Any]
):
    member = make_member(organization, "olga@acme.example", role=MemberRole.SALES_OPS, first_name="Olga")
    olga = logged_in_client(member)
    add = admin_url(LeadMessage, "add")
    added = olga.post(add, form_data(olga, add, kind="LEAD_INVITED"))
    message = LeadMessage.objects.of(organization).get()
    url = admin_url(LeadMessage, "change", message.pk)
    assert (added.headers["Location"], message.is_active) == (url, False)
    assert (message.subject, message.text) == STANDARD_TEXTS[Kind.LEAD_INVITED]
    assert "is in the list already" in form_errors(olga.post(add, form_data(olga, add, kind="LEAD_INVITED")))[0]

    for field, text, problem in [
        ("subject", "Hi {name}", "{name} is not a placeholder"),
        ("text", "{first_name.__class__}", "is not a placeholder"),
        ("text", "x" * 5001, "at most 5000 characters"),
        ("subject", "x" * 201, "at most 200 characters"),
    ]:
        assert problem in form_errors(olga.post(url, form_data(olga, url, **{field: text})))[0]
    edited = form_data(olga, url, subject="Welcome, {first_name}", text="See you <b>{when}</b>", is_active="on")
    preview = olga.post(admin_url(LeadMessage, "preview", message.pk), edited).content.decode()
    assert ("Welcome, Elif" in preview, "See you &lt;b&gt;" in preview) == (True, True)
    stale = form_data(owner, url, subject="Other")
    olga.post(url, edited)
    assert "Someone else has changed this" in form_errors(owner.post(url, stale))[0]

    test = admin_url(LeadMessage, "send_test", message.pk)
    olga.post(test, form_data(olga, test))
    send_notifications(organization.pk)
    (email,) = mailoutbox
    assert (email.to, email.subject) == (["olga@acme.example"], "Welcome, Elif")
    assert re.search(r"See you <b>\w+, \d\d \w+ \d{4}, 10:00, UTC</b>", email.body)
