"""GET /api/external/events: its parameters (docs/interface.md, W6 and G21 to G27)."""

import pytest

from tests.contract.assertions import assert_invalid_fields

PATH = "/api/external/events"
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
TYPES = [
    "lead.created",
    "lead.status_changed",
    "opt_in.created",
    "appointment.created",
    "appointment.rescheduled",
    "appointment.canceled",
    "appointment.outcome_changed",
    "webhook.test",
]


@pytest.mark.parametrize("value", ["lead.deleted", "LEAD.CREATED", "5", "lead.created,", "lead.created, ,note.created"])
def test_an_unknown_type_is_400_with_the_accepted_values(api, value):
    """docs/interface.md, G27"""
    response = api.get(PATH, {"type": value})

    assert_invalid_fields(response, "type")
    assert all(name in response.json()["message"] for name in TYPES)


@pytest.mark.parametrize("value", ["0", "-1", "101", "1.5", "ten"])
def test_limit_is_an_integer_from_1_to_100(api, value):
    """docs/interface.md, W6"""
    assert_invalid_fields(api.get(PATH, {"limit": value}), "limit")


@pytest.mark.parametrize("value", [UNKNOWN_ID, "x", "5"])
def test_a_malformed_or_unknown_after_is_400(api, value):
    """docs/interface.md, G21"""
    assert_invalid_fields(api.get(PATH, {"after": value}), "after")


@pytest.mark.django_db(transaction=True)
def test_a_repeated_type_is_the_union(api):
    """docs/interface.md, G26, W6"""
    api.book()

    events = api.list_events(type=["appointment.created", "lead.created"])

    assert [event["type"] for event in events] == ["lead.created", "appointment.created"]
    assert [event["type"] for event in api.list_events(type=["appointment.created", ""])] == ["appointment.created"]
    assert [event["type"] for event in api.list_events(type="appointment.created, lead.created ")] == [
        "lead.created",
        "appointment.created",
    ]
