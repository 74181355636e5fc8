"""Every URL of the admin against attacks through a browser: CSRF, framing, scripts, open redirects, stolen sessions."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.urls import reverse

from appointments.models import Appointment
from organizations.models import Membership, Organization, SecurityEvent
from tests.factories import owner_of
from tests.hostile.input_counter import count_inputs
from tests.hostile.routes import ADMIN_ROUTES, OTHER_ROUTES
from tests.hostile.tenants import TenantData, make_admin_client
from tests.staff.pages import MODEL_ADMINS
from tests.staff.sample_data import create_replays, create_sample_data

# Pages for visitors who aren't logged in. "search" isn't a page, and "logout" takes only POST.
PUBLIC = {"search", "logout", "login", "jsi18n"} | {
    "invitation",
    "admin_password_reset",
    "password_reset_done",
    "admin_password_reset_confirm",
}

CONTENT_SECURITY_POLICY = {
    "default-src 'none'",
    "script-src 'self' 'unsafe-eval'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
}
HEADERS = {"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}


@pytest.fixture
def own_data(organization: Organization) -> TenantData:
    """Acme's data, with a row of every model to fill URLs with."""
    create_sample_data(organization, "ours")
    create_replays(organization)
    return TenantData(organization)


def admin_urls(own_data: TenantData) -> list[str]:
    """Return every URL of the admin, with ids of own rows."""
    return [route.build_url(values) for route in ADMIN_ROUTES for values in own_data.url_arguments(route)]


def table_checksums() -> dict[str, str]:
    """Return a checksum of every table except sessions."""
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.label != "sessions.Session"]
    query = " UNION ALL ".join(
        f"SELECT '{table}', md5(coalesce(string_agg(row::text, '' ORDER BY row::text), '')) FROM \"{table}\" AS row"  # noqa: S608  # table names of models
        for table in sorted({model._meta.db_table for model in models})
    )
    with connection.cursor() as cursor:
        cursor.execute(query)
        return dict(cursor.fetchall())


def test_every_post_without_a_csrf_token_is_refused(own_data: TenantData):
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(owner_of(own_data.organization).user)
    client.get("/admin/")  # the first page notes in the session when it is used, and others do five minutes later
    before = table_checksums()

    others = [url for url in admin_urls(own_data) if client.post(url, {"post": "yes"}).status_code != 403]

    assert others == ["/admin/login/"]  # which leads a signed-in person to Home, and signs no one in
    assert table_checksums() == before


class InlineScriptParser(HTMLParser):
    """Collects scripts within the page's own text, which a strict Content-Security-Policy does not run."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        # A script element with JSON is data and never runs.
        if tag == "script" and "src" not in attributes and "json" not in (attributes.get("type") or ""):
            self.scripts.append("<script>")
        self.scripts += [
            name for name, value in attrs if name.startswith("on") or (value or "").startswith("javascript:")
        ]


URLENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
FILE = '--b\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\nx\r\n'
UNREADABLE_FORMS = {
    "fields": (URLENCODED, "a=1&" * 16_000),
    "parts": (MULTIPART, '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n' * 1_001 + "--b--"),
    "files": (MULTIPART, FILE * 101 + "--b--"),
    "bytes": (URLENCODED, "a=" + "1" * 1024 * 1024),
    "an encoding": (f"{URLENCODED}; charset=latin-1", "a=1"),
    "no boundary": ("multipart/form-data", "a=1"),
}
PAGES_OF_VISITORS = "/admin/login/", "/admin/password-reset/", "/admin/leads/lead/add/"


@pytest.mark.parametrize("cookies", [{}, {"csrftoken": "a" * 32}], ids=["without a cookie", "with a cookie"])
@pytest.mark.parametrize(("content_type", "body"), UNREADABLE_FORMS.values(), ids=UNREADABLE_FORMS)
def test_a_form_that_django_does_not_read_is_400_and_leaves_nothing_in_the_log(
    content_type: str,
    body: str,
    cookies: dict[str, str],
    db: None,
    caplog: pytest.LogCaptureFixture,
    measurements: dict[str, str],
) -> None:
    """Django reads it before any view, to check the token of the form."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.cookies.load(cookies)
    count_inputs(measurements, "bodies", len(PAGES_OF_VISITORS))

    responses = [client.generic("POST", path, body, content_type) for path in PAGES_OF_VISITORS]

    assert [record.getMessage() for record in caplog.records if record.exc_info or record.levelname == "ERROR"] == []
    assert [response.status_code for response in responses] == [400] * len(PAGES_OF_VISITORS)
    assert all(b"This form is not valid" in response.content for response in responses)


def test_get_changes_nothing_and_every_page_has_security_headers_and_no_inline_script(own_data: TenantData):
    client = make_admin_client(owner_of(own_data.organization))
    client.get("/admin/")  # the first page notes in the session when it is used, and others do five minutes later
    before, problems = table_checksums(), []

    for url in admin_urls(own_data):
        response = client.get(url)
        parser = InlineScriptParser()
        if "html" in response.headers.get("Content-Type", ""):
            parser.feed(response.content.decode())
        problems += [f"{url} has {script}" for script in parser.scripts]
        problems += [f"{url}: {problem}" for problem in response_problems(response)]
        b"".join(response)  # a file's response closes it after its last part

    assert problems == []
    log = SecurityEvent._meta.db_table  # has an entry for each export
    assert table_checksums() | {log: before[log]} == before


def response_problems(response: Any) -> list[str]:
    """Return the security headers that are missing or wrong, and "failed" for a server error."""
    missing = sorted(CONTENT_SECURITY_POLICY - set(response.headers["Content-Security-Policy"].split("; ")))
    missing += [name for name, value in HEADERS.items() if response.headers.get(name) != value]
    missing += [name for name in ("Permissions-Policy", "X-Request-Id") if name not in response.headers]
    missing += ["Cache-Control"] * ("no-store" not in response.headers.get("Cache-Control", ""))
    return missing + ["failed"] * (response.status_code >= 500)


def test_every_page_requires_a_login(own_data: TenantData):
    visitor = Client(raise_request_exception=False)

    for route in ADMIN_ROUTES:
        if route.name in PUBLIC:
            continue
        for values in own_data.url_arguments(route):
            response = visitor.get(route.build_url(values))
            revealed = own_data.words_in(response, values.values())
            assert (response.status_code, revealed) == (302, []), route.pattern


@pytest.mark.parametrize("path", ["/api/external/statuses", "/api/schema", "/healthz", "/nothing", "/api/nothing"])
def test_a_response_that_is_not_a_page_may_load_and_run_nothing(path: str, db: None):
    policy = Client().get(path).headers["Content-Security-Policy"]

    assert policy == "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def test_the_api_documentation_page_runs_no_inline_script(db: None):
    response = Client().get("/api/docs")
    parser = InlineScriptParser()
    parser.feed(response.content.decode())

    assert parser.scripts == []
    assert "script-src 'self';" in response.headers["Content-Security-Policy"]
    assert "unsafe-eval" not in response.headers["Content-Security-Policy"]


def test_the_start_page_needs_no_database_and_runs_no_script():
    response = Client().get("/")  # without the fixture `db` a query would fail

    policy = response.headers["Content-Security-Policy"]
    assert response.status_code == 200
    assert "default-src 'none'" in policy
    assert "style-src 'self'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy


def test_the_start_page_links_to_pages_that_exist(db: None):
    links = re.findall('<a href="([^"]+)"', Client().get("/").content.decode())

    assert links == ["/api/docs/", "/api/docs", "/api/schema", "/admin/", "/healthz"]
    assert [Client().get(link).status_code for link in links] == [200, 200, 200, 302, 200]


def test_urls_outside_the_admin_and_the_api_respond(db: None):
    responses = {f"/{route.pattern}": Client().get(f"/{route.pattern}") for route in OTHER_ROUTES}

    assert {path: (response.status_code, response.headers.get("Location")) for path, response in responses.items()} == {
        "/": (200, None),
        "/admin": (302, "/admin/"),
        "/calendar/<uuid:organization_id>/<str:secret>.ics": (404, None),
        "/favicon.ico": (302, "/static/staff/icon.svg"),
        "/healthz": (200, None),
        "/llms.txt": (200, None),
        "/readyz": (200, None),
        "/unsubscribe/<str:token>": (404, None),
        "/unsubscribe/invitation/<str:token>": (404, None),
        "/unsubscribe/lead/<str:token>": (404, None),
    }


def test_every_model_is_shown_on_a_page_of_its_own_or_another_models(own_data: TenantData):
    request = make_admin_client(owner_of(own_data.organization)).get("/admin/").wsgi_request
    appointment = Appointment.objects.of(own_data.organization).first()
    shown = {model_admin.model for model_admin in MODEL_ADMINS} | {
        inline.model
        for model_admin in MODEL_ADMINS
        for inline in [*model_admin.inlines, *model_admin.get_inlines(request, appointment)]
    }

    # A button on the member's page, a limit's counts, a part of the endpoint's page, totals of lists, and their tabs.
    hidden = {"MailPreference", "ReceivingHost", "Replay", "RowCount", "SavedView"}
    hidden |= {"DayCount", "ChangedDay", "ChangedLead"}  # the numbers of reports
    # Entries of timelines, and parts of the pages of imports, duplicates and merged leads.
    hidden |= {"LeadStatusChange", "LeadChange", "OutcomeChange", "AppointmentChange", "FormerReference"}
    hidden |= {"NextStep"}
    # Rows that only the API writes and reads.
    hidden |= {"DeletedLeadNote", "DeletedNote", "RememberedCancellation", "StoredResponse"}
    hidden |= {"ImportRow", "ImportUndo", "ImportColumn", "ImportTurn", "DuplicateSearch", "LeadMerge", "Erasure"}
    hidden |= {"UndoneMerge", "ErasedReference"}
    hidden |= {"LeadRetention"}  # a line and a button of the organization's page
    assert {model.__name__ for model in own_data.rows if model not in shown} == hidden


def test_a_login_starts_a_new_session_and_a_new_password_ends_all_sessions(host: Membership):
    host.user.set_password("correct horse battery")
    host.user.save()
    attacker, user = Client(), Client()
    attacker.get(reverse("admin:login"))
    user.cookies = attacker.cookies  # session fixation: the user logs in with a session that the attacker knows
    fixed_key = user.session.session_key
    response = user.post(reverse("admin:login"), {"username": host.user.email, "password": "correct horse battery"})
    cookie = response.cookies["sessionid"]
    other_device = make_admin_client(host)

    host.user.set_password("another horse battery")
    host.user.save()

    assert response.status_code == 302
    assert cookie.value != fixed_key
    assert (bool(cookie["httponly"]), cookie["samesite"]) == (True, "Lax")
    assert [client.get("/admin/").status_code for client in (user, other_device)] == [302, 302]


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example", "http:///evil.example", "javascript:alert(1)", "\\\\evil.example"],
)
def test_a_login_never_redirects_to_another_site(target: str, host: Membership):
    response = Client().post(
        f"{reverse('admin:login')}?next={target}",
        {"username": host.user.email, "password": "secret-of-tests", "next": target},
    )

    assert (response.status_code, response.headers["Location"]) == (302, "/admin/")


@pytest.mark.parametrize("host_name", ["evil.example", "testserver.evil.example", "testserver@evil.example"])
def test_an_unknown_host_header_is_refused(host_name: str, db: None):
    assert Client().get("/admin/login/", headers={"host": host_name}).status_code == 400
