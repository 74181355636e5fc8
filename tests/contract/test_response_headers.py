"""Headers for caches, and compression (docs/interface.md, G41)."""

import gzip
from typing import Any

import pytest
from django.test import Client

from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_api, make_status

STATUSES = "/api/external/statuses"


def assert_not_stored(response: Any, status_code: int) -> None:
    """Assert that no cache may store the response, and that shared caches know that it depends on the key."""
    assert (response.status_code, response.headers["Cache-Control"]) == (status_code, "no-store")
    assert "x-api-key" in response.headers["Vary"].lower().replace(" ", "").split(",")


def test_no_cache_stores_a_response_to_a_key(api: ApiClient) -> None:
    """docs/interface.md, G41"""
    booked = api.book()
    id = booked.json()["data"]["id"]

    assert_not_stored(booked, 201)
    assert_not_stored(api.cancel(), 200)
    assert_not_stored(api.submit(), 200)
    for path in ["appointments", f"appointments/{id}", "opt-ins", "leads", "statuses", "events"]:
        assert_not_stored(api.get(f"/api/external/{path}"), 200)
    assert_not_stored(api.request("HEAD", STATUSES), 200)
    assert_not_stored(api.get(STATUSES, accept_encoding="gzip"), 200)


def test_no_cache_stores_an_error(api: ApiClient, organization: Organization, stopped_clock: Any) -> None:
    """docs/interface.md, G41"""
    organization.rate_limit_per_minute = 1
    organization.save()
    limited = make_api(organization)
    limited.get(STATUSES)

    assert_not_stored(ApiClient(None).get(STATUSES), 401)
    assert_not_stored(limited.get(STATUSES), 429)
    organization.rate_limit_per_minute = 600
    organization.save()
    assert_not_stored(make_api(organization, scopes=["write"]).get(STATUSES), 403)


def test_no_cache_stores_a_refusal(api: ApiClient) -> None:
    """docs/interface.md, G41"""
    assert_not_stored(api.book(schedule_time="soon"), 400)
    assert_not_stored(api.request("POST", "/api/external/appointments", b"{"), 400)
    assert_not_stored(api.get(STATUSES, host="other.example"), 400)
    assert_not_stored(api.get("/api/external/appointments/x"), 404)
    assert_not_stored(api.get("/API/external/leads"), 404)
    assert_not_stored(api.request("DELETE", STATUSES), 405)


@pytest.mark.parametrize("path", ["/api/schema", "/api/docs"])
def test_the_document_may_be_stored(db: None, path: str) -> None:
    """docs/interface.md, G41"""
    response = Client().get(path)

    assert response.status_code == 200
    assert "Cache-Control" not in response.headers
    assert "x-api-key" not in response.headers.get("Vary", "").lower()


@pytest.mark.parametrize(
    "header",
    [
        "",
        "identity",
        "*;q=0",
        "gzip;q=0",
        "gzip; q=0.0",
        "GZIP;Q=0",
        "gzip ;q=0.000",
        "deflate, gzip; q=0.000",
        "gzip;q=0, identity",
        "gzip;q=0, *",
        "gzip;q=soon",
        "gzip;q=nan",
        "gzip;q=-1",
        "gzip;level=1;q=0",
        "notgzip",
        ",;" * 5_000,
    ],
)
def test_a_client_that_does_not_accept_gzip_gets_none(api: ApiClient, organization: Organization, header: str) -> None:
    """docs/interface.md, G41"""
    for number in range(20):
        make_status(organization, f"A status with a long name {number}")

    response = api.get(STATUSES, accept_encoding=header)

    assert (response.status_code, response.headers.get("Content-Encoding")) == (200, None)
    assert len(response.json()["data"]) == 30
    assert "Accept-Encoding" in response.headers["Vary"]


@pytest.mark.parametrize(
    "header", ["gzip", "gzip, deflate, br", "deflate;q=0.5, gzip;q=0.001", "identity;q=0, GZIP", "br;q=0, gzip;q=1"]
)
def test_a_client_that_accepts_gzip_gets_it(api: ApiClient, organization: Organization, header: str) -> None:
    """docs/interface.md, G41"""
    for number in range(20):
        make_status(organization, f"A status with a long name {number}")

    response = api.get(STATUSES, accept_encoding=header)

    assert (response.status_code, response.headers["Content-Encoding"]) == (200, "gzip")
    assert gzip.decompress(response.content) == api.get(STATUSES).content
