"""What pages and lists weigh on the wire, as the real web server sends them with collected static files."""

import gzip
import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
import unfold
from django.conf import settings
from django.test import Client
from django.utils import timezone

from appointments.models import Appointment
from organizations.models import ApiKey, Membership, Organization, User
from tests.client import ApiClient
from tests.factories import owner_of
from tests.faults.stack import ROOT, Stack
from tests.staff.forms import form_data
from tests.staff.pages import TENANT_MODEL_ADMINS, admin_url, list_url, logged_in_client

KB = 1000
PAGE = list_url(Appointment)
LIST = "/api/external/appointments"
FILE_IN_PAGE = re.compile(r'<(?:script|link|img)\b[^>]*?\b(?:src|href)="(/static/[^"]+)"')
ICONS = ROOT / "staff/static/unfold/fonts/material-symbols"
ICON_TEXT = re.compile(r"material-symbols-outlined[^>]*>([^<]*)<")
TEMPLATE_TAG = re.compile(r"{[{%].*?[%}]}")
FILE_IN_STYLES = re.compile(r"""url\(["']?([^"')]+)""")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def stack(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Collect the static files as the image does, and start the web server with them."""
    with Stack(tmp_path_factory.mktemp("weight")) as stack:
        stack.settings["STATIC_ROOT"] = str(stack.folder / "static")
        collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
        subprocess.run(collect, cwd=ROOT, env={**os.environ, **stack.environment("web")}, check=True)
        stack.start("web")
        yield stack


class Browser:
    """Requests that accept gzip; `weight` is the number of bytes received for them, with the headers."""

    def __init__(self, stack: Stack, **headers: str) -> None:
        self.port, self.weight = stack.port, 0
        self.headers = {"Accept-Encoding": "gzip, deflate", **headers}

    def get(self, path: str, method: str = "GET") -> tuple[http.client.HTTPResponse, str]:
        """Return the response and its text, decompressed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, headers=self.headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        assert response.status == 200, (path, response.status)
        assert method == "HEAD" or int(response.headers["Content-Length"]) == len(body)
        self.weight += len(response.headers.as_bytes()) + len(body)
        if response.headers["Content-Encoding"] == "gzip" and body:
            body = gzip.decompress(body)
        return response, body.decode(errors="replace")


def signed_in(stack: Stack, member: Membership) -> Browser:
    """Return a browser that is signed in as the member."""
    cookie = logged_in_client(member).cookies[settings.SESSION_COOKIE_NAME].value
    return Browser(stack, Cookie=f"{settings.SESSION_COOKIE_NAME}={cookie}")


@pytest.fixture
def appointments(organization: Organization, api: ApiClient) -> None:
    """Book fifty appointments."""
    for number in range(50):
        api.book(external_reference=f"ref-{number}", lead_email=f"lead{number}@example.com")


@pytest.mark.usefixtures("appointments")
def test_a_list_of_fifty_is_light_and_its_files_are_loaded_once(stack: Stack, organization: Organization):
    browser = signed_in(stack, owner_of(organization))
    page, html = browser.get(PAGE)
    warm, files, uncacheable = browser.weight, FILE_IN_PAGE.findall(html), []
    for path in files:  # grows: styles load fonts
        response, text = browser.get(path)
        if "immutable" not in response.headers["Cache-Control"]:
            uncacheable.append(path)
        if path.endswith(".css"):
            files += [urljoin(path, name) for name in FILE_IN_STYLES.findall(text) if not name.startswith("data:")]

    assert html.count("lead4") >= 10  # all fifty are on the page
    assert page.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in page.headers["Vary"]
    assert (len(files) > 10, uncacheable) == (True, [])
    assert warm < 60 * KB
    assert browser.weight < 350 * KB


@pytest.mark.usefixtures("appointments")
def test_the_home_page_is_light(stack: Stack, organization: Organization):
    browser = signed_in(stack, owner_of(organization))

    _, html = browser.get("/admin/?days=90")

    assert 'data-rows="50"' in html  # the bookings of today
    assert browser.weight < 40 * KB


@pytest.mark.usefixtures("appointments")
def test_the_reports_page_is_light(stack: Stack, organization: Organization):
    browser = signed_in(stack, owner_of(organization))

    _, html = browser.get("/admin/reports/?days=90&by=utm_campaign")

    assert 'data-rows="50"' in html
    assert browser.weight < 40 * KB


@pytest.mark.usefixtures("appointments")
def test_the_api_compresses_long_responses_for_clients_that_ask(stack: Stack, api: ApiClient):
    asks, plain = (
        Browser(stack, **{"X-API-Key": api.key, "Accept-Encoding": encoding}) for encoding in ("gzip", "identity")
    )
    compressed, text = asks.get(f"{LIST}?limit=50")
    uncompressed, same_text = plain.get(f"{LIST}?limit=50")
    short, _ = asks.get("/readyz")
    head, _ = asks.get(f"{LIST}?limit=50", "HEAD")

    encodings = [response.headers["Content-Encoding"] for response in (compressed, head, uncompressed, short)]
    assert (encodings, text) == (["gzip", "gzip", None, None], same_text)
    assert all("Accept-Encoding" in response.headers["Vary"] for response in (compressed, uncompressed))
    assert compressed.headers["Content-Type"] == uncompressed.headers["Content-Type"] == "application/json"
    assert asks.weight < plain.weight / 3


def test_a_static_file_is_compressed_only_for_clients_that_accept_it(stack: Stack):
    asks, refuses = (Browser(stack, **{"Accept-Encoding": header}) for header in ("gzip", "gzip;q=0"))
    _, page = asks.get("/admin/login/")
    path = next(path for path in FILE_IN_PAGE.findall(page) if "/unfold/css/styles" in path)

    compressed, text = asks.get(path)
    plain, same_text = refuses.get(path)

    encodings = [response.headers["Content-Encoding"] for response in (compressed, plain)]
    assert (encodings, text) == (["gzip", None], same_text)


def test_pages_with_secrets_are_not_compressed(owner: Client):
    User.objects.update(email_verified_at=timezone.now())
    gzip_please = {"Accept-Encoding": "gzip"}
    form = owner.get(admin_url(ApiKey, "add"), headers=gzip_please)
    fields = form_data(owner, admin_url(ApiKey, "add"), name="Zapier")
    key = owner.post(admin_url(ApiKey, "add"), fields, headers=gzip_please)
    enrolment = owner.post("/admin/account/two-factor/", {"start": "yes"}, headers=gzip_please)

    assert form.headers["Content-Encoding"] == "gzip"
    assert (b"pb_" in key.content, b"<svg" in enrolment.content) == (True, True)
    assert ["Content-Encoding" in response.headers for response in (key, enrolment)] == [False, False]


@pytest.mark.usefixtures("appointment")
def test_the_icon_font_has_every_icon(owner: Client):
    icons = set((ICONS / "icons.txt").read_text().split())
    pages = ["/admin/", *(list_url(model_admin.model) for model_admin in TENANT_MODEL_ADMINS)]
    sources = [owner.get(path).content.decode() for path in pages]
    sources += [path.read_text() for path in Path(unfold.__file__).parent.rglob("*.html")]
    texts = [TEMPLATE_TAG.sub(" ", text) for source in sources for text in ICON_TEXT.findall(source)]
    used = {icon for text in texts for icon in text.split()}
    for module in (ROOT / "staff").rglob("*.py"):
        used |= set(re.findall(r'icon="(\w+)"', module.read_text()))

    assert len(used) > 50
    assert used - icons == set()
