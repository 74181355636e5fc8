"""X-Request-Id: decision 8."""

import pytest

from tests.client import ApiClient
from webhooks.models import Event

PATH = "/api/external/statuses"


@pytest.mark.parametrize("given", ["a", "a" * 128, "0190-req.7 (retry #2)", "~!@{}"])
def test_decision_8_a_request_id_is_taken_and_sent_back(api, given):
    assert api.get(PATH, x_request_id=given).headers["X-Request-Id"] == given


@pytest.mark.parametrize(
    "given",
    ["", "a" * 129, "a\x07b", "a\x7f", "a\tb", "\x1b[31m"],
    ids=["empty", "too_long", "bell", "delete", "tab", "escape"],
)
def test_decision_8_a_bad_request_id_is_replaced(api, given):
    made = api.get(PATH, x_request_id=given).headers["X-Request-Id"]

    assert made != given
    assert 1 <= len(made) <= 128
    assert made.isprintable()


def test_decision_8_a_missing_request_id_is_made_anew_each_time(api):
    made = {api.get(PATH).headers["X-Request-Id"] for _ in range(3)}

    assert len(made) == 3


@pytest.mark.parametrize(
    ("key", "path", "code"),
    [("none", PATH, 401), ("good", "/api/nothing", 404), ("good", "/api/external/leads/x", 404)],
)
def test_decision_8_refusals_have_a_request_id_too(api, key, path, code):
    answer = ApiClient(api.key if key == "good" else None).get(path, x_request_id="mine-1")

    assert (answer.status_code, answer.headers["X-Request-Id"]) == (code, "mine-1")


def test_decision_8_events_carry_the_request_id(api, organization):
    api.request(
        "POST",
        "/api/opt-in/submit",
        b'{"email": "ada@example.com", "first_name": "Ada", "source": "OTHER"}',
        x_request_id="mine-1",
    )

    assert list(Event.objects.of(organization).order_by("id").values_list("type", "request_id")) == [
        ("lead.created", "mine-1"),
        ("opt_in.created", "mine-1"),
    ]
