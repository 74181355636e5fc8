"""My account → Sessions: a person sees and ends their own sessions."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
import time_machine
from django.contrib.auth.hashers import make_password
from django.test import Client
from django.urls import reverse

from accounts import sessions
from accounts.sessions import describe_browser
from appointments.calendar_feed import calendar_address
from foundation.db.timestamps import now
from organizations.models import Membership, Organization, SecurityEvent, SecurityNotice, Session, User
from organizations.services import issue_calendar_secret
from pipeline_backend.celery import app
from tests.factories import make_member, owner_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url

PAGE = "/admin/account/sessions/"
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:141.0) Gecko/20100101 Firefox/141.0"
CHROME = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36"
)


def sign_in(email: str, user_agent: str = FIREFOX, address: str = "192.0.2.1") -> Client:
    """Return a client that has signed in with the form."""
    client = Client(headers={"User-Agent": user_agent}, REMOTE_ADDR=address)
    response = client.post(reverse("admin:login"), {"username": email, "password": "secret-of-tests"})
    assert response.status_code == 302, response.content.decode()
    return client


def listed(client: Client) -> list[Any]:
    """Return the sessions that the client's page shows."""
    rows: list[Any] = client.get(PAGE).context["sessions"]
    return rows


def is_signed_in(client: Client) -> bool:
    """Return whether the client still gets the admin's first page."""
    return client.get("/admin/").status_code == 200


def test_a_person_sees_their_sessions_and_no_one_elses(host: Membership, other_organization: Organization):
    make_member(other_organization, "zoe@globex.example")
    sign_in("zoe@globex.example")
    phone, laptop = sign_in("hana@acme.example", CHROME, "198.51.100.7"), sign_in("hana@acme.example")

    sessions = listed(laptop)
    page = laptop.get(PAGE).content.decode()

    assert [(session["browser"], session["address"], session["is_current"]) for session in sessions] == [
        ("Firefox on Windows", "192.0.2.1", True),
        ("Chrome on Android", "198.51.100.7", False),
    ]
    assert phone.session.session_key not in page
    assert laptop.session.session_key not in page


def test_a_message_that_nobody_has_read_is_shown_to_nobody_else(host: Membership, organization: Organization):
    client = sign_in("hana@acme.example")
    make_member(organization, "zoe@acme.example")
    zoe = {"username": "zoe@acme.example", "password": "secret-of-tests"}

    client.post(PAGE, {"session": "ended"})
    client.post(reverse("admin:logout"))
    after_signing_out = client.get(reverse("admin:login")).content.decode()
    client.force_login(host.user)
    client.post(PAGE, {"session": "ended"})
    client.post(reverse("admin:login"), zoe)
    after_signing_in = client.get("/admin/").content.decode()

    assert "has already ended" not in after_signing_out
    assert "has already ended" not in after_signing_in
    client.post(PAGE, {"session": "ended"})
    assert "has already ended" in client.get("/admin/").content.decode()


@pytest.mark.parametrize("method", ["get", "head"])
def test_the_address_of_the_page_after_signing_out_can_be_opened_again(host: Membership, method: str):
    client = sign_in("hana@acme.example")
    before = getattr(client, method)(reverse("admin:logout"))
    signed_in = client.get(PAGE).status_code
    client.post(reverse("admin:logout"))
    after = getattr(client, method)(reverse("admin:logout"))

    assert [(response.status_code, response.url) for response in (before, after)] == [(302, "/admin/")] * 2
    assert (signed_in, client.get(PAGE).status_code) == (200, 302), "only the button signs out"


def test_one_session_can_be_ended(host: Membership):
    phone, tablet, laptop = (sign_in("hana@acme.example", agent) for agent in (CHROME, CHROME, FIREFOX))
    id = next(session["id"] for session in listed(phone) if session["is_current"])

    laptop.post(PAGE, {"session": id})

    assert [is_signed_in(client) for client in (phone, tablet, laptop)] == [False, True, True]
    event = SecurityEvent.objects.get(kind="session_ended")
    assert (event.user, event.actor, event.details) == (host.user, host.user, "Chrome on Android")


def test_a_person_has_a_limited_number_of_sessions_and_the_one_not_used_longest_ends(
    host: Membership, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 2)
    clients = [sign_in("hana@acme.example") for _ in range(3)]

    assert [is_signed_in(client) for client in clients] == [False, True, True]


def test_all_other_sessions_can_be_ended(host: Membership):
    phone, tablet, laptop = (sign_in("hana@acme.example") for _ in range(3))

    laptop.post(PAGE, {"others": "yes"})

    assert [is_signed_in(client) for client in (phone, tablet, laptop)] == [False, False, True]
    assert SecurityEvent.objects.filter(kind="session_ended").count() == 2


def test_nobody_can_end_another_persons_session(host: Membership, other_organization: Organization):
    make_member(other_organization, "zoe@globex.example")
    other, own = sign_in("zoe@globex.example"), sign_in("hana@acme.example")

    own.post(PAGE, {"session": listed(other)[0]["id"]})
    own.post(PAGE, {"session": other.session.session_key})
    own.post(PAGE, {"others": "yes"})

    assert is_signed_in(other)
    assert not SecurityEvent.objects.filter(kind="session_ended").exists()


@pytest.mark.parametrize("id", ["", "x", "\x00", "é" * 1000])
def test_an_unknown_session_changes_nothing(host: Membership, id: str):
    client = sign_in("hana@acme.example")

    assert client.post(PAGE, {"session": id}).status_code in (302, 400)
    assert is_signed_in(client)


def test_a_visitor_sees_no_sessions(db: None):
    assert Client().get(PAGE).status_code == 302
    assert Client().post(PAGE, {"others": "yes"}).status_code == 302


def test_a_changed_password_ends_the_other_sessions_and_is_mailed_to_the_person(host: Membership):
    phone, laptop = sign_in("hana@acme.example", CHROME), sign_in("hana@acme.example")

    passwords = {
        "old_password": "secret-of-tests",
        "new_password1": "a new horse 77",
        "new_password2": "a new horse 77",
    }
    response = laptop.post(reverse("admin:password_change"), passwords)

    assert response.status_code == 302, response.content.decode()
    assert [is_signed_in(client) for client in (phone, laptop)] == [False, True]
    assert [session["browser"] for session in listed(laptop)] == ["Firefox on Windows"]
    assert SecurityNotice.objects.get().event.kind == "password_changed"


@pytest.mark.parametrize("change", [{"is_active": False}, {"password": "another"}])
def test_whoever_is_shut_out_while_they_change_their_password_stays_out(
    host: Membership, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
):
    client, rows = sign_in("hana@acme.example"), User.objects.filter(pk=host.user_id)

    def hash_slowly(password: str) -> str:
        rows.update(**change)
        return make_password(password)

    monkeypatch.setattr("accounts.new_password.make_password", hash_slowly)
    before = rows.values_list("password", "is_active").get()
    passwords = dict.fromkeys(["new_password1", "new_password2"], "a new horse 77")

    response = client.post(reverse("admin:password_change"), {"old_password": "secret-of-tests", **passwords})

    # After signing in they get the form again, not the page that says that their password was changed.
    assert response.headers["Location"] == reverse("admin:password_change")
    assert rows.values_list("password", "is_active").get() == (change.get("password", before[0]), "password" in change)
    assert not is_signed_in(client)


def test_an_account_that_is_activated_again_has_no_former_sessions_and_calendar_address(
    host: Membership, operator: Client, other_organization: Organization
):
    """A thief who has them may be the reason why it was deactivated."""
    zoe = make_member(other_organization, "zoe@globex.example")
    thief, other = sign_in("hana@acme.example"), sign_in("zoe@globex.example")
    secrets = [issue_calendar_secret(member=member) for member in (host, zoe)]
    url = admin_url(User, "change", host.user_id)

    for is_active in ("", "on"):
        operator.post(url, form_data(operator, url, is_active=is_active))

    assert User.objects.get(pk=host.user_id).is_active
    assert [is_signed_in(client) for client in (thief, other)] == [False, True]
    assert is_signed_in(sign_in("hana@acme.example"))
    calendars = zip((host, zoe), secrets, strict=True)
    paths = [urlsplit(calendar_address(member, secret)).path for member, secret in calendars]
    assert [Client().get(path).status_code for path in paths] == [404, 200]


def test_the_last_use_is_written_at_most_once_in_five_minutes(host: Membership):
    start = now()
    with time_machine.travel(start, tick=False) as clock:
        client = sign_in("hana@acme.example")
        stored = [Session.objects.get(user=host.user).session_data]
        for _ in range(3):
            clock.shift(timedelta(minutes=2))
            client.get("/admin/")
            stored.append(Session.objects.get(user=host.user).session_data)
        session = listed(client)[0]

    assert stored[0] == stored[1] == stored[2] != stored[3]
    assert (session["started_at"], session["used_at"]) == (start, start + timedelta(minutes=6))


def test_expired_sessions_are_deleted_by_the_periodic_task(host: Membership, organization: Organization):
    sign_in("hana@acme.example")
    Session.objects.update(expire_date=now() - timedelta(seconds=1))
    owner = owner_of(organization).user
    owner.set_password("secret-of-tests")
    owner.save()
    sign_in("owner@acme.example")

    app.loader.import_default_modules()
    app.tasks["organizations.prune"].apply(throw=True)

    assert [session.user for session in Session.objects.all()] == [owner]


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (FIREFOX, "Firefox on Windows"),
        (CHROME, "Chrome on Android"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) Version/18.6 Mobile Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605 Version/18 Safari/605", "Safari on macOS"),
        ("curl/8.5.0", "Unknown browser"),
        ("", "Unknown browser"),
    ],
)
def test_the_browser_is_named_in_words(user_agent: str, words: str):
    assert describe_browser(user_agent) == words
