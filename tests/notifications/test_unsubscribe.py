"""One-click unsubscribing without a sign-in (RFC 8058), and an organization's daily limits (case U11)."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from accounts.invitations import unsubscribe_path
from foundation.db.timestamps import now
from foundation.outbox import State
from notifications.models import MailPreference, Notification
from notifications.queues import EMAILS, SLACK_MESSAGES
from notifications.services import set_muted_kinds
from organizations.models import Invitation, Membership, Organization, SecurityEvent, SecurityEventKind, User
from tests.accounts import accept, deliver_mail, links_mailed_to, post_invitation, run_together
from tests.client import ApiClient
from tests.factories import make_member, make_organization, notifications_of, owner_of, snapshot_of
from tests.jobs import send_notifications
from tests.staff.pages import admin_url, form_errors, logged_in_client


def link_in(email: Any) -> str:
    """Return the path of the unsubscribe link in the e-mail's header."""
    return urlsplit(email.extra_headers["List-Unsubscribe"].strip("<>")).path


def post_one_click(path: str) -> Any:
    """Send what a mail server sends when its user presses the button."""
    return Client(enforce_csrf_checks=True).post(
        path, "List-Unsubscribe=One-Click", content_type="application/x-www-form-urlencoded"
    )


@pytest.fixture
def link(api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]) -> str:
    """The unsubscribe link of an e-mail about a booking to Hana."""
    api.book(host_email=host.user.email)
    send_notifications(str(organization.pk))
    return link_in(mailoutbox.pop())


def test_nothing_is_confirmed_that_a_move_to_another_server_would_lose(link: str, organization: Organization):
    Organization.objects.update(is_active=False, move="OUT")

    response = post_one_click(link)

    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert "Try again later" in response.content.decode()
    assert not MailPreference.objects.of(organization).exists()


def test_every_email_has_the_headers_and_the_link_in_its_body(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any], settings: Any
):
    api.book(host_email=host.user.email)
    send_notifications(str(organization.pk))

    (email,) = mailoutbox
    message, html = email.message(), email.alternatives[0].content
    header = email.extra_headers["List-Unsubscribe"]
    url = header.strip("<>")
    assert header == f"<{settings.BASE_URL}{urlsplit(url).path}>"
    assert f"\nList-Unsubscribe: {header}\n" in message.as_string().replace(": \n <", ": <")
    assert "\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n" in message.as_string()
    assert url in email.body
    assert url in html


def test_one_click_takes_effect_at_once_and_without_a_sign_in(
    link: str, api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
):
    response = post_one_click(link)
    api.book(host_email=host.user.email, external_reference="ref-2")
    api.cancel(external_reference="ref-2")
    send_notifications(str(organization.pk))

    assert (response.status_code, "Set-Cookie" in response.headers) == (200, False)
    assert [email.subject.split(":")[0] for email in mailoutbox] == ["Call Canceled"]


def test_opening_the_link_only_asks(link: str, organization: Organization):
    before = snapshot_of(organization)

    response = Client().get(link)

    assert (response.status_code, '<form method="post">' in response.content.decode()) == (200, True)
    assert "form-action 'self'" in response.headers["Content-Security-Policy"]
    assert snapshot_of(organization) == before


def test_emails_that_wait_are_canceled(link: str, api: ApiClient, organization: Organization, host: Membership):
    other = make_member(organization, "sam@acme.example")
    api.book(host_email=host.user.email, setter_email=other.user.email, external_reference="ref-2")

    post_one_click(link)

    waiting = Notification.objects.of(organization).filter(state=State.PENDING)
    assert [notification.recipient for notification in waiting] == [other]
    assert Notification.objects.of(organization).get(state=State.CANCELED).recipient == host


def test_repeating_it_changes_nothing_and_keeps_other_choices(link: str, organization: Organization, host: Membership):
    set_muted_kinds(member=host, kinds=["CALL_CANCELED"])

    post_one_click(link)
    post_one_click(link)

    assert MailPreference.objects.of(organization).get().muted == ["CALL_CANCELED", "CALL_BOOKED"]


def test_the_link_ends_the_emails_of_this_member_and_organization_alone(
    link: str, organization: Organization, other_organization: Organization, host: Membership
):
    before = snapshot_of(other_organization)

    post_one_click(link)

    assert [preference.member for preference in MailPreference.objects.of(organization)] == [host]
    assert snapshot_of(other_organization) == before


@pytest.mark.parametrize("change", [lambda path: path[:-1], lambda path: path + "x", lambda path: "/unsubscribe/x:y"])
def test_a_changed_link_does_nothing(link: str, organization: Organization, change: Any):
    before = snapshot_of(organization)

    got, posted = Client().get(change(link)), post_one_click(change(link))

    assert (got.status_code, posted.status_code) == (404, 404)
    assert "acme" not in got.content.decode().lower()
    assert snapshot_of(organization) == before


# --- Invitations ------------------------------------------------------------------------------------------------------

ADDRESS = "new@somebody.example"
REFUSED = ["Belongs to a person who has asked for no more invitations"]


@pytest.fixture
def owner(organization: Organization) -> Client:
    """Acme's owner, signed in."""
    return logged_in_client(owner_of(organization))


@pytest.fixture
def invitation_link(owner: Client, organization: Organization, mailoutbox: list[Any]) -> str:
    """The unsubscribe link of an invitation to Acme."""
    post_invitation(owner, ADDRESS)
    deliver_mail(organization)
    return link_in(mailoutbox[0])


def test_every_invitation_has_the_headers_and_the_link_in_its_body(
    owner: Client, organization: Organization, mailoutbox: list[Any], settings: Any
):
    post_invitation(owner, ADDRESS)
    deliver_mail(organization)

    (email,) = mailoutbox
    url = f"{settings.BASE_URL}{link_in(email)}"
    assert email.extra_headers["List-Unsubscribe"] == f"<{url}>"
    assert "\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n" in email.message().as_string()
    assert url in email.body
    assert url in email.alternatives[0].content


def test_one_click_declines_the_invitation_and_refuses_new_ones(
    invitation_link: str, owner: Client, organization: Organization, mailoutbox: list[Any]
):
    Organization.objects.filter(pk=organization.pk).update(move="OUT", is_active=False)
    assert post_one_click(invitation_link).status_code == 503  # its new place would not learn of it
    Organization.objects.filter(pk=organization.pk).update(move="", is_active=True)

    response = post_one_click(invitation_link)
    refused = post_invitation(owner, ADDRESS.upper())
    accepted = accept(Client(), links_mailed_to(ADDRESS)[0])
    deliver_mail(organization)

    invitation = Invitation.objects.of(organization).get()
    events = SecurityEvent.objects.filter(organization=organization, kind=SecurityEventKind.INVITATION_DECLINED)
    assert (response.status_code, "Set-Cookie" in response.headers, accepted.status_code) == (200, False, 404)
    assert (invitation.status, form_errors(refused), len(mailoutbox)) == ("Declined", REFUSED, 1)
    assert events.count() == 1


def test_inviting_somebody_who_has_unsubscribed_tells_nothing_of_an_account(
    invitation_link: str, owner: Client, other_organization: Organization
):
    post_one_click(invitation_link)

    without_account = form_errors(post_invitation(owner, ADDRESS))
    make_member(other_organization, ADDRESS)
    with_account = form_errors(post_invitation(owner, ADDRESS))

    assert (without_account, with_account) == (REFUSED, REFUSED)


def test_opening_an_invitations_unsubscribe_link_only_asks(invitation_link: str, organization: Organization):
    before = snapshot_of(organization)

    response = Client().get(invitation_link)

    assert (response.status_code, '<form method="post">' in response.content.decode()) == (200, True)
    assert "form-action 'self'" in response.headers["Content-Security-Policy"]
    assert "no-store" in response.headers["Cache-Control"]
    assert snapshot_of(organization) == before


def test_the_link_ends_the_invitations_of_one_organization_alone(
    invitation_link: str, other_organization: Organization, mailoutbox: list[Any]
):
    other_owner = logged_in_client(owner_of(other_organization))

    post_one_click(invitation_link)
    post_invitation(other_owner, ADDRESS)
    deliver_mail(other_organization)

    assert Invitation.objects.of(other_organization).get().status == "Open"
    assert len(mailoutbox) == 2


def test_the_link_of_an_earlier_invitation_declines_the_open_one_and_its_email_is_not_sent(
    invitation_link: str, owner: Client, organization: Organization, mailoutbox: list[Any]
):
    owner.post(admin_url(Invitation, "withdraw", Invitation.objects.of(organization).get().pk))
    post_invitation(owner, ADDRESS)

    post_one_click(invitation_link)
    post_one_click(invitation_link)
    deliver_mail(organization)

    invitations = Invitation.objects.of(organization)
    assert [invitation.status for invitation in invitations] == ["Declined", "Withdrawn"]
    assert form_errors(post_invitation(owner, ADDRESS)) == REFUSED
    assert len(mailoutbox) == 1


@pytest.mark.django_db(transaction=True)
def test_no_invitation_stays_open_when_inviting_and_unsubscribing_meet():
    organization = make_organization()
    owner = logged_in_client(owner_of(organization))
    post_invitation(owner, ADDRESS)
    invitation = Invitation.objects.of(organization).get()
    link = unsubscribe_path(invitation)
    owner.post(admin_url(Invitation, "withdraw", invitation.pk))

    run_together(lambda: post_invitation(owner, ADDRESS), lambda: post_one_click(link))

    assert "Open" not in {invitation.status for invitation in Invitation.objects.of(organization)}
    assert form_errors(post_invitation(owner, ADDRESS)) == REFUSED


def test_unsubscribing_from_an_accepted_invitation_leaves_the_membership(
    invitation_link: str, organization: Organization
):
    accept(Client(), links_mailed_to(ADDRESS)[0])

    post_one_click(invitation_link)

    assert Invitation.objects.of(organization).get().status == "Accepted"
    assert Membership.objects.of(organization).get(user__email=ADDRESS).is_active


@pytest.mark.parametrize("change", [lambda path: path[:-1], lambda path: path + "x", lambda path: f"{path[:24]}x:y"])
def test_an_invitations_changed_unsubscribe_link_does_nothing(
    invitation_link: str, organization: Organization, change: Any
):
    before, path = snapshot_of(organization), change(invitation_link)

    got, posted = Client().get(path), post_one_click(path)

    assert (got.status_code, posted.status_code) == (404, 404)
    assert "acme" not in got.content.decode().lower()
    assert snapshot_of(organization) == before


def test_whoever_declines_can_stop_further_invitations_on_the_page_that_follows(organization: Organization):
    owner = logged_in_client(owner_of(organization))
    post_invitation(owner, "guest@somebody.example")
    deliver_mail(organization)
    visitor = Client()

    page = visitor.post(links_mailed_to("guest@somebody.example")[0], {"decline": "yes"}).content.decode()
    (path,) = re.findall(r'<form method="post" action="(/unsubscribe/invitation/[^"]+)"', page)
    done = visitor.post(path)

    again = post_invitation(owner, "guest@somebody.example")
    assert "You are unsubscribed" in done.content.decode()
    assert "Belongs to a person who has asked for no more invitations" in form_errors(again)


def suppressed_invitation(organization: Organization) -> Invitation:
    """Return an invitation whose person has asked for no more of them."""
    post_invitation(logged_in_client(owner_of(organization)), "guest@somebody.example")
    invitation: Invitation = Invitation.objects.of(organization).get()
    post_one_click(unsubscribe_path(invitation))
    return invitation


def signed_in_operator() -> tuple[User, Client]:
    """Return a superuser, with a client that has a session of theirs."""
    operator, client = User.objects.create_superuser("operator@host.example", "secret-of-tests"), Client()
    client.force_login(operator)
    return operator, client


def test_an_operator_allows_invitations_again_and_the_log_says_how_the_person_agreed(
    organization: Organization, other_organization: Organization
):
    invitation = suppressed_invitation(organization)
    theirs = suppressed_invitation(other_organization)
    operator, client = signed_in_operator()
    page = admin_url(Invitation, "allow_again", invitation.pk)

    response = client.post(page, {"consent": "Asked by phone on 3 May"})

    again = post_invitation(logged_in_client(owner_of(organization)), "guest@somebody.example")
    event = SecurityEvent.objects.get(kind=SecurityEventKind.INVITATIONS_ALLOWED)
    theirs.refresh_from_db()
    assert (response.status_code, again.status_code) == (302, 302)
    assert (event.organization, event.actor, event.details) == (organization, operator, "Asked by phone on 3 May")
    assert theirs.unsubscribed_at is not None


def test_without_the_persons_consent_in_words_invitations_stay_refused(organization: Organization):
    invitation = suppressed_invitation(organization)
    _, client = signed_in_operator()

    response = client.post(admin_url(Invitation, "allow_again", invitation.pk), {"consent": "  "})

    invitation.refresh_from_db()
    assert form_errors(response) == ["This field is required."]
    assert invitation.unsubscribed_at is not None


def test_the_organization_that_a_person_has_refused_cannot_undo_that_itself(organization: Organization):
    invitation = suppressed_invitation(organization)
    owner = logged_in_client(owner_of(organization))

    response = owner.post(admin_url(Invitation, "allow_again", invitation.pk), {"consent": "She agreed"})

    invitation.refresh_from_db()
    assert response.status_code == 403
    assert invitation.unsubscribed_at is not None
    assert "Allow invitations again" not in owner.get(admin_url(Invitation, "change", invitation.pk)).content.decode()


def test_the_unsubscribe_link_accepts_no_invitation(invitation_link: str, organization: Organization):
    token = invitation_link.rsplit("/", 1)[1]

    response = accept(Client(), f"/admin/invitation/{token}/")

    assert response.status_code == 404
    assert Invitation.objects.of(organization).get().status == "Open"


def test_an_organization_makes_a_limited_number_of_invitations_a_day(
    owner: Client, organization: Organization, other_organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("accounts.invitations.INVITATIONS_PER_DAY", 2)
    addresses = [f"new-{number}@somebody.example" for number in range(3)]

    *allowed, refused = [post_invitation(owner, email) for email in addresses]
    elsewhere = post_invitation(logged_in_client(owner_of(other_organization)), addresses[2])
    count = Invitation.objects.of(organization).count()
    Invitation.objects.of(organization).update(created_at=now() - timedelta(hours=25))
    next_day = post_invitation(owner, addresses[2])

    assert [response.status_code for response in (*allowed, elsewhere, next_day)] == [302] * 4
    assert form_errors(refused) == ["Was not invited: the organization has made 2 invitations within a day"]
    assert count == 2


# --- The daily limit --------------------------------------------------------------------------------------------------


def book_for_owner(api: ApiClient, count: int) -> None:
    """Book this many appointments, each of which notifies the owner."""
    for number in range(count):
        api.book(external_reference=f"ref-{number}", lead_email=f"lead-{number}@example.com")


def test_emails_beyond_the_daily_limit_wait_for_the_next_day_and_none_is_lost(
    api: ApiClient, organization: Organization, mailoutbox: list[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("notifications.daily_limit.MAILS_PER_DAY", 3)
    book_for_owner(api, 5)

    for _ in range(3):
        send_notifications(str(organization.pk))
    on_first_day = len(mailoutbox)
    organization.refresh_from_db()
    paused_until = organization.mail_paused_until
    # The next day.
    yesterday = organization.mail_count_date - timedelta(days=1)
    Organization.objects.filter(pk=organization.pk).update(
        mail_count_date=yesterday, mail_paused_until=paused_until - timedelta(days=1)
    )
    send_notifications(str(organization.pk))

    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    assert (on_first_day, len(mailoutbox)) == (3, 5)
    assert paused_until == datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=UTC)
    assert {email.to[0] for email in mailoutbox} == {"owner@acme.example"}
    assert len({email.extra_headers["X-Notification-Id"] for email in mailoutbox}) == 5


def test_notes_with_mentions_use_up_a_part_of_the_daily_limit_only(
    api: ApiClient, organization: Organization, mailoutbox: list[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("notifications.daily_limit.MAILS_PER_DAY", 4)
    monkeypatch.setattr("notifications.daily_limit.MENTION_MAILS_PER_DAY", 2)
    mentioned = make_member(organization, "mentioned@acme.example").user.email
    notes = f"/api/external/appointments/{api.book().json()['data']['id']}/notes"
    send_notifications(str(organization.pk))
    for number in range(4):
        assert api.post(notes, {"note": f"note {number}", "mention_emails": [mentioned]}).status_code == 201
        if number == 2:
            batch = EMAILS.claim(organization.pk)
            assert batch
            EMAILS.release(batch, batch.jobs)  # as when a slow mail server takes the lease's time for others
    send_notifications(str(organization.pk))
    api.book(external_reference="ref-2", lead_email="second@example.com")
    send_notifications(str(organization.pk))

    assert [email.to[0] for email in mailoutbox] == ["owner@acme.example", mentioned, mentioned, "owner@acme.example"]
    refused = Notification.objects.of(organization).filter(state=State.DEAD)
    assert list(refused.values_list("kind", "last_error")) == [("MENTIONED", "mention_limit")] * 2


def test_while_emails_wait_nothing_counts_as_failed_or_overdue(
    api: ApiClient, organization: Organization, monkeypatch: pytest.MonkeyPatch, mailoutbox: list[Any]
):
    monkeypatch.setattr("notifications.daily_limit.MAILS_PER_DAY", 1)
    book_for_owner(api, 3)
    send_notifications(str(organization.pk))

    rows = Notification.objects.of(organization).filter(state=State.PENDING)

    assert list(rows.values_list("attempt_count", "last_error")) == [(0, ""), (0, "")]
    assert (EMAILS.due_groups(), SLACK_MESSAGES.due_groups()) == ([], [])


def test_the_limit_of_one_organization_does_not_concern_another(
    api: ApiClient,
    other_api: ApiClient,
    organization: Organization,
    other_organization: Organization,
    monkeypatch: pytest.MonkeyPatch,
    mailoutbox: list[Any],
):
    monkeypatch.setattr("notifications.daily_limit.MAILS_PER_DAY", 1)
    book_for_owner(api, 3)
    book_for_owner(other_api, 1)

    for each in (organization, other_organization):
        send_notifications(str(each.pk))

    assert sorted(email.to[0] for email in mailoutbox) == ["owner@acme.example", "owner@globex.example"]
    assert len(notifications_of(organization)) == 3


def test_the_owner_sees_on_the_dashboard_that_emails_wait(
    api: ApiClient,
    organization: Organization,
    other_organization: Organization,
    monkeypatch: pytest.MonkeyPatch,
    mailoutbox: list[Any],
):
    monkeypatch.setattr("notifications.daily_limit.MAILS_PER_DAY", 1)
    book_for_owner(api, 3)
    send_notifications(str(organization.pk))

    owner = logged_in_client(owner_of(organization))
    ours = owner.get("/admin/").content.decode()
    theirs = logged_in_client(owner_of(other_organization)).get("/admin/").content.decode()

    text = "2 e-mails wait, because the daily limit is reached"
    assert (text in ours, "daily limit" in theirs) == (True, False)
    [link] = re.findall(rf'href="([^"]+)" class="home-alert">{text}', ours)
    listed = owner.get(unescape(link)).context["cl"].result_list
    assert {(row.state, row.medium) for row in listed} == {("PENDING", "EMAIL")}
    assert len(listed) == 2
