"""The guides and /llms.txt (docs/interface.md, G61 to G63)."""

import re
from urllib.parse import urljoin, urlsplit

import pytest
from django.conf import settings
from django.test import Client

from pipeline_backend.settings.instance import ROOT
from pipeline_backend.web.guides import GUIDES
from tests.client import ApiClient

PAGES = ["/api/docs/", *(f"/api/docs/{name}" for name in GUIDES)]
TEXTS = ["/llms.txt", *(f"/api/docs/{name}.md" for name in GUIDES)]
RELAYS = ["relay.py", "calendly.py", "calcom.py", "typeform.py", "n8n.json"]


@pytest.mark.parametrize("path", [*PAGES, *TEXTS, *(f"/api/docs/relays/{name}" for name in RELAYS)])
def test_a_guide_needs_neither_a_key_nor_the_database_and_may_be_stored(path: str):
    response = Client().get(path)  # without the fixture `db` a query would fail

    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "public, max-age=300"
    assert "x-api-key" not in response.headers.get("Vary", "").lower()
    unchanged = Client().get(path, headers={"if-none-match": response.headers["ETag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


@pytest.mark.parametrize("path", PAGES)
def test_a_guide_runs_no_script_and_loads_nothing_from_another_host(path: str):
    response = Client().get(path)
    page, policy = response.content.decode(), response.headers["Content-Security-Policy"]

    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "style-src 'self'" in policy
    assert [word for word in ("script-src", "unsafe") if word in policy] == []
    assert re.findall(r"<script|<[^>]+ style=|<(?:img|link)[^>]+(?:src|href)=\"(?!/|\w+\.md)", page) == []


def test_each_rule_of_the_interface_has_an_anchor_and_the_rules_link_to_each_other():
    rules = re.findall(r"^\*\*(\w+)\.\*\*", (ROOT / "docs/interface.md").read_text(), re.MULTILINE)
    page = Client().get("/api/docs/interface").content.decode()

    assert len(rules) > 250
    assert re.findall(r'<p id="(\w+)"><strong>(\w+)\.</strong>', page) == [(rule, rule) for rule in rules]
    links = re.findall(r'<a href="#(\w+)">(\w+)</a>', page.partition("<main>")[2])
    assert {text for _, text in links} >= {"A29", "G37"}
    assert [(rule, text) for rule, text in links if rule != text or rule not in rules] == []
    assert re.findall(r"<code>[^<]*<a|\[[A-Z]\d+\]\(", page) == []
    guide = Client().get("/api/docs/api").content.decode()
    assert re.findall(r'<a href="interface#(\w+)"', guide) == ["N10", "A29", "A67"]


@pytest.mark.parametrize("path", [*PAGES, *TEXTS])
def test_the_links_of_a_guide_lead_to_pages_and_headings_that_exist(path: str, db: None):
    response = Client().get(path)
    links = re.findall(r'<a [^>]*?href="([^"]+)"' if path in PAGES else r"\]\(([^)\s]+)\)", response.content.decode())

    assert len(links) > 0
    targets = {}
    for link in {urljoin(settings.BASE_URL + path, link) for link in links}:
        url = urlsplit(link)
        if link.startswith(settings.BASE_URL):
            target = targets[url.path] = targets.get(url.path) or Client().get(url.path)
            assert target.status_code == 200, link
            is_page = target.headers["Content-Type"].startswith("text/html")
            assert not url.fragment or not is_page or f' id="{url.fragment}"' in target.content.decode(), link
        else:
            assert url.scheme == "https", link


def test_llms_txt_lists_every_guide_as_markdown():
    text = Client().get("/llms.txt").content.decode()

    assert text.startswith("# Pipeline Backend\n\n> ")
    assert re.findall(r"^- \[[^]]+\]\((\S+)\): \w", text, re.MULTILINE) == [
        *(f"{settings.BASE_URL}/api/docs/{name}.md" for name in GUIDES),
        f"{settings.BASE_URL}/api/schema",
    ]


@pytest.mark.parametrize("name", RELAYS)
def test_the_guide_about_relays_links_to_their_files(name: str):
    guide = Client().get("/api/docs/relays.md").content.decode()

    response = Client().get(f"/api/docs/relays/{name}")

    assert f"(relays/{name})" in guide
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content == (ROOT / "integrations" / name).read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/api/docs/relays/__init__.py",
        "/api/docs/operate",
        "/api/docs/operate.md",
        "/api/docs/api.html",
        "/api/docs/api/",
    ],
)
def test_another_name_is_an_unknown_path(path: str, api: ApiClient):
    response = api.get(path)

    assert (response.status_code, response.headers["Content-Type"]) == (404, "application/json")
    assert response.headers["Cache-Control"] == "no-store"
    assert ApiClient(None).get(path).status_code == 401


@pytest.mark.parametrize("path", ["/api/docs/api", "/api/docs/api.md"])
def test_the_examples_have_the_address_of_this_service(path: str):
    text = Client().get(path).content.decode()

    assert f"{settings.BASE_URL}/api/external/appointments" in text
    assert "127.0.0.1:8000" not in text
