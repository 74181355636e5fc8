"""Members: invitations, roles and access; and the page of each user."""

import json
import re
from collections import Counter
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from accounts.mail import SECURITY_NOTICES
from appointments.models import Appointment
from appointments.services import edit_appointment, finish_next_step, hand_over, handing_over, set_next_step
from appointments.services.handing_over import check_new_owner
from foundation.api.exceptions import Conflict
from foundation.db.timestamps import isoformat_z, now
from leads.models import Lead
from leads.privacy.erasing import request_erasure
from notifications.mail import render
from notifications.models import Kind, Notification
from notifications.services import set_muted_kinds
from organizations.actors import SYSTEM, staff_actor
from organizations.models import Invitation, MemberRole, Membership, Organization, SecurityNotice, User
from organizations.services import add_member, change_member
from staff.toolkit.lists import day_and_time
from tests.accounts import (
    accept,
    deliver_mail,
    invite_and_read_link,
    is_signed_in,
    links_mailed_to,
    post_invitation,
    sign_in,
)
from tests.client import ApiClient
from tests.factories import events_of, make_member, owner_actor, owner_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client, shown_messages
from webhooks.models import Event


def save_member(client: Client, member: Membership, **changes: str):
    """Send the member's form with these changes."""
    url = admin_url(Membership, "change", member.pk)
    return client.post(url, form_data(client, url, **changes))


def test_a_member_cannot_be_invited_again(owner: Client, organization: Organization):
    response = post_invitation(owner, "OWNER@acme.example")

    assert form_errors(response) == ["Already belongs to a member"]
    assert owner_of(organization).is_active


def test_an_address_has_one_open_invitation(owner: Client, organization: Organization):
    post_invitation(owner, "new@acme.example")

    response = post_invitation(owner, "NEW@acme.example", MemberRole.MANAGER)

    assert form_errors(response) == ["Has an open invitation; send it again or withdraw it"]
    assert [invitation.role for invitation in Invitation.objects.of(organization)] == ["SETTER"]


def test_after_an_invitation_has_expired_the_address_can_be_invited_anew(owner: Client, organization: Organization):
    post_invitation(owner, "new@acme.example")
    Invitation.objects.of(organization).update(expires_at=now())

    post_invitation(owner, "new@acme.example", MemberRole.MANAGER)

    states = {invitation.role: invitation.status for invitation in Invitation.objects.of(organization)}
    assert states == {"SETTER": "Expired", "MANAGER": "Open"}


def test_the_invitation_and_its_mail_name_the_organization_the_role_and_the_inviter(
    owner: Client, organization: Organization
):
    link = invite_and_read_link(owner, organization, "new@acme.example", MemberRole.MANAGER)

    page = Client().get(link).content.decode()
    [message] = mail.outbox
    assert (message.subject, message.to) == ("Invitation to Acme", ["new@acme.example"])
    assert "join Acme as Manager, by owner@acme.example" in message.body
    assert "<strong>Acme</strong> as Manager" in page


def test_the_list_of_invitations_shows_how_each_was_answered(owner: Client, organization: Organization):
    for name in ("accepted", "declined", "open"):
        link = invite_and_read_link(owner, organization, f"{name}@acme.example")
        if name == "accepted":
            accept(Client(), link)
        if name == "declined":
            Client().post(link, {"decline": "yes"})

    rows = owner.get(admin_url(Invitation, "changelist")).context["cl"].result_list

    assert {row.email.split("@")[0]: row.status for row in rows} == {
        "accepted": "Accepted",
        "declined": "Declined",
        "open": "Open",
    }


def test_somebody_who_has_accepted_is_told_so_after_signing_in(owner: Client, organization: Organization):
    client = Client()

    accept(client, invite_and_read_link(owner, organization, "new@acme.example"))

    assert "You are now a member of Acme." in client.get("/admin/login/").content.decode()
    assert is_signed_in(sign_in("new@acme.example"))


def test_the_sign_in_page_leads_to_the_page_for_a_forgotten_password(db: None):
    page = Client().get("/admin/login/").content.decode()

    assert 'href="/admin/password-reset/"' in page
    assert "Send the link" in Client().get("/admin/password-reset/").content.decode()


def test_the_last_owner_cannot_be_removed(owner: Client, organization: Organization):
    last = owner_of(organization)

    demoted, deactivated = save_member(owner, last, role="SETTER"), save_member(owner, last, is_active="")

    for response in (demoted, deactivated):
        assert any("is the last active owner" in message for message in form_errors(response))
    last.refresh_from_db()
    assert (last.role, last.is_active) == ("OWNER", True)


@pytest.fixture
def work_of_host(api: ApiClient, organization: Organization, host: Membership) -> list[Lead]:
    """Two upcoming calls and a past one with the member as host, whose leads are the member's; one has a next step."""
    for number, days in enumerate((-1, 1, 2)):
        time, email = isoformat_z(now() + timedelta(days=days)), f"lead-{number}@leads.example"
        api.book(external_reference=f"ref-{number}", schedule_time=time, host_email=host.user.email, lead_email=email)
    Lead.objects.of(organization).update(setter=host)
    leads = list(Lead.objects.of(organization).order_by("email"))
    step = {"lead_id": leads[0].pk, "at": now() + timedelta(days=1), "type": "CALL", "owner": host}
    set_next_step(organization=organization, actor=staff_actor(host.user), **step)
    return leads


def test_pages_say_which_work_a_member_leaves_behind(
    owner: Client, closer: Client, host: Membership, work_of_host: list[Lead]
):
    """Their links lead to exactly these rows, and to the page that hands them over."""
    page = owner.get(admin_url(Membership, "change", host.pk)).content.decode()
    own = closer.get(admin_url(Membership, "change", host.pk)).content.decode()
    leaving = closer.get(admin_url(Membership, "leave", host.pk)).content.decode()
    response = save_member(owner, host, is_active="")

    links = {text: unescape(url) for url, text in re.findall('href="([^"]+)">(3 leads|2 calls|Hand over)</a>', page)}
    assert [len(owner.get(links[name]).context["cl"].result_list) for name in ("3 leads", "2 calls")] == [3, 2]
    assert "1 next step" in page
    assert "Your open work:" in leaving
    assert links["Hand over"] == admin_url(Membership, "hand_over", host.pk)
    assert ("3 leads</a>" in own, links["Hand over"] in own) == (True, False)
    assert "Hand over</a>" in shown_messages(response)[0]


def test_all_work_is_handed_over_in_one_act_and_the_new_owners_are_notified(
    owner: Client, api: ApiClient, organization: Organization, host: Membership, work_of_host: list[Lead]
):
    tom, grace = (make_member(organization, f"{name}@acme.example", first_name=name) for name in ("Tom", "Grace"))
    save_member(owner, host, is_active="")
    url = admin_url(Membership, "hand_over", host.pk)
    before = Counter(events_of(organization))

    response = owner.post(url, form_data(owner, url) | {"leads": tom.pk, "next_steps": tom.pk, "calls": grace.pk})

    assert shown_messages(response)[-1].endswith("Handed over: 3 leads, 1 next step and 2 calls.")
    assert {lead["setter"]["first_name"] for lead in api.get_data("/api/external/leads")} == {"Tom"}
    assert work_of_host[0].next_steps.get().owner == tom
    upcoming = Appointment.objects.of(organization).filter(host=grace)
    assert sorted(upcoming.values_list("external_reference", flat=True)) == ["ref-1", "ref-2"]
    assert Counter(events_of(organization)) - before == {"appointment.updated": 2, "lead.updated": 3}
    changed = Event.objects.of(organization).filter(type="lead.updated").order_by("created_at", "id").last()
    assert json.loads(changed.body)["previous"].keys() == {"setter"}
    told = Notification.objects.of(organization).filter(kind="HANDED_OVER")
    assert {row.recipient: row.context["work"] for row in told} == {tom: "3 leads and 1 next step", grace: "2 calls"}
    message = render(told.get(recipient=tom), tom.user)
    assert message.subject == "3 leads and 1 next step of Hana Host for you"
    assert f"{owner_actor(organization).name} has handed over to you" in message.body


def test_an_erased_lead_is_no_open_work_and_is_not_handed_over(
    owner: Client, organization: Organization, host: Membership, work_of_host: list[Lead]
):
    tom, erased = make_member(organization, "tom@acme.example", first_name="Tom"), work_of_host[0]
    request_erasure(organization=organization, actor=owner_actor(organization), lead_id=erased.pk)
    url = admin_url(Membership, "hand_over", host.pk)
    page = owner.get(admin_url(Membership, "change", host.pk)).content.decode()

    response = owner.post(url, form_data(owner, url) | {"leads": tom.pk})

    assert (">2 leads</a>" in page, "next step" in page) == (True, False)
    assert shown_messages(response)[-1].endswith("Handed over: 2 leads. Left: 2 calls.")
    assert list(Lead.objects.of(organization).filter(setter=host)) == [erased]


@pytest.mark.django_db(transaction=True)
def test_each_call_is_handed_over_in_a_transaction_of_its_own(
    owner: Client, organization: Organization, host: Membership, work_of_host: list[Lead]
):
    """Until a transaction ends, no organization sees newer events, and two hundred calls take many seconds."""
    tom = make_member(organization, "tom@acme.example", first_name="Tom")
    known = set(Event.objects.of(organization).values_list("pk", flat=True))
    url = admin_url(Membership, "hand_over", host.pk)

    owner.post(url, form_data(owner, url) | {"leads": tom.pk, "calls": tom.pk})

    events = Event.objects.of(organization).exclude(pk__in=known).values_list("type", "transaction")
    assert len(events) == 5
    assert Counter(topic for topic, _ in set(events)) == {"appointment.updated": 2, "lead.updated": 1}


def test_what_was_handed_over_before_an_error_stays_and_is_told(
    organization: Organization, host: Membership, work_of_host: list[Lead], monkeypatch: pytest.MonkeyPatch
):
    tom = make_member(organization, "tom@acme.example", first_name="Tom")
    first, second = Appointment.objects.of(organization).filter(schedule_time__gt=now()).order_by("pk")

    def fail_at_the_second(*, appointment: Appointment, **values: Any) -> None:
        if appointment == second:
            raise Conflict("No")
        edit_appointment(appointment=appointment, **values)

    monkeypatch.setattr(handing_over, "edit_appointment", fail_at_the_second)
    with pytest.raises(Conflict):
        hand_over(organization=organization, actor=owner_actor(organization), member=host, to={"calls": tom})

    told = Notification.objects.of(organization).get(kind="HANDED_OVER")
    assert (told.recipient, told.context["work"]) == (tom, "1 call")
    assert [Appointment.objects.of(organization).get(pk=row.pk).host for row in (first, second)] == [tom, host]


def test_a_call_that_got_another_host_meanwhile_is_not_handed_over(
    organization: Organization, host: Membership, work_of_host: list[Lead], monkeypatch: pytest.MonkeyPatch
):
    tom, grace = (make_member(organization, f"{name}@acme.example") for name in ("tom", "grace"))
    first, second = Appointment.objects.of(organization).filter(schedule_time__gt=now()).order_by("pk")

    def edit_both(*, appointment: Appointment, **values: Any) -> None:
        edit_appointment(appointment=appointment, **values)
        edit_appointment(appointment=second, **{**values, "host": grace})

    monkeypatch.setattr(handing_over, "edit_appointment", edit_both)
    counts = hand_over(organization=organization, actor=owner_actor(organization), member=host, to={"calls": tom})

    assert counts["calls"] == 1
    assert [Appointment.objects.of(organization).get(pk=row.pk).host for row in (first, second)] == [tom, grace]


def test_a_next_step_that_is_done_meanwhile_is_not_handed_over(
    organization: Organization, host: Membership, work_of_host: list[Lead], monkeypatch: pytest.MonkeyPatch
):
    tom, actor = make_member(organization, "tom@acme.example"), owner_actor(organization)
    step = work_of_host[0].next_steps.get()

    def finish_before(owner: Membership) -> None:
        finish_next_step(organization=organization, actor=actor, lead_id=step.lead_id, step_id=step.pk)
        check_new_owner(owner)

    monkeypatch.setattr(handing_over, "check_new_owner", finish_before)
    counts = hand_over(organization=organization, actor=actor, member=host, to={"next_steps": tom})

    assert counts["next_steps"] == 0
    assert work_of_host[0].next_steps.get().owner == host


def test_who_is_deactivated_meanwhile_gets_nothing_more(
    organization: Organization, host: Membership, work_of_host: list[Lead], monkeypatch: pytest.MonkeyPatch
):
    tom = make_member(organization, "tom@acme.example")
    everything = dict.fromkeys(handing_over.LIMITS, tom)

    def deactivate_afterwards(**values: Any) -> None:
        edit_appointment(**values)
        Membership.objects.of(organization).filter(pk=tom.pk).update(is_active=False)

    monkeypatch.setattr(handing_over, "edit_appointment", deactivate_afterwards)
    with pytest.raises(Conflict, match="can't take over work any more"):
        hand_over(organization=organization, actor=owner_actor(organization), member=host, to=everything)

    assert Appointment.objects.of(organization).filter(host=tom).count() == 1
    assert not Lead.objects.of(organization).filter(setter=tom).exists()


def test_a_member_without_open_work_leaves_nothing_behind(owner: Client, host: Membership):
    response = save_member(owner, host, is_active="")

    assert len(shown_messages(response)) == 1
    host.refresh_from_db()
    assert not host.is_active


def test_an_owner_can_step_down_after_making_someone_else_owner(owner: Client, host: Membership):
    promoted = save_member(owner, host, role="OWNER")
    stepped_down = save_member(owner, Membership.objects.of(host.organization).exclude(pk=host.pk).get(), role="SETTER")

    assert (promoted.status_code, stepped_down.status_code) == (302, 302)
    host.refresh_from_db()
    assert host.role == "OWNER"


def test_a_manager_cannot_make_or_change_owners(manager: Client, manager_member: Membership, host: Membership):
    own = save_member(manager, manager_member, role="OWNER")
    other = save_member(manager, host, role="OWNER")
    above = manager.post(admin_url(Membership, "change", owner_of(host.organization).pk), {"role": "SETTER"})
    promoted = post_invitation(manager, "new@acme.example", MemberRole.OWNER)

    assert above.status_code == 403
    assert not Invitation.objects.of(host.organization).exists()
    for response in (own, other, promoted):
        assert any("Select a valid choice" in message for message in form_errors(response))
    assert [member.user.email for member in Membership.objects.of(host.organization).filter(role="OWNER")] == [
        "owner@acme.example"
    ]


def test_users_can_change_their_profile_but_not_their_access(closer: Client, host: Membership):
    url = admin_url(User, "change", host.user_id)
    data = form_data(closer, url, time_zone="Europe/Berlin", is_superuser="on", email="evil@example.com")

    response = closer.post(url, data)

    assert response.status_code == 302, form_errors(response)
    host.user.refresh_from_db()
    assert (host.user.time_zone, host.user.is_superuser, host.user.email) == (
        "Europe/Berlin",
        False,
        "hana@acme.example",
    )


def test_a_user_id_that_looks_like_an_escape_sequence_is_found(organization: Organization):
    member = make_member(organization, "esc@acme.example", id="user_5Fabc")
    client = logged_in_client(member)

    links = re.findall(r'href="(/admin/organizations/user/[^"]+)"', client.get("/admin/").content.decode())

    assert client.get(links[0]).status_code == 200


@pytest.mark.parametrize("view", ["change", "history"])
def test_users_cannot_open_the_page_of_another_user(view: str, owner: Client, host: Membership):
    assert owner.get(admin_url(User, view, host.user_id)).status_code == 302


def test_an_operator_cannot_remove_their_own_access(operator: Client):
    root = User.objects.get(email="root@example.com")
    url = admin_url(User, "change", root.pk)

    operator.post(url, form_data(operator, url, is_superuser="", is_active=""))

    root.refresh_from_db()
    assert (root.is_superuser, root.is_active) == (True, True)


def test_an_operator_can_add_an_organization_with_its_owner(operator: Client):
    data = form_data(operator, admin_url(Organization, "add"), name="Initech", owner_email="bill@initech.example")

    response = operator.post(admin_url(Organization, "add"), data)

    initech = Organization.objects.get(name="Initech")
    assert response.status_code == 302, form_errors(response)
    assert not Membership.objects.of(initech).exists()
    deliver_mail(initech)
    accept(Client(), links_mailed_to("bill@initech.example")[0])
    assert owner_of(initech).user.email == "bill@initech.example"


def test_an_operators_new_address_is_unverified_and_the_former_one_is_told(operator: Client, host: Membership):
    User.objects.filter(pk=host.user_id).update(email_verified_at=now())
    url = admin_url(User, "change", host.user_id)

    operator.post(url, form_data(operator, url, email="hana@new.example"))

    host.user.refresh_from_db()
    assert (host.user.email, host.user.email_verified_at) == ("hana@new.example", None)
    email = SECURITY_NOTICES.render(SecurityNotice.objects.get(user=host.user))
    assert (email.to, email.subject) == (["hana@acme.example"], "Security notice: E-mail address changed")
    assert "hana@new.example" not in email.message().as_string()


def test_an_owner_can_rename_the_organization_but_not_set_its_limits(owner: Client, organization: Organization):
    url = admin_url(Organization, "change", organization.pk)

    owner.post(url, form_data(owner, url, name="Acme Corp", rate_limit_per_minute="99999", is_active=""))

    organization.refresh_from_db()
    assert (organization.name, organization.rate_limit_per_minute, organization.is_active) == ("Acme Corp", None, True)


def test_a_member_of_another_organization_cannot_be_changed(
    owner: Client, organization: Organization, other_organization: Organization
):
    member = make_member(other_organization, "zoe@globex.example")

    assert owner.post(admin_url(Membership, "change", member.pk), {"role": "SETTER"}).status_code == 302
    member.refresh_from_db()
    assert member.role == "CLOSER"


def test_members_can_choose_their_own_notifications_and_nothing_else(closer: Client, host: Membership):
    url = admin_url(Membership, "change", host.pk)
    closer.post(url, {**form_data(closer, url), "wants_mail": "", "role": "OWNER", "is_active": ""})
    closer.post(admin_url(Membership, "email_notifications", host.pk), {"kinds": ["CALL_CANCELED"]})

    host.refresh_from_db()
    assert (host.role, host.is_active, host.wants_mail) == ("CLOSER", True, False)
    assert "CALL_CANCELED" not in host.mail_preference.muted
    assert "CALL_BOOKED" in host.mail_preference.muted


def test_members_and_their_managers_set_working_hours(owner: Client, closer: Client, host: Membership):
    url = admin_url(Membership, "change", host.pk)
    form = form_data(closer, url)
    week = {f"working_hours_{day}": "" for day in range(7)} | {"working_hours_0": "9-12, 1pm-6pm"}
    closer.post(url, {**form, **week, "days_off": "24.12.2026 to 1.1.2027\n5 Nov 2026", "buffer_minutes": "15"})
    host.refresh_from_db()
    own = (host.working_hours, host.days_off, host.buffer_minutes)
    refused = owner.post(url, {**form_data(owner, url), "working_hours_1": "late", "days_off": "2026-01-02 to x"})
    shown = form_data(owner, url)
    owner.post(url, {**shown, **form, "version": shown["version"]})

    host.refresh_from_db()
    assert [form[f"working_hours_{day}"] for day in (0, 6)] == ["09:00–18:00", ""]
    assert own == (
        [[["09:00", "12:00"], ["13:00", "18:00"]], *([[]] * 6)],
        [["2026-11-05", "2026-11-05"], ["2026-12-24", "2027-01-01"]],
        15,
    )
    assert form_errors(refused) == [
        "Tuesday: Enter hours such as 9:00-18:00, or 9-12, 13-18. Leave a day off empty.",
        "“2026-01-02 to x” is no day. Enter a date such as 25.11.2026 or 2026-11-25.",
    ]
    assert (host.working_hours, host.days_off, host.buffer_minutes) == (None, None, 0)


def test_owners_see_who_has_two_factor_and_who_was_last_here_when(
    owner: Client, closer: Client, host: Membership, other_organization: Organization
):
    User.objects.filter(pk=host.user_id).update(two_factor_enabled_at=now(), last_login=None)
    client = logged_in_client(User.objects.get(pk=host.user_id).memberships.get())
    before = now()
    client.get("/admin/")

    page = owner.get(admin_url(Membership, "changelist")).context["cl"]

    host.user.refresh_from_db()
    rows = {row.pk: row for row in page.result_list}
    columns = page.model_admin
    assert before <= host.user.last_seen_at <= now()
    assert {str(row.organization) for row in rows.values()} == {"Acme"}
    assert [columns.two_factor(rows[member.pk]) for member in (host, owner_of(host.organization))] == [True, False]
    assert columns.last_seen(rows[host.pk]) == day_and_time(host.user.last_seen_at)


def test_owners_see_nothing_of_what_a_former_member_does_elsewhere(
    owner: Client, host: Membership, other_organization: Organization
):
    """Nor of the time before a member joined, as in the security log."""
    new = make_member(organization=host.organization, email="new@acme.example")
    accounts = User.objects.filter(pk__in=[host.user_id, new.user_id])
    accounts.update(two_factor_enabled_at=now(), last_login=None, last_seen_at=now() - timedelta(hours=1))
    save_member(owner, host, is_active="")
    add_member(organization=other_organization, user=host.user)
    logged_in_client(host).get("/admin/")

    pages = [owner.get(admin_url(Membership, "changelist"), {"o": order}).context["cl"] for order in ("5", "-5")]

    columns, orders = pages[0].model_admin, [list(page.result_list) for page in pages]
    shown = {row.pk: (columns.two_factor(row), columns.last_seen(row)) for row in orders[0]}
    assert (shown[host.pk], shown[new.pk]) == ((None, "–"), (True, "–"))
    own = owner_of(host.organization)
    assert [[row for row in rows if row not in (host, new)] for rows in orders] == [[own], [own]]
    assert [rows.index(own) for rows in orders] == [0, 2]


def test_the_list_is_sorted_by_the_times_that_it_shows(owner: Client, host: Membership):
    """Also by a sign-in before version 0.3, which stored only that."""
    absent = make_member(organization=host.organization, email="absent@acme.example")
    members = [host, make_member(organization=host.organization, email="late@acme.example")]
    for days, member in enumerate(members, 1):
        Membership.unscoped.filter(pk=member.pk).update(created_at=now() - timedelta(days=9))
        at = now() - timedelta(days=days)
        times = {"last_login": at, "last_seen_at": None if member == host else at}
        User.objects.filter(pk=member.user_id).update(**times)

    page = owner.get(admin_url(Membership, "changelist"), {"o": "5"}).context["cl"]

    own = owner_of(host.organization)
    assert list(page.result_list) == [*reversed(members), own, absent]


def test_nobody_else_sends_emails_again_to_a_member_who_has_stopped_them(
    owner: Client, closer: Client, host: Membership
):
    url, kinds = admin_url(Membership, "change", host.pk), admin_url(Membership, "email_notifications", host.pk)
    closer.post(url, {**form_data(closer, url), "wants_mail": ""})
    closer.post(kinds, {"kinds": ["CALL_BOOKED", "CALL_CANCELED"]})

    owner.post(url, form_data(owner, url) | {"wants_mail": "on"})
    owner.post(kinds, {"kinds": ["CALL_RESCHEDULED", "CALL_CANCELED"]})

    host.refresh_from_db()
    assert not host.wants_mail
    assert {"CALL_BOOKED", "CALL_RESCHEDULED"} <= set(host.mail_preference.muted)
    assert "CALL_CANCELED" not in host.mail_preference.muted


def test_members_see_only_their_own_membership(closer: Client, host: Membership):
    rows = closer.get(admin_url(Membership, "changelist")).context["cl"].result_list
    owners = owner_of(host.organization)

    assert list(rows) == [host]
    assert closer.get(admin_url(Membership, "change", owners.pk)).status_code == 302
    assert closer.post(admin_url(Membership, "email_notifications", owners.pk), {"kinds": []}).status_code == 302


def test_slack_can_be_connected_and_its_url_is_never_shown(owner: Client, organization: Organization):
    rejected = owner.post(admin_url(Organization, "connect_slack", organization.pk), {"url": "https://127.0.0.1/hook"})
    owner.post(
        admin_url(Organization, "connect_slack", organization.pk), {"url": "https://hooks.slack.example/T0/secret"}
    )

    organization.refresh_from_db()
    assert form_errors(rejected) == ["Enter a public https URL."]
    assert organization.slack_url == "https://hooks.slack.example/T0/secret"
    pages = [
        owner.get(admin_url(Organization, view, organization.pk)).content
        for view in ("change", "history", "connect_slack")
    ]
    assert [page for page in pages if b"hooks.slack" in page] == []


def test_a_person_chooses_their_own_emails_in_each_organization(
    closer: Client, host: Membership, other_organization: Organization
):
    url = reverse("admin:own_notifications")
    other = add_member(organization=other_organization, user=host.user, role=MemberRole.CLOSER)
    names = [f"{member.pk}-{name}" for member in (host, other) for name in ("wants_mail", "kinds")]
    kinds = [kind for kind in Kind.values if not kind.startswith("LEAD_")]
    shown = closer.get(url)
    both = shown_boxes(shown)

    response = closer.post(url, both | {names[1]: ["CALL_BOOKED"], names[2]: "on", names[3]: kinds})

    page = shown.content.decode()
    assert [page.count(f'name="{name}"') for name in names] == [1, len(kinds)] * 2
    assert f'href="{url}"' in page
    assert response.url == url
    host, other = (Membership.objects.of(row.organization).get(pk=row.pk) for row in (host, other))
    assert (host.wants_mail, other.wants_mail) == (False, True)
    assert {*host.mail_preference.muted} == {*kinds} - {"CALL_BOOKED"}
    assert not hasattr(other, "mail_preference")
    assert both.keys() == {f"{member.pk}-shown" for member in (host, other)}


def shown_boxes(page: Any) -> dict[str, str]:
    """Return the hidden fields that say which boxes were ticked when the page was opened."""
    return dict(re.findall(r'name="([^"]+-shown)" value="([^"]*)"', page.content.decode()))


def test_a_page_from_before_somebody_joined_another_organization_changes_nothing_there(
    closer: Client, host: Membership, other_organization: Organization
):
    url = reverse("admin:own_notifications")
    sent = {**shown_boxes(closer.get(url)), f"{host.pk}-wants_mail": "on", f"{host.pk}-kinds": ["CALL_BOOKED"]}
    joined = add_member(organization=other_organization, user=host.user, role=MemberRole.CLOSER)

    response = closer.post(url, sent)

    host, joined = (Membership.objects.of(row.organization).get(pk=row.pk) for row in (host, joined))
    assert (response.status_code, joined.wants_mail, hasattr(joined, "mail_preference")) == (302, True, False)
    assert "CALL_CANCELED" in host.mail_preference.muted


def test_a_page_from_before_does_not_switch_notifications_on_again(closer: Client, owner: Client, host: Membership):
    url = reverse("admin:own_notifications")
    boxes = shown_boxes(closer.get(url))
    ticked = boxes[f"{host.pk}-shown"].split()
    change_member(actor=SYSTEM, member=host, wants_mail=False)
    set_muted_kinds(member=host, kinds=["CALL_BOOKED"])

    closer.post(
        url, {**boxes, f"{host.pk}-wants_mail": "on", f"{host.pk}-kinds": [*{*ticked} - {"mail", "CALL_CANCELED"}]}
    )

    host = Membership.objects.of(host.organization).get(pk=host.pk)
    assert (host.wants_mail, {*host.mail_preference.muted}) == (False, {"CALL_BOOKED", "CALL_CANCELED"})


@pytest.mark.parametrize("is_own", [True, False])
def test_a_page_of_a_members_kinds_from_before_switches_none_on_again(
    is_own: bool, owner: Client, closer: Client, host: Membership
):
    url, client = admin_url(Membership, "email_notifications", host.pk), closer if is_own else owner
    set_muted_kinds(member=host, kinds=["CALL_UPDATED", "MENTIONED"])
    form = form_data(client, url)
    set_muted_kinds(member=host, kinds=["CALL_BOOKED", "MENTIONED"])

    client.post(url, {**form, "kinds": [*{*form["kinds"]} - {"CALL_CANCELED"}, "MENTIONED"]})

    muted = {*Membership.objects.of(host.organization).get(pk=host.pk).mail_preference.muted}
    assert muted == {"CALL_BOOKED", "CALL_CANCELED", *([] if is_own else ["MENTIONED"])}
