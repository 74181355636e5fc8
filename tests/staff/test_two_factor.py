"""Two-factor sign-in: setting it up, signing in with it, and losing the phone."""

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django_otp.oath import TOTP

from accounts import two_factor
from accounts.mail import SECURITY_NOTICES
from accounts.new_password import WRONG_GUESS
from accounts.two_factor import verify_second_factor
from foundation.outbox import dispatch
from organizations.models import Membership, Organization, RecoveryCode, SecurityEvent, SecurityNotice, TotpDevice, User
from tests.accounts import deliver_mail, links_mailed_to
from tests.contract.concurrency import THREADS, run_concurrently
from tests.factories import make_member, owner_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

PASSWORD = "secret-of-tests"
NEW_PASSWORD = "another-secret-of-tests"
PAGE = "/admin/account/two-factor/"
SESSIONS = "/admin/account/sessions/"
SECOND_FACTOR = "/admin/second-factor/"
START = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def clock() -> Iterator[Any]:
    """A clock that stands still, and can be moved."""
    with time_machine.travel(START, tick=False) as clock:
        yield clock


def code_for(key: str, steps: int = 0) -> str:
    """Return the code that an app with this key shows now, or so many half minutes from now."""
    totp = TOTP(base64.b32decode(key.replace(" ", "")), drift=steps)
    return f"{totp.token():06}"


def start(client: Client) -> Any:
    """Press "Set up", with a verified address; return the response with the key."""
    User.objects.filter(email_verified_at=None).update(email_verified_at=START)
    assert client.get(PAGE).status_code == 200
    return client.post(PAGE, {"start": "yes"})


def enrol(client: Client) -> tuple[str, list[str]]:
    """Switch two-factor sign-in on; return the key and the recovery codes."""
    key = start(client).context["key"]
    response = client.post(PAGE, {"password": PASSWORD, "code": code_for(key)})
    assert response.status_code == 200, response
    return key, response.context["secret"].split()


def token_url(client: Client, page: str) -> str:
    """Return the address that the page's script asks before it sends a form."""
    [url] = re.findall('data-token-url="([^"]+)"', client.get(page).content.decode())
    return unescape(url)


def enter_password(email: str = "hana@acme.example", *, address: str = "192.0.2.1") -> tuple[Client, Any]:
    """Send the sign-in form; return the client and the response."""
    client = Client(REMOTE_ADDR=address)
    return client, client.post(
        f"{reverse('admin:login')}?next=/admin/leads/lead/", {"username": email, "password": PASSWORD}
    )


def is_signed_in(client: Client) -> bool:
    """Return whether the client gets the admin's first page."""
    return client.get("/admin/").status_code == 200


def kinds() -> list[str]:
    """Return the kinds of all entries of the security log, oldest first."""
    return list(SecurityEvent.objects.order_by("created_at", "id").values_list("kind", flat=True))


def test_the_page_shows_the_key_as_text_and_as_a_qr_code_without_another_request(closer: Client):
    response = start(closer)
    page = response.content.decode()

    assert re.fullmatch(r"([A-Z2-7]{4} ){7}[A-Z2-7]{4}", response.context["key"])
    assert "<svg" in page
    assert response.context["key"] in page
    assert "<img" not in page
    assert "no-store" in response.headers["Cache-Control"]


def test_a_member_switches_it_on_and_signs_in_with_a_code(closer: Client, host: Membership, clock: Any):
    key, codes = enrol(closer)
    clock.shift(timedelta(minutes=1))

    client, response = enter_password()
    before = is_signed_in(client)
    entered = client.post(SECOND_FACTOR, {"code": f" {code_for(key)[:3]} {code_for(key)[3:]} "})

    assert (response.url, before) == (SECOND_FACTOR, False)
    assert (entered.status_code, entered.url, is_signed_in(client)) == (302, "/admin/leads/lead/", True)
    assert len(set(codes)) == 10
    assert kinds() == ["two_factor_enabled", "signed_in"]


def test_the_password_alone_opens_no_page(closer: Client, host: Membership):
    enrol(closer)

    client, _ = enter_password()

    for url in ("/admin/", PAGE, "/admin/account/sessions/", "/admin/leads/lead/", "/admin/password_change/"):
        response = client.get(url)
        assert (response.status_code, response.url.startswith("/admin/login/")) == (302, True), url


def test_without_the_password_the_second_page_leads_to_the_first(host: Membership):
    client = Client()

    assert client.get(SECOND_FACTOR).url == "/admin/login/"
    assert client.post(SECOND_FACTOR, {"code": "123456"}).url == "/admin/login/"


def test_the_password_counts_for_ten_minutes_and_until_it_is_changed(closer: Client, host: Membership, clock: Any):
    key, _ = enrol(closer)
    changed, _ = enter_password()
    late, _ = enter_password()

    clock.shift(timedelta(minutes=11))
    late_response = late.post(SECOND_FACTOR, {"code": code_for(key)})
    clock.move_to(START + timedelta(minutes=1))
    host.user.refresh_from_db()
    host.user.set_password("another-secret")
    host.user.save()
    changed_response = changed.post(SECOND_FACTOR, {"code": code_for(key)})

    assert (late_response.url, changed_response.url) == ("/admin/login/", "/admin/login/")
    assert (is_signed_in(late), is_signed_in(changed)) == (False, False)


def test_a_code_works_once(closer: Client, host: Membership, clock: Any):
    key, _ = enrol(closer)
    clock.shift(timedelta(minutes=1))
    code = code_for(key)
    first, _ = enter_password()
    second, _ = enter_password()

    first.post(SECOND_FACTOR, {"code": code})
    response = second.post(SECOND_FACTOR, {"code": code})

    assert (is_signed_in(first), is_signed_in(second)) == (True, False)
    assert form_errors(response) == ["This code is wrong or was used before. Wait for the next one, then try again."]


def test_a_recovery_code_works_once_and_the_person_is_told(closer: Client, host: Membership):
    _, codes = enrol(closer)
    first, _ = enter_password()
    second, _ = enter_password()

    first.post(SECOND_FACTOR, {"code": codes[3].upper()})
    second.post(SECOND_FACTOR, {"code": codes[3]})

    assert (is_signed_in(first), is_signed_in(second)) == (True, False)
    assert RecoveryCode.objects.filter(user=host.user, used_at=None).count() == 9
    assert kinds() == ["two_factor_enabled", "recovery_code_used", "signed_in", "two_factor_failed"]
    assert [notice.event.kind for notice in SecurityNotice.objects.order_by("id")] == [
        "two_factor_enabled",
        "recovery_code_used",
    ]


def test_wrong_codes_wait_longer_and_longer_but_never_for_good(closer: Client, host: Membership, clock: Any):
    key, _ = enrol(closer)
    client, _ = enter_password()
    notices = []
    for _ in range(9):
        clock.shift(timedelta(seconds=61))
        client.post(SECOND_FACTOR, {"code": "000000"})
        notices.append(SecurityNotice.objects.filter(event__kind="two_factor_failed").count())
    client, _ = enter_password()
    clock.shift(timedelta(seconds=2))
    soon = client.post(SECOND_FACTOR, {"code": code_for(key)})
    clock.shift(timedelta(seconds=513))
    client.post(SECOND_FACTOR, {"code": code_for(key)})

    assert form_errors(soon)
    assert is_signed_in(client)
    assert notices == [0] * 4 + [1] * 5
    assert [notice.event.kind for notice in SecurityNotice.objects.order_by("id")] == [
        "two_factor_enabled",
        "two_factor_failed",
    ]


def test_codes_that_come_too_soon_after_the_mailed_one_mail_no_other(
    closer: Client, host: Membership, clock: Any
) -> None:
    enrol(closer)
    client, _ = enter_password()
    for _ in range(5):
        clock.shift(timedelta(seconds=61))
        client.post(SECOND_FACTOR, {"code": "000000"})

    clock.shift(timedelta(seconds=1))
    for _ in range(4):
        client.post(SECOND_FACTOR, {"code": "000000"})

    assert kinds().count("two_factor_failed") == 9
    assert SecurityNotice.objects.filter(event__kind="two_factor_failed").count() == 1


def test_a_recovery_code_helps_while_somebody_else_tries_codes(closer: Client, host: Membership, clock: Any):
    _, codes = enrol(closer)
    attacker, _ = enter_password(address="192.0.2.66")
    for _ in range(12):
        attacker.post(SECOND_FACTOR, {"code": "000000"})
    client, _ = enter_password()

    client.post(SECOND_FACTOR, {"code": codes[0]})

    assert (is_signed_in(attacker), is_signed_in(client)) == (False, True)


@pytest.mark.usefixtures("stopped_clock")
def test_codes_are_limited_to_ten_a_minute(closer: Client, host: Membership):
    _, codes = enrol(closer)
    client, _ = enter_password()
    responses = [client.post(SECOND_FACTOR, {"code": "x"}) for _ in range(11)]
    right = client.post(SECOND_FACTOR, {"code": codes[0]})

    assert ["Too many attempts. Wait a minute, then try again." in form_errors(response) for response in responses] == [
        *[False] * 10,
        True,
    ]
    assert form_errors(right) == ["Too many attempts. Wait a minute, then try again."]
    assert not is_signed_in(client)
    assert RecoveryCode.objects.filter(user=host.user, used_at=None).count() == 10


def test_a_code_without_a_key_leads_to_the_first_page_which_makes_one(closer: Client, host: Membership):
    response = closer.post(PAGE, {"password": PASSWORD, "code": "000000"})

    assert (response.status_code, response.headers["Location"]) == (302, PAGE)
    host.user.refresh_from_db()
    assert host.user.two_factor_enabled_at is None


@pytest.mark.parametrize("code", ["", "000000", "１２３４５６", "12345", "1234567", "\x00", "-12345", "x" * 10_000])
def test_a_wrong_code_does_not_switch_it_on(closer: Client, host: Membership, code: str):
    start(closer)

    response = closer.post(PAGE, {"password": PASSWORD, "code": code})

    host.user.refresh_from_db()
    assert response.status_code in (200, 400)
    assert host.user.two_factor_enabled_at is None
    assert not RecoveryCode.objects.exists()


def test_a_wrong_password_does_not_switch_it_on(closer: Client, host: Membership):
    key = start(closer).context["key"]

    response = closer.post(PAGE, {"password": "guess", "code": code_for(key)})

    host.user.refresh_from_db()
    assert form_errors(response) == ["The password is wrong."]
    assert host.user.two_factor_enabled_at is None


def test_whoever_gets_a_new_password_meanwhile_is_not_locked_out(
    closer: Client, host: Membership, monkeypatch: pytest.MonkeyPatch
):
    key, locked = start(closer).context["key"].replace(" ", ""), two_factor.locked

    @contextmanager
    def locked_after_a_reset(user: User) -> Iterator[User]:
        User.objects.filter(pk=user.pk).update(password="another")
        with locked(user) as stored:
            yield stored

    monkeypatch.setattr(two_factor, "locked", locked_after_a_reset)

    response = closer.post(PAGE, {"password": PASSWORD, "code": code_for(key)})

    assert "Your session has ended" in response.content.decode()
    host.user.refresh_from_db()
    assert host.user.two_factor_enabled_at is None


def test_switching_it_on_ends_the_other_sessions(closer: Client, host: Membership):
    other = logged_in_client(host)

    enrol(closer)

    assert (is_signed_in(closer), is_signed_in(other)) == (True, False)


def test_it_is_switched_off_with_password_and_code(closer: Client, host: Membership, clock: Any):
    key, _ = enrol(closer)
    clock.shift(timedelta(minutes=1))
    other = logged_in_client(User.objects.get(pk=host.user_id).memberships.get())
    wrong_password = closer.post(PAGE, {"disable": "yes", "password": "guess", "code": code_for(key)})
    wrong_code = closer.post(PAGE, {"disable": "yes", "password": PASSWORD, "code": "000000"})
    clock.shift(timedelta(minutes=1))
    still_on = User.objects.get(pk=host.user_id).two_factor_enabled_at

    response = closer.post(PAGE, {"disable": "yes", "password": PASSWORD, "code": code_for(key)})

    assert (wrong_password.status_code, wrong_code.status_code, response.status_code) == (200, 200, 302)
    assert still_on == START
    assert User.objects.get(pk=host.user_id).two_factor_enabled_at is None
    assert not TotpDevice.objects.exists()
    assert not RecoveryCode.objects.exists()
    assert (is_signed_in(closer), is_signed_in(other)) == (True, False)
    assert enter_password()[1].url == "/admin/leads/lead/"
    assert kinds()[-2:] == ["two_factor_disabled", "signed_in"]
    assert [notice.event.kind for notice in SecurityNotice.objects.order_by("id")] == [
        "two_factor_enabled",
        "two_factor_disabled",
    ]


def test_new_recovery_codes_replace_the_old_ones(closer: Client, host: Membership):
    _, old = enrol(closer)

    new = closer.post(PAGE, {"replace": "yes", "code": old[0]}).context["secret"].split()
    client, _ = enter_password()
    client.post(SECOND_FACTOR, {"code": old[1]})
    before = is_signed_in(client)
    client.post(SECOND_FACTOR, {"code": new[1]})

    assert set(new).isdisjoint(old)
    assert (before, is_signed_in(client)) == (False, True)


def test_keys_and_recovery_codes_are_not_readable_in_the_database(closer: Client, host: Membership):
    key, codes = enrol(closer)

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT key FROM organizations_totpdevice UNION ALL SELECT code_hash FROM organizations_recoverycode"
        )
        stored = str(cursor.fetchall())

    assert key.replace(" ", "") not in stored
    assert [code for code in codes if code in stored or code.replace("-", "") in stored] == []


def test_an_organization_that_requires_it_leads_its_members_to_set_it_up_first(
    owner: Client, closer: Client, host: Membership, other_organization: Organization
):
    zoe = logged_in_client(make_member(other_organization, "zoe@globex.example"))
    url = admin_url(Organization, "change", host.organization_id)
    owner.post(url, form_data(owner, url, requires_two_factor="on"))

    for page in (
        "/admin/",
        "/admin/leads/lead/",
        "/admin/account/notifications/",
        admin_url(User, "change", host.user_id),
        admin_url(Membership, "changelist"),
    ):
        response = closer.get(page)
        assert (response.status_code, response.url) == (302, PAGE), page
    posted = closer.post(admin_url(Membership, "change", host.pk), {"wants_mail": ""})
    host.refresh_from_db()
    assert (posted.url, host.wants_mail) == (PAGE, True)
    assert is_signed_in(zoe)
    enrol(closer)
    assert is_signed_in(closer)


def test_before_it_is_set_up_one_can_end_sessions_and_change_the_password(host: Membership):
    client, stolen = enter_password()[0], enter_password()[0]
    Organization.objects.filter(pk=host.organization_id).update(requires_two_factor=True)
    url = reverse("admin:password_change")

    listed = client.get(SESSIONS)
    client.post(SESSIONS, {"others": "yes"})
    wrong = client.post(url, {"old_password": "x", "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD})
    changed = client.post(url, {"old_password": PASSWORD, "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD})

    assert (len(listed.context["sessions"]), stolen.get(SESSIONS).url.partition("?")[0]) == (2, reverse("admin:login"))
    assert form_errors(wrong) == ["The password is wrong."]
    assert client.get(changed.url).status_code == 200
    assert User.objects.get(pk=host.user_id).check_password(NEW_PASSWORD)
    assert client.get("/admin/").url == PAGE


def test_a_form_that_was_open_when_it_was_required_asks_before_it_is_sent(closer: Client, host: Membership):
    """As its script does: the page for setting it up would lose what has been typed."""
    urls = [token_url(closer, page) for page in ("/admin/leads/lead/", PAGE)]
    before = [closer.get(url).json()["needs_two_factor"] for url in urls]
    Organization.objects.filter(pk=host.organization_id).update(requires_two_factor=True)

    required = [closer.get(url).json()["needs_two_factor"] for url in urls]
    enrol(closer)

    assert (before, required) == ([False, False], [True, False])
    assert closer.get(urls[0]).json()["needs_two_factor"] is False


def test_a_form_that_another_person_has_opened_asks_who_is_signed_in_before_it_is_sent(owner: Client, closer: Client):
    url = token_url(closer, "/admin/leads/lead/add/")

    assert closer.get(url).json()["other_user"] == ""
    assert owner.get(url).json()["other_user"] == "owner@acme.example"
    assert owner.get(url.partition("&")[0]).json()["other_user"] == "owner@acme.example"


def test_it_can_not_be_switched_off_where_it_is_required(closer: Client, host: Membership):
    _, codes = enrol(closer)
    Organization.objects.filter(pk=host.organization_id).update(requires_two_factor=True)

    response = closer.post(PAGE, {"disable": "yes", "password": PASSWORD, "code": codes[0]})

    assert response.context["disable_form"].non_field_errors() == [
        "An organization that you belong to requires two-factor sign-in."
    ]
    assert User.objects.get(pk=host.user_id).two_factor_enabled_at == START
    assert RecoveryCode.objects.filter(used_at=None).count() == 10


def test_only_an_owner_can_require_it(manager: Client, organization: Organization):
    response = manager.post(
        admin_url(Organization, "change", organization.pk), {"name": "Acme", "requires_two_factor": "on"}
    )

    organization.refresh_from_db()
    assert (response.status_code, organization.requires_two_factor) == (403, False)


def test_an_operator_resets_it_for_someone_who_has_lost_everything(closer: Client, host: Membership):
    enrol(closer)

    call_command("reset_two_factor", "HANA@acme.example")

    assert not is_signed_in(closer)
    assert enter_password()[1].url == "/admin/leads/lead/"
    assert (SecurityEvent.objects.filter(kind="two_factor_reset").get().user, TotpDevice.objects.count()) == (
        host.user,
        0,
    )
    with pytest.raises(CommandError):
        call_command("reset_two_factor", "nobody@acme.example")


def test_an_owner_sees_two_factor_changes_of_members(owner: Client, closer: Client, host: Membership):
    enrol(closer)

    rows = owner.get(admin_url(SecurityEvent, "changelist")).context["cl"].result_list

    assert [(event.kind, event.user) for event in rows] == [("two_factor_enabled", host.user)]


@pytest.mark.django_db(transaction=True)
def test_the_person_gets_an_e_mail(organization: Organization, mailoutbox: list[Any], clock: Any):
    member = make_member(organization, "hana@acme.example", time_zone="Europe/Berlin")
    client = Client(headers={"User-Agent": "Mozilla/5.0 (Windows NT 10.0) Firefox/141.0"}, REMOTE_ADDR="192.0.2.7")
    client.force_login(member.user)
    enrol(client)

    # The queue's times are the database's.
    clock.move_to(datetime.now(UTC))
    dispatch(SECURITY_NOTICES, member.user.pk)

    (email,) = mailoutbox
    assert (email.to, email.subject) == (["hana@acme.example"], "Security notice: Two-factor sign-in enabled")
    assert "Address: 192.0.2.7\nBrowser: Firefox on Windows" in email.body
    assert "13:00 (Europe/Berlin)" in email.body
    assert owner_of(organization).user.email not in email.body


@pytest.mark.django_db(transaction=True)
def test_of_simultaneous_requests_with_one_code_only_one_signs_in(organization: Organization, clock: Any):
    member = make_member(organization, "hana@acme.example")
    key, codes = enrol(logged_in_client(member))
    clock.shift(timedelta(minutes=1))
    code = code_for(key)

    def verify(code: str) -> Any:
        return lambda _: verify_second_factor(user=member.user, code=code)

    by_app = run_concurrently(None, *[verify(code)] * THREADS)
    by_recovery_code = run_concurrently(None, *[verify(codes[0])] * THREADS)

    assert (by_app.count(True), by_recovery_code.count(True)) == (1, 1)


def test_wrong_passwords_are_recorded_for_known_and_unknown_accounts_alike(host: Membership):
    for email in ("hana@acme.example", "nobody@acme.example"):
        Client(REMOTE_ADDR="192.0.2.9").post(reverse("admin:login"), {"username": email, "password": "guess"})

    events = list(SecurityEvent.objects.order_by("created_at", "id"))
    assert [(event.kind, event.user, event.address) for event in events] == [
        ("sign_in_failed", host.user, "192.0.2.9"),
        ("sign_in_failed", None, "192.0.2.9"),
    ]
    assert "nobody" not in str([vars(event) for event in events])


def test_the_address_is_verified_by_a_link_to_it_while_signed_in(closer: Client, host: Membership):
    """Neither another account's session nor an old or foreign link verifies it, nor does opening it."""
    User.objects.filter(pk=host.user_id).update(email_verified_at=None)
    stranger = make_member(host.organization, "stranger@acme.example", email_verified_at=None)
    closer.post(PAGE, {"verify": "yes"})
    deliver_mail()
    (link,) = links_mailed_to("hana@acme.example")

    opened = [client.get(link).status_code for client in (closer, logged_in_client(stranger), Client())]
    logged_in_client(stranger).post(link)
    unverified = User.objects.filter(email_verified_at=None, pk__in=[host.user_id, stranger.user_id])
    before = unverified.count()
    closer.post(link)

    assert (opened, before) == ([200, 200, 302], 2)
    assert [user.email for user in unverified.all()] == ["stranger@acme.example"]
    assert closer.post(PAGE, {"start": "yes"}).status_code == 200
    for _ in range(4):
        logged_in_client(stranger).post(PAGE, {"verify": "yes"})
    deliver_mail()
    assert len(links_mailed_to("stranger@acme.example")) == 3


def test_wrong_passwords_in_a_session_are_logged_and_mailed_here_too(host: Membership):
    client = logged_in_client(host)
    start(client)

    for _ in range(3):
        client.post(PAGE, {"password": "wrong", "code": "123456"})

    events = SecurityEvent.objects.filter(user=host.user, details=WRONG_GUESS)
    assert events.count() == 3
    assert SecurityNotice.objects.filter(event__in=events).count() == 1
