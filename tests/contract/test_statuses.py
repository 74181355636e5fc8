"""GET /api/external/statuses, and the default statuses (docs/interface.md, S1 to S7)."""

import re

import pytest

from foundation.api.exceptions import Conflict
from organizations.actors import SYSTEM
from statuses.models import Status
from statuses.services import delete_status, save_status
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
    """Return the relative luminance of a color such as #1e3a8a, as WCAG 2 defines it."""
    channels = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_new_organization_has_one_status_per_role_on_both_boards(api, other_organization):
    """docs/interface.md, S5"""
    response = api.get(PATH)

    data = response.json()["data"]
    assert response.status_code == 200
    assert response.json() == {"success": True, "message": response.json()["message"], "data": data}
    assert sorted(status["role"] for status in data) == ROLES
    assert {(status["type"], status["description"]) for status in data} == {("BOTH", None)}
    assert [sorted(status) for status in data] == [FIELDS] * 10


def test_the_list_contains_retired_statuses(api, organization):
    """docs/interface.md, S4 and S14"""
    make_status(organization, "Warm", is_active=False)

    assert "Warm" in [status["name"] for status in api.get_data(PATH)]


def test_the_default_colors_have_enough_contrast(api):
    """docs/interface.md, S5"""
    colors = [(status["text_color"], status["bg_color"]) for status in api.get_data(PATH)]

    assert all(re.fullmatch("#[0-9a-fA-F]{6}", color) for pair in colors for color in pair)
    luminances = [sorted([luminance(text) + 0.05, luminance(background) + 0.05]) for text, background in colors]
    assert all(lighter / darker >= 4.5 for darker, lighter in luminances)


def test_a_status_has_exactly_the_documented_fields(api, organization):
    """docs/interface.md, S1"""
    status = make_status(
        organization, "Zebra", role="LOST", type="LEAD", description="Gone", text_color="#ffffff", bg_color="#000000"
    )

    item = api.get_data(PATH)[-1]

    expected = {"id": str(status.id), "name": "Zebra", "role": "LOST", "type": "LEAD", "description": "Gone"}
    assert item == {**expected, "text_color": "#ffffff", "bg_color": "#000000"}


def test_statuses_are_sorted_by_name_case_insensitively_then_by_id(api, organization):
    """docs/interface.md, S4"""
    Status.objects.of(organization).exclude(is_lead_default=True).delete()
    same_name_statuses = [make_status(organization, "apple") for _ in range(3)]
    set_columns(Status, organization, same_name_statuses[0].id, name="Apple")
    make_status(organization, "zebra")
    make_status(organization, "Zulu")

    names = [status["name"] for status in api.get_data(PATH)]

    assert names == sorted(names, key=str.lower)
    assert [status["id"] for status in api.get_data(PATH)][:3] == sorted(
        str(status.id) for status in same_name_statuses
    )


def test_statuses_are_sorted_as_a_person_would(api, organization):
    """docs/interface.md, S4"""
    names = ["#1 priority", "Äpfel", "apple", "Éclair", "eclipse", "Straße", "strategy", "zeta", "Зима", "зонт"]
    for name in reversed(names):
        make_status(organization, name)

    listed = [status["name"] for status in api.get_data(PATH)]

    assert [name for name in listed if name in names] == names


def test_the_list_has_no_pages_and_ignores_all_parameters(api, organization):
    """docs/interface.md, S4"""
    for n in range(110):
        make_status(organization, f"Status {n}")
    parameters = {"page": "2", "limit": "1", "type": "LEAD", "role": "WON", "ordering": "-name"}

    without_parameters, with_parameters = api.get(PATH).json(), api.get(PATH, parameters).json()

    assert (len(without_parameters["data"]), sorted(without_parameters)) == (120, ["data", "message", "success"])
    assert with_parameters == without_parameters


def test_statuses_of_another_organization_are_not_listed(api, organization, other_organization):
    """docs/interface.md, G22"""
    other_status = make_status(other_organization, "Theirs")

    listed_ids = {status["id"] for status in api.get_data(PATH)}

    assert str(other_status.id) not in listed_ids
    assert len(listed_ids) == 10


def test_there_is_no_endpoint_for_one_status(api):
    """docs/interface.md, S4"""
    assert_error(api.get(f"{PATH}/{api.get_status('WON')['id']}"), 404, "Resource not found")


@pytest.mark.parametrize("role", ["NEW_LEAD", "APPOINTMENT_BOOKED", "CANCELED"])
def test_a_required_default_status_cannot_be_deleted_or_moved(api, organization, role):
    """docs/interface.md, S7"""
    status = Status.objects.of(organization).get(role=role)
    before = api.get_data(PATH)

    with pytest.raises(Conflict, match="Make another status the default first"):
        delete_status(organization=organization, actor=SYSTEM, status=status)
    status.type, status.is_lead_default = "APPOINTMENT", False
    with pytest.raises(Conflict, match="Make another status the default first"):
        save_status(organization=organization, actor=SYSTEM, status=status)

    assert api.get_data(PATH) == before


@pytest.mark.parametrize(("role", "action"), [("APPOINTMENT_BOOKED", "book"), ("CANCELED", "cancel")])
def test_automatic_changes_use_the_default_status_of_each_board(api, organization, role, action):
    """docs/interface.md, S6"""
    lead_default = make_status(organization, "For leads", role=role, type="LEAD", is_lead_default=True)
    appointment_default = make_status(
        organization, "For appointments", role=role, type="APPOINTMENT", is_appointment_default=True
    )
    appointment_id = api.book().json()["data"]["id"]

    if action == "cancel":
        api.cancel()

    appointment = api.get_appointment(appointment_id)

    assert appointment["outcome"]["id"] == str(appointment_default.id)
    assert api.get_lead(appointment["lead"]["id"])["status"]["id"] == str(lead_default.id)
