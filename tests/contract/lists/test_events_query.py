"""GET /api/external/events: what its parameters may be (decisions 5, 6 and 35)."""

import pytest

from tests.contract.assertions import assert_invalid_fields

PATH = "/api/external/events"
UNKNOWN = "00000000-0000-7000-8000-000000000000"
TYPES = [
    "lead.created",
    "lead.status_changed",
    "opt_in.created",
    "appointment.created",
    "appointment.rescheduled",
    "appointment.canceled",
]
TYPES += ["appointment.outcome_changed", "webhook.test"]


@pytest.mark.parametrize("value", ["lead.deleted", "LEAD.CREATED", "5"])
def test_decision_6_an_unknown_type_is_400_with_the_accepted_ones(api, value):
    answer = api.get(PATH, {"type": value})

    assert_invalid_fields(answer, "type")
    assert all(name in answer.json()["message"] for name in TYPES)


@pytest.mark.parametrize("value", ["0", "-1", "101", "1.5", "ten"])
def test_decision_6_limit_is_an_integer_from_1_to_100(api, value):
    assert_invalid_fields(api.get(PATH, {"limit": value}), "limit")


@pytest.mark.parametrize("value", [UNKNOWN, "x", "5"])
def test_decision_5_a_malformed_or_unknown_after_is_400(api, value):
    assert_invalid_fields(api.get(PATH, {"after": value}), "after")
