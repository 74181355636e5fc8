"""GET /api/external/statuses (interface 2.10 and 4.8; decisions 19 and 22)."""

import re

import pytest

from statuses.models import Status
from statuses.services import RequiredStatus, delete_status, save_status
from tests.contract.assertions import assert_error
from tests.factories import make_status, set_columns

PATH = "/api/external/statuses"
FIELDS = ["bg_color", "description", "id", "name", "role", "text_color", "type"]
ROLES = [
    "APPOINTMENT_BOOKED",
    "CANCELED",
    "FOLLOW_UP",
    "LOST",
    "NEW_LEAD",
    "NO_SHOW",
    "PARTIAL_PAYMENT",
    "RESCHEDULED",
    "UNQUALIFIED",
    "WON",
]


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_decision_19_a_new_organization_has_one_status_per_role_on_both_boards(api, other_organization):
    answer = api.get(PATH)

    data = answer.json()["data"]
    assert answer.status_code == 200
    assert answer.json() == {"success": True, "message": answer.json()["message"], "data": data}
    assert sorted(status["role"] for status in data) == ROLES
    assert {(status["type"], status["description"]) for status in data} == {("BOTH", None)}
    assert [sorted(status) for status in data] == [FIELDS] * 10


def test_decision_19_the_colors_can_be_read(api):
    colors = [(status["text_color"], status["bg_color"]) for status in api.get_data(PATH)]

    assert all(re.fullmatch("#[0-9a-fA-F]{6}", color) for pair in colors for color in pair)
    contrasts = [sorted([luminance(text) + 0.05, luminance(background) + 0.05]) for text, background in colors]
    assert all(bright / dark >= 4.5 for dark, bright in contrasts)


def test_a_status_shows_exactly_its_fields(api, organization):
    made = make_status(
        organization, "Zebra", role="LOST", type="LEAD", description="Gone", text_color="#ffffff", bg_color="#000000"
    )

    shown = api.get_data(PATH)[-1]

    expected = {"id": str(made.id), "name": "Zebra", "role": "LOST", "type": "LEAD", "description": "Gone"}
    assert shown == {**expected, "text_color": "#ffffff", "bg_color": "#000000"}


def test_decision_22_the_order_is_by_name_in_any_letter_case_then_id(api, organization):
    Status.objects.of(organization).exclude(is_lead_default=True).delete()
    twins = [make_status(organization, "apple") for _ in range(3)]
    set_columns(Status, organization, twins[0].id, name="Apple")
    make_status(organization, "zebra")
    make_status(organization, "Zulu")

    names = [status["name"] for status in api.get_data(PATH)]

    assert names == sorted(names, key=str.lower)
    assert [status["id"] for status in api.get_data(PATH)][:3] == sorted(str(twin.id) for twin in twins)


def test_the_list_is_never_paginated_or_filtered(api, organization):
    for n in range(110):
        make_status(organization, f"Status {n}")

    plain, asked = (
        api.get(PATH).json(),
        api.get(PATH, {"page": "2", "limit": "1", "type": "LEAD", "role": "WON", "ordering": "-name"}).json(),
    )

    assert (len(plain["data"]), sorted(plain)) == (120, ["data", "message", "success"])
    assert asked == plain


def test_a_strangers_statuses_are_not_shown(api, organization, other_organization):
    theirs = make_status(other_organization, "Theirs")

    shown = {status["id"] for status in api.get_data(PATH)}

    assert str(theirs.id) not in shown
    assert len(shown) == 10


def test_there_is_no_status_by_id(api):
    assert_error(api.get(f"{PATH}/{api.get_status('WON')['id']}"), 404, "Resource not found")


@pytest.mark.parametrize("role", ["NEW_LEAD", "APPOINTMENT_BOOKED", "CANCELED"])
def test_decision_19_the_last_status_that_automatic_moves_need_stays(api, organization, role):
    needed = Status.objects.of(organization).get(role=role)
    before = api.get_data(PATH)

    with pytest.raises(RequiredStatus):
        delete_status(organization=organization, status=needed)
    needed.type, needed.is_lead_default = "APPOINTMENT", False
    with pytest.raises(RequiredStatus):
        save_status(organization=organization, status=needed)

    assert api.get_data(PATH) == before


@pytest.mark.parametrize(("role", "act"), [("APPOINTMENT_BOOKED", "book"), ("CANCELED", "cancel")])
def test_decision_19_automatic_moves_use_the_default_of_each_board(api, organization, role, act):
    on_leads = make_status(organization, "For leads", role=role, type="LEAD", is_lead_default=True)
    on_calls = make_status(organization, "For calls", role=role, type="APPOINTMENT", is_appointment_default=True)
    booked = api.book().json()["data"]["id"]
    if act == "cancel":
        api.cancel()

    shown = api.get_appointment(booked)

    assert shown["outcome"]["id"] == str(on_calls.id)
    assert api.get_lead(shown["lead"]["id"])["status"]["id"] == str(on_leads.id)
