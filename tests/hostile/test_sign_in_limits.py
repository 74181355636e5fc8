"""Guessing passwords: limits that no spelling passes, that shut nobody out and that tell nothing (U8, U9)."""

import threading
import time
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core import signing
from django.test import Client
from django.urls import reverse

from accounts import passwords
from accounts.mail import SECURITY_NOTICES
from accounts.passwords import BoundedPBKDF2PasswordHasher, hashing_for, hashing_slot
from accounts.sign_in_limits import COOKIE, SALT
from organizations.models import MemberRole, Membership, Organization, SecurityEvent, SecurityNotice, User
from tests.accounts import choose_password, deliver_mail, links_mailed_to, request_reset, run_together
from tests.factories import make_member

pytestmark = pytest.mark.usefixtures("stopped_clock")

PASSWORD = "secret-of-tests"
REFUSED, WRONG = "Too many attempts", "Please enter the correct"


def sign_in(email: str, password: str = WRONG, *, address: str = "192.0.2.1", client: Client | None = None) -> str:
    """Send the sign-in form from this address; return "in", or the part of the page that tells the refusal."""
    client = client or Client()
    response = client.post(reverse("admin:login"), {"username": email, "password": password}, REMOTE_ADDR=address)
    if response.status_code == 302:
        return "in"
    page = response.content.decode()
    return next((text for text in (REFUSED, WRONG) if text in page), f"{response.status_code}")


def sign_in_often(email: str, times: int = 10, *, start: int = 1) -> set[str]:
    """Try wrong passwords, each from another address; return the distinct answers."""
    return {sign_in(email, address=f"198.51.100.{number}") for number in range(start, start + times)}


@pytest.mark.parametrize(
    "spelling",
    [
        "OLIVIA@acme.example",
        " olivia@acme.example",
        "olıvia@acme.example",
        "ｏｌｉｖｉａ@acme.example",
        "olivia@ACME.example",
    ],
)
def test_no_spelling_passes_an_accounts_limit(spelling: str, organization: Organization):
    make_member(organization, "olivia@acme.example")

    first = sign_in_often("olivia@acme.example")
    then = sign_in(spelling)

    assert (first, then) == ({WRONG}, REFUSED)


@pytest.mark.parametrize("spelling", ["NOBODY@acme.example", "nobody@acme.example ", "ｎｏｂｏｄｙ@acme.example"])
def test_an_address_without_an_account_has_the_same_limit_for_all_spellings(spelling: str, organization: Organization):
    first = sign_in_often("nobody@acme.example")
    then = sign_in(spelling)

    assert (first, then) == ({WRONG}, REFUSED)


def test_a_client_over_its_own_limit_uses_up_no_account(host: Membership):
    for number in range(10):
        sign_in(f"somebody-{number}@acme.example", address="192.0.2.66")

    refused = {sign_in(host.user.email, address="192.0.2.66") for _ in range(15)}

    assert refused == {REFUSED}
    assert sign_in(host.user.email, PASSWORD) == "in"


def test_an_address_that_only_fails_is_refused_sooner_than_one_with_a_success(host: Membership):
    failing, office = "192.0.2.66", "192.0.2.10"
    sign_in(host.user.email, PASSWORD, address=office)

    counts = {
        address: sum(sign_in(f"somebody-{number}@acme.example", address=address) == WRONG for number in range(32))
        for address in (failing, office)
    }

    assert counts == {failing: 10, office: 30}


def test_wrong_passwords_from_the_same_address_do_not_keep_a_known_browser_out(host: Membership):
    office, own = "192.0.2.10", Client()
    sign_in(host.user.email, PASSWORD, client=own, address=office)
    own.cookies.pop("sessionid")

    attacked = [sign_in(host.user.email, address=office) for _ in range(40)]

    # The account's limit of ten, which the first sign-in counts against.
    assert attacked == [WRONG] * 9 + [REFUSED] * 31
    assert sign_in("nobody@acme.example", address=office) == REFUSED
    assert sign_in(host.user.email, PASSWORD, address=office) == REFUSED
    assert sign_in(host.user.email, PASSWORD, client=own, address=office) == "in"


def test_attempts_of_a_known_browser_do_not_count_against_its_address(host: Membership):
    office, own = "192.0.2.10", Client()
    sign_in(host.user.email, PASSWORD, client=own, address=office)

    guesses = {sign_in(host.user.email, client=own, address=office) for _ in range(40)}
    others = [sign_in(f"somebody-{number}@acme.example", address=office) for number in range(29)]

    assert guesses == {WRONG, REFUSED}
    assert others == [WRONG] * 29


def test_a_browser_that_has_signed_in_before_passes_the_accounts_limit(host: Membership):
    own = Client()
    assert sign_in(host.user.email, PASSWORD, client=own) == "in"
    own.cookies.pop("sessionid")

    attacked = [sign_in_often(host.user.email, 9), sign_in_often(host.user.email, 5, start=100)]

    assert attacked == [{WRONG}, {REFUSED}]
    assert sign_in(host.user.email, PASSWORD) == REFUSED
    assert sign_in(host.user.email, PASSWORD, client=own) == "in"


def test_a_browser_with_which_a_person_has_chosen_a_new_password_passes_the_accounts_limit(host: Membership):
    new_password, own = "another horse battery", Client()
    sign_in_often(host.user.email)
    assert sign_in(host.user.email, PASSWORD, client=own) == REFUSED

    request_reset(host.user.email)
    deliver_mail()
    choose_password(links_mailed_to(host.user.email)[-1], new_password, own)

    assert sign_in(host.user.email, new_password) == REFUSED
    assert sign_in(host.user.email, new_password, client=own) == "in"


def test_a_known_browser_can_ask_for_a_reset_whatever_others_behind_its_address_ask_for(host: Membership):
    own, stranger = Client(), Client()
    sign_in(host.user.email, PASSWORD, client=own)
    forms = [{"email": f"somebody-{number}@acme.example"} for number in range(11)]

    asked = [stranger.post("/admin/password-reset/", form).status_code for form in forms]

    assert asked == [302] * 10 + [200]
    assert own.post("/admin/password-reset/", {"email": host.user.email}).status_code == 302


def test_a_persons_browsers_ask_for_ten_resets_a_minute_together(host: Membership):
    browsers = [Client() for _ in range(3)]
    for browser in browsers:
        sign_in(host.user.email, PASSWORD, client=browser)
    forms = [{"email": f"somebody-{number}@acme.example"} for number in range(12)]

    asked = [browsers[number % 3].post("/admin/password-reset/", form).status_code for number, form in enumerate(forms)]

    assert asked == [302] * 10 + [200] * 2


def test_a_link_that_is_used_up_makes_no_browser_known(host: Membership):
    request_reset(host.user.email)
    deliver_mail()
    link = links_mailed_to(host.user.email)[-1]
    first, thief = Client(), Client()
    page = thief.get(link, follow=True)
    choose_password(link, PASSWORD, first)

    thief.post(page.request["PATH_INFO"], {"new_password1": PASSWORD, "new_password2": PASSWORD})

    assert (COOKIE in first.cookies, COOKIE in thief.cookies) == (True, False)


def test_a_known_browser_has_a_limit_of_its_own(host: Membership):
    own = Client()
    sign_in(host.user.email, PASSWORD, client=own)

    guesses = [sign_in(host.user.email, client=own, address=f"198.51.100.{number}") for number in range(12)]

    assert guesses == [WRONG] * 10 + [REFUSED] * 2
    assert sign_in(host.user.email, PASSWORD) == "in"


def test_a_known_browser_passes_no_other_accounts_limit_and_is_not_signed_in_by_its_cookie(
    host: Membership, organization: Organization
):
    other = make_member(organization, "oscar@acme.example")
    thief = Client()
    own = Client()
    sign_in(host.user.email, PASSWORD, client=own)
    thief.cookies[COOKIE] = own.cookies[COOKIE].value

    sign_in_often(other.user.email)

    assert sign_in(other.user.email, PASSWORD, client=thief) == REFUSED
    assert thief.get("/admin/").status_code == 302
    assert (bool(own.cookies[COOKIE]["httponly"]), own.cookies[COOKIE]["samesite"]) == (True, "Lax")


def test_a_browser_can_be_known_for_several_accounts(host: Membership, organization: Organization):
    other = make_member(organization, "oscar@acme.example")
    shared = Client()
    sign_in(host.user.email, PASSWORD, client=shared)
    shared.cookies.pop("sessionid")
    sign_in(other.user.email, PASSWORD, client=shared)
    shared.cookies.pop("sessionid")

    for email in (host.user.email, other.user.email):
        sign_in_often(email, start=1 if email == host.user.email else 50)

    assert [sign_in(email, PASSWORD, client=shared) for email in (host.user.email, other.user.email)] == ["in", "in"]


@pytest.mark.parametrize("kind", ["forged", "other key", "other account", "nonsense", "old password"])
def test_a_cookie_that_is_not_ours_or_from_before_a_new_password_passes_nothing(kind: str, host: Membership):
    own = Client()
    sign_in(host.user.email, PASSWORD, client=own)
    value = own.cookies[COOKIE].value
    browser, digests = signing.loads(value, salt=SALT)
    if kind == "old password":
        host.user.set_password("another horse battery")
        host.user.save()
    cookies = {
        "forged": value[:-1] + ("A" if value[-1] != "A" else "B"),
        "other key": signing.dumps([browser, digests], salt=SALT, key="x" * 50),
        "other account": signing.dumps([browser, {"someone": digests[host.user_id]}], salt=SALT),
        "nonsense": "x:y:z\udcff".encode(errors="ignore").decode(),
        "old password": value,
    }
    client = Client()
    client.cookies[COOKIE] = cookies[kind]

    sign_in_often(host.user.email)

    password = "another horse battery" if kind == "old password" else PASSWORD
    assert sign_in(host.user.email, password, client=client) == REFUSED


def test_an_unknown_account_costs_the_same_work_and_gets_the_same_answers(
    host: Membership, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    inactive = make_member(host.organization, "ina@acme.example").user
    User.objects.filter(pk=inactive.pk).update(is_active=False)
    User.objects.create_user("nopassword@acme.example")
    emails = [host.user.email, inactive.email, "nopassword@acme.example", "nobody@acme.example"]
    settings.PASSWORD_HASHERS = ["tests.hostile.test_sign_in_limits.CountingHasher"]
    # Passwords of the factories have another hasher's format, so each account gets one of this.
    for user in (host.user, inactive):
        user.set_password(PASSWORD)
        user.save()

    work, answers = {}, {}
    for email in emails:
        CountingHasher.count = 0
        answers[email] = [sign_in(email, address=f"203.0.113.{number}") for number in range(12)]
        work[email] = CountingHasher.count

    assert set(map(tuple, answers.values())) == {(WRONG,) * 10 + (REFUSED,) * 2}
    assert set(work.values()) == {10}


class CountingHasher(PBKDF2PasswordHasher):
    """Counts the hashes; fast."""

    iterations = 1
    count = 0

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        CountingHasher.count += 1
        encoded: str = super().encode(password, salt, iterations)
        return encoded


def change_password(client: Client, old: str) -> str:
    """Send the page for changing the password; return "changed", or the part of the page that tells the refusal."""
    new = {"new_password1": "correct horse battery", "new_password2": "correct horse battery"}
    response = client.post(reverse("admin:password_change"), {"old_password": old, **new})
    if response.status_code == 302:
        return "changed"
    page = response.content.decode()
    return next((text for text in (REFUSED, "The password is wrong.") if text in page), "?")


def test_a_stolen_session_cannot_guess_the_password_without_end(host: Membership):
    stolen, own = Client(), Client()
    stolen.force_login(host.user)
    sign_in(host.user.email, PASSWORD, client=own)

    guesses, counts = [], []
    for number in range(7):
        guesses.append(change_password(stolen, f"guess {number}"))
        counts.append(SecurityNotice.objects.filter(user=host.user).count())
    right = change_password(stolen, PASSWORD)

    assert guesses == ["The password is wrong."] * 5 + [REFUSED] * 2
    assert right == REFUSED
    assert User.objects.get(pk=host.user_id).check_password(PASSWORD)
    # The person gets one e-mail, after the third.
    assert counts == [0, 0, 1, 1, 1, 1, 1]
    notices = SecurityNotice.objects.filter(user=host.user).select_related("event")
    assert [SECURITY_NOTICES.render(notice).subject for notice in notices] == [
        "Security notice: Someone who is signed in to your account entered several wrong passwords"
    ]
    # The person isn't shut out of the page either.
    assert own.get("/admin/").status_code == 200
    assert change_password(own, PASSWORD) == "changed"


@pytest.mark.django_db(transaction=True)
def test_simultaneous_guesses_in_a_stolen_session_are_mailed_too(organization: Organization):
    user = make_member(organization, "hana@acme.example").user
    clients = [Client() for _ in range(5)]
    for client in clients:
        client.force_login(user)
        client.get("/admin/")

    run_together(*(partial(change_password, client, "guess") for client in clients))

    assert SecurityEvent.objects.filter(user=user, kind="sign_in_failed").count() == 5
    assert SecurityNotice.objects.filter(user=user).count() == 1


def test_after_changing_the_password_the_browser_stays_signed_in_and_known(host: Membership):
    own = Client()
    sign_in(host.user.email, PASSWORD, client=own)

    changed = change_password(own, PASSWORD)
    page = own.get("/admin/").status_code
    own.cookies.pop("sessionid")
    sign_in_often(host.user.email)

    assert (changed, page) == ("changed", 200)
    assert sign_in(host.user.email, "correct horse battery", client=own) == "in"


def test_a_person_has_a_limit_on_requests_in_the_admin(host: Membership, organization: Organization, settings: Any):
    settings.ADMIN_REQUESTS_PER_MINUTE = 3
    client, again, other = Client(), Client(), Client()
    client.force_login(host.user)
    again.force_login(host.user)
    other.force_login(make_member(organization, "oscar@acme.example", role=MemberRole.OWNER).user)

    responses = [client.get("/admin/") for _ in range(4)]

    assert [response.status_code for response in responses] == [200, 200, 200, 429]
    assert 1 <= int(responses[3].headers["Retry-After"]) <= 60
    assert "Too many requests" in responses[3].content.decode()
    assert again.get("/admin/").status_code == 429
    assert other.get("/admin/").status_code == 200


class SlowHasher(PBKDF2PasswordHasher):
    """Takes as long as a hash in production, without using the processor."""

    iterations = 1

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        time.sleep(0.3)
        encoded: str = super().encode(password, salt, iterations)
        return encoded


class SlowBoundedHasher(BoundedPBKDF2PasswordHasher, SlowHasher):
    """The service's hasher with its bound."""


@pytest.fixture
def slow_hasher(settings: Any) -> None:
    """Let each hash take 0.3 s; passwords are changed to its format by `set_password`."""
    settings.PASSWORD_HASHERS = ["tests.hostile.test_sign_in_limits.SlowBoundedHasher"]


@pytest.mark.django_db(transaction=True)
def test_six_people_who_sign_in_at_once_all_get_in(organization: Organization, slow_hasher: None):
    emails = [f"person-{number}@acme.example" for number in range(6)]
    for email in emails:
        user = make_member(organization, email).user
        user.set_password(PASSWORD)
        user.save()
    answers: dict[str, str] = {}

    def sign_in_as(number: int, email: str) -> None:
        answers[email] = sign_in(email, PASSWORD, address=f"192.0.2.{number}")

    run_together(*(partial(sign_in_as, number, email) for number, email in enumerate(emails)))

    assert answers == dict.fromkeys(emails, "in")


def test_strangers_whose_passwords_are_hashed_do_not_keep_a_known_browser_waiting(
    host: Membership, slow_hasher: None, monkeypatch: pytest.MonkeyPatch
):
    host.user.set_password(PASSWORD)
    host.user.save()
    own, stranger = Client(), Client(raise_request_exception=False)
    sign_in(host.user.email, PASSWORD, client=own)
    own.cookies.pop("sessionid")
    monkeypatch.setattr(passwords, "SECONDS_TO_WAIT", 0.1)

    with hashing_for(stranger=True), hashing_slot():
        refused = stranger.post(reverse("admin:login"), {"username": host.user.email, "password": PASSWORD})
        known = sign_in(host.user.email, PASSWORD, client=own)
    then = sign_in(host.user.email, PASSWORD)

    assert refused.status_code == 429
    assert (refused.headers["Retry-After"], "Try again in a moment" in refused.content.decode()) == ("5", True)
    assert "sessionid" not in stranger.cookies
    assert (known, then) == ("in", "in")


def test_a_new_password_that_had_to_wait_for_others_can_be_sent_again(
    host: Membership, slow_hasher: None, monkeypatch: pytest.MonkeyPatch
):
    request_reset(host.user.email)
    deliver_mail()
    [link] = links_mailed_to(host.user.email)
    client, new = Client(), {"new_password1": "correct horse battery", "new_password2": "correct horse battery"}
    path = client.get(link, follow=True).request["PATH_INFO"]
    monkeypatch.setattr(passwords, "SECONDS_TO_WAIT", 0.1)

    with hashing_slot():
        refused = client.post(path, new)
    then = client.post(path, new)

    assert (refused.status_code, "Try again in a moment" in refused.content.decode()) == (429, True)
    assert then.status_code == 302
    assert User.objects.get(pk=host.user_id).check_password("correct horse battery")


@pytest.mark.parametrize("is_stranger", [True, False])
def test_a_process_hashes_one_password_of_each_kind_at_a_time(is_stranger: bool):
    running, most = 0, 0
    lock = threading.Lock()

    def hash_password() -> None:
        nonlocal running, most
        with hashing_for(stranger=is_stranger), hashing_slot():
            with lock:
                running, most = running + 1, max(most, running + 1)
            threading.Event().wait(0.01)
            with lock:
                running -= 1

    threads = [threading.Thread(target=hash_password) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == 1


def test_a_long_name_is_refused_before_it_is_normalized(db: None):
    """Two marks in alternation make the time grow with the square of the length: minutes for 1 MiB."""
    name = "a" + "\u0301\u0327" * 20_000

    response = Client().post(reverse("admin:login"), {"username": name, "password": PASSWORD})

    assert "Ensure this value has at most 254 characters" in response.content.decode()
    assert not SecurityEvent.objects.exists()
