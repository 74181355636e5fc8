"""Every address of the admin as a browser is led to it from elsewhere: without a token, by reading, in a frame, with scripts (D1, D6, D11)."""

from html.parser import HTMLParser
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.urls import reverse

from appointments.models import Appointment
from organizations.models import Membership, Organization
from tests.admin.pages import MODEL_ADMINS
from tests.admin.sample_data import create_replays, create_sample_data
from tests.factories import owner_of
from tests.hostile.routes import ADMIN_ROUTES, OTHER_ROUTES
from tests.hostile.tenants import TenantData, make_admin_client

OPEN = {
    "search",
    "set_password",
    "login",
    "view_on_site",
}  # search is none, the others are for who is not signed in yet


@pytest.fixture
def own(organization: Organization) -> TenantData:
    """Acme with one of everything, as something to fill addresses with."""
    create_sample_data(organization, "ours")
    create_replays(organization)
    return TenantData(organization)


def addresses(own: TenantData) -> list[str]:
    """Every address of the admin, about own rows."""
    return [route.build_url(values) for route in ADMIN_ROUTES for values in own.url_arguments(route)]


def tables() -> dict[str, str]:
    """What every table holds, but for sessions, as a checksum."""
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.label != "sessions.Session"]
    sums = " UNION ALL ".join(
        f"SELECT '{table}', md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) FROM \"{table}\" t"  # noqa: S608  # our own names
        for table in sorted({model._meta.db_table for model in models})
    )
    with connection.cursor() as cursor:
        cursor.execute(sums)
        return dict(cursor.fetchall())


def test_no_post_is_taken_without_its_token(own: TenantData):
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(owner_of(own.organization).user)
    before = tables()

    taken = [address for address in addresses(own) if client.post(address, {"post": "yes"}).status_code != 403]

    assert taken == []
    assert tables() == before


class ScriptReader(HTMLParser):
    """Scripts that stand in the page itself, where a strict policy does not run them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        # JSON for scripts is no script.
        if tag == "script" and "src" not in given and "json" not in (given.get("type") or ""):
            self.found.append("<script>")
        self.found += [
            name for name, value in attrs if name.startswith("on") or (value or "").startswith("javascript:")
        ]


def test_reading_changes_nothing_and_every_page_keeps_the_browsers_rules(own: TenantData):
    client = make_admin_client(owner_of(own.organization))
    before, findings = tables(), []

    for address in addresses(own):
        answer = client.get(address)
        reader = ScriptReader()
        if "html" in answer.headers.get("Content-Type", ""):
            reader.feed(answer.content.decode())
        findings += [f"{address} has {found}" for found in reader.found]
        findings += [f"{address}: {problem}" for problem in broken_rules(answer)]

    assert findings == []
    assert tables() == before


def broken_rules(answer: Any) -> list[str]:
    """What the answer's headers lack."""
    policy = answer.headers["Content-Security-Policy"]
    wanted = [
        "default-src 'none'",
        "script-src 'self' 'unsafe-eval'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    ]
    lacks = [part for part in wanted if part not in policy.split("; ")]
    headers = {"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
    lacks += [name for name, value in headers.items() if answer.headers.get(name) != value]
    return (
        lacks
        + [name for name in ("Permissions-Policy", "X-Request-Id") if name not in answer.headers]
        + ["failed"] * (answer.status_code >= 500)
    )


def test_pages_are_for_the_signed_in(own: TenantData):
    visitor = Client(raise_request_exception=False)
    closed = [route for route in ADMIN_ROUTES if route.name not in OPEN and route.name != "jsi18n"]

    for route in closed:
        for values in own.url_arguments(route):
            answer = visitor.get(route.build_url(values))
            assert (answer.status_code, own.words_in(answer, values.values())) == (302, []), route.pattern


@pytest.mark.parametrize("path", ["/api/external/statuses", "/api/schema", "/healthz", "/nothing", "/api/nothing"])
def test_what_is_no_page_may_do_nothing_in_a_browser(path: str, db: None):
    answer = Client().get(path)

    assert (
        answer.headers["Content-Security-Policy"]
        == "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def test_the_interfaces_own_page_runs_no_script_of_its_own_text(db: None):
    page = Client().get("/api/docs")
    reader = ScriptReader()
    reader.feed(page.content.decode())

    assert reader.found == []
    assert "script-src 'self';" in page.headers["Content-Security-Policy"]
    assert "unsafe-eval" not in page.headers["Content-Security-Policy"]


def test_other_addresses_lead_somewhere(db: None):
    ways = {f"/{route.pattern}": Client().get(f"/{route.pattern}") for route in OTHER_ROUTES}

    assert {path: (answer.status_code, answer.headers.get("Location")) for path, answer in ways.items()} == {
        "/": (302, "/admin/"),
        "/admin": (302, "/admin/"),
        "/favicon.ico": (302, "/static/pipeline_backend/icon.svg"),
        "/healthz": (200, None),
        "/readyz": (200, None),
    }


def test_a_page_for_every_model_or_a_place_on_one(own: TenantData):
    request = make_admin_client(owner_of(own.organization)).get("/admin/").wsgi_request
    call = Appointment.objects.of(own.organization).first()
    shown = {page.model for page in MODEL_ADMINS} | {
        inline.model for page in MODEL_ADMINS for inline in [*page.inlines, *page.get_inlines(request, call)]
    }

    without = {model.__name__ for model in own.rows if model not in shown}
    assert without == {
        "MailPreference",
        "Replay",
        "RowCount",
    }  # a button of the member's page; a part of the endpoint's; a number that lists show


def test_signing_in_gives_a_new_session_and_a_new_password_ends_all(host: Membership):
    host.user.set_password("correct horse battery")
    host.user.save()
    thief, person = Client(), Client()
    thief.get(reverse("admin:login"))
    person.cookies = thief.cookies
    fixed = person.session.session_key
    answer = person.post(reverse("admin:login"), {"username": host.user.email, "password": "correct horse battery"})
    cookie = answer.cookies["sessionid"]
    elsewhere = make_admin_client(host)

    host.user.set_password("another horse battery")
    host.user.save()

    assert (answer.status_code, cookie.value != fixed, bool(cookie["httponly"]), cookie["samesite"]) == (
        302,
        True,
        True,
        "Lax",
    )
    assert [client.get("/admin/").status_code for client in (person, elsewhere)] == [302, 302]


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example", "http:///evil.example", "javascript:alert(1)", "\\\\evil.example"],
)
def test_after_signing_in_nobody_is_led_elsewhere(target: str, host: Membership):
    answer = Client().post(
        f"{reverse('admin:login')}?next={target}",
        {"username": host.user.email, "password": "secret-of-tests", "next": target},
    )

    assert (answer.status_code, answer.headers["Location"]) == (302, "/admin/")


@pytest.mark.parametrize("host_name", ["evil.example", "testserver.evil.example", "testserver@evil.example"])
def test_a_host_that_is_not_ours_is_refused(host_name: str, db: None):
    assert Client().get("/admin/login/", headers={"host": host_name}).status_code == 400
