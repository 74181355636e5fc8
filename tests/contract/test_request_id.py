"""The header X-Request-Id (docs/interface.md, G36)."""

import pytest

from organizations.actors import SYSTEM
from tests.client import ApiClient, opt_in_payload
from tests.factories import make_status
from webhooks.models import Event
from webhooks.services import add_endpoint, send_test

PATH = "/api/external/statuses"


@pytest.mark.parametrize("request_id", ["a", "a" * 128, "0190-req.7 (retry #2)", "~!@{}"])
def test_a_valid_request_id_is_used_and_sent_back(api, request_id):
    """docs/interface.md, G36"""
    assert api.get(PATH, x_request_id=request_id).headers["X-Request-Id"] == request_id


@pytest.mark.parametrize(
    "request_id",
    ["", "a" * 129, "a\x07b", "a\x7f", "a\tb", "\x1b[31m", "-"],
    ids=["empty", "too_long", "bell", "delete", "tab", "escape", "no_request"],
)
def test_an_invalid_request_id_is_replaced(api, request_id):
    """docs/interface.md, G36"""
    generated = api.get(PATH, x_request_id=request_id).headers["X-Request-Id"]

    assert generated != request_id
    assert 1 <= len(generated) <= 128
    assert generated.isprintable()


def test_a_missing_request_id_is_generated_for_each_request(api):
    """docs/interface.md, G36"""
    request_ids = {api.get(PATH).headers["X-Request-Id"] for _ in range(3)}

    assert len(request_ids) == 3


@pytest.mark.parametrize(
    ("key", "path", "status_code"),
    [("missing", PATH, 401), ("valid", "/api/nothing", 404), ("valid", "/api/external/leads/x", 404)],
)
def test_error_responses_have_the_request_id(api, key, path, status_code):
    """docs/interface.md, G36"""
    response = ApiClient(api.key if key == "valid" else None).get(path, x_request_id="mine-1")

    assert (response.status_code, response.headers["X-Request-Id"]) == (status_code, "mine-1")


def test_events_store_the_request_id(api, organization):
    """docs/interface.md, G36"""
    api.post("/api/opt-in/submit", opt_in_payload(), x_request_id="mine-1")

    assert list(Event.objects.of(organization).order_by("id").values_list("type", "request_id")) == [
        ("lead.created", "mine-1"),
        ("opt_in.created", "mine-1"),
    ]


@pytest.mark.django_db(transaction=True)
def test_events_show_the_request_id(api, organization):
    """docs/interface.md, G36, W3"""
    api.post("/api/opt-in/submit", opt_in_payload(), x_request_id='mine "1"')
    generated = api.book().headers["X-Request-Id"]
    make_status(organization, "Warm")

    shown = [(event["type"], event["request_id"]) for event in api.list_events()]

    assert shown == [
        ("lead.created", 'mine "1"'),
        ("opt_in.created", 'mine "1"'),
        ("lead.status_changed", generated),
        ("appointment.created", generated),
        ("status.created", None),
    ]


@pytest.mark.django_db(transaction=True)
def test_a_change_without_a_request_has_no_request_id(api, organization):
    """docs/interface.md, W3"""
    endpoint, _ = add_endpoint(organization=organization, url="https://hooks.acme.example/in")
    send_test(endpoint=endpoint, actor=SYSTEM)

    (event,) = api.list_events()

    assert (event["type"], event["request_id"]) == ("webhook.test", None)
