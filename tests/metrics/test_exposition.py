"""`/metrics` needs its token, and names no customer (docs/metrics.md)."""

import re
from contextlib import closing
from typing import Any, NoReturn

import pytest
from django.db import OperationalError, connection
from django.test import Client

from tests.factories import make_api, make_organization
from webhooks.services import add_endpoint

TOKEN = "test-token-0123456789"
LEAD = {"lead_email": "canary.ada@leads.example", "lead_first_name": "Canarina"}


@pytest.fixture
def token(settings: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr("pipeline_backend.web.metrics.MAX_SECONDS", 60)  # also on a busy machine
    return TOKEN


def scrape(authorization: str = f"Bearer {TOKEN}", **options: Any) -> Any:
    return Client().get("/metrics", headers={"authorization": authorization}, **options)


def series(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return the name and labels of each series."""
    lines = [re.match(r"(\w+)(?:\{(.*)\})? ", line) for line in text.splitlines() if not line.startswith("#")]
    return [(line[1], dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', line[2] or ""))) for line in lines if line]


def test_without_a_setting_there_are_no_metrics(db: None) -> None:
    assert scrape().status_code == 404


@pytest.mark.parametrize(
    "authorization", ["", TOKEN, f"Basic {TOKEN}", "Bearer ", f"Bearer {TOKEN}x", "Bearer \xe9", f"Bearer {TOKEN[:-1]}"]
)
def test_a_scrape_without_the_token_is_refused_and_asks_nobody(token: str, authorization: str) -> None:
    response = scrape(authorization)  # without the fixture `db`, a query would be an error

    assert (response.status_code, response.content) == (401, b"")
    assert response["WWW-Authenticate"] == "Bearer"


def test_a_scrape_is_answered_under_any_host_name_and_without_https(db: None, token: str, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True

    response = scrape(SERVER_NAME="10.0.0.7")

    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/plain; version=0.0.4")


def fail(*_: object) -> NoReturn:
    raise OperationalError("the connection is lost")


def test_without_the_database_the_other_metrics_are_there(transactional_db: None, token: str) -> None:
    Client().get("/unknown")
    with connection.execute_wrapper(fail):
        response = scrape()

    text = response.content.decode()
    assert response.status_code == 200
    assert "pipeline_database_up 0.0" in text
    assert 'pipeline_http_requests_total{method="GET",route="-",status="404"}' in text
    assert "pipeline_queue" not in text
    assert "pipeline_database_up 1.0" in scrape().content.decode()


def test_a_database_that_does_not_answer_in_time_holds_no_thread_of_the_web_server(
    transactional_db: None, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = connection.copy()
    with closing(other), other.cursor() as cursor, monkeypatch.context() as patched:
        patched.setattr("pipeline_backend.web.metrics.MAX_SECONDS", 1)
        # A lock is waited for longer than that: until its own time-out, which is 10 seconds.
        cursor.execute("BEGIN; LOCK TABLE webhooks_delivery")
        blocked = scrape().content.decode()
        cursor.execute("ROLLBACK")

    assert "pipeline_database_up 0.0" in blocked
    assert "pipeline_database_up 1.0" in scrape().content.decode()


def test_labels_have_no_value_that_a_client_or_an_organization_chooses(
    db: None, token: str, django_capture_on_commit_callbacks: Any
) -> None:
    organization = make_organization("Canary Widgets")
    api = make_api(organization)
    endpoint = add_endpoint(organization=organization, url="https://canary-hooks.example/path")[0]
    assert api.book(**LEAD).status_code == 201
    client = Client()
    for method, path in [
        ("CANARY", "/api/external/leads"),
        ("GET", "/canary-path?canary=query"),
        ("GET", f"/api/canary/{organization.pk}"),
        ("GET", f"/admin/leads/lead/{organization.pk}/change/"),
        ("GET", "/static/canary.css"),
    ]:
        client.generic(method, path, headers={"x-api-key": api.key or "", "host": "canary.example"})

    text = scrape().content.decode()

    private = [*LEAD.values(), "anar", "ANAR", str(organization.pk), str(endpoint.pk), api.key, endpoint.secret, TOKEN]
    assert [value for value in private if value in text] == []
    ours = [labels for name, labels in series(text) if name.startswith("pipeline_")]
    assert {name for labels in ours for name in labels} <= {
        "route", "method", "status", "le", "limit", "queue", "lane", "outcome", "task", "state",
    }  # fmt: skip
    assert {labels["method"] for labels in ours if "method" in labels} >= {"GET", "POST", "other"}
    assert {labels["route"] for labels in ours if "route" in labels} >= {"-", "api/external/appointments"}
