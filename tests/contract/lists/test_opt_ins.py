"""GET /api/external/opt-ins and /api/external/opt-ins/{id} (docs/interface.md, O1, O2, O12 and O13)."""

import pytest

from optins.models import OptIn
from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.factories import set_columns

PATH = "/api/external/opt-ins"
SOURCES = [
    "SCHEDULER_A",
    "SCHEDULER_B",
    "SCHEDULER_C",
    "MANUAL",
    "FORMBUILDER_A",
    "WEBINAR",
    "NEWSLETTER",
    "LANDING_PAGE",
    "OTHER",
]
LIST_FIELDS = ["created_at", "external_reference", "id", "lead_id", "provider_form_id", "provider_form_name", "source"]


def submit(api, **fields):
    """Submit an opt-in and return the response's data."""
    return api.submit(**fields).json()["data"]


def ids(api, query=None):
    return [row["id"] for row in api.get_data(PATH, query)]


def test_the_list_has_exactly_the_documented_fields(api):
    """docs/interface.md, O1"""
    data = submit(
        api,
        external_reference="s-1",
        provider_form_id="f1",
        provider_form_name="Form",
        questions_answers=[{"question": "Q", "position": 1}],
    )

    (item,) = api.get_data(PATH)

    assert sorted(item) == LIST_FIELDS
    assert {name: item[name] for name in LIST_FIELDS[1:]} == {
        "external_reference": "s-1",
        "id": data["opt_in_id"],
        "lead_id": data["lead_id"],
        "provider_form_id": "f1",
        "provider_form_name": "Form",
        "source": "LANDING_PAGE",
    }


def test_the_detail_is_the_list_item_with_answers_and_traffic(api):
    """docs/interface.md, O2"""
    id = submit(api)["opt_in_id"]

    response = api.get(f"{PATH}/{id}")

    traffic = dict.fromkeys(
        ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term", "referrer", "landing_page"]
    )
    data = {**api.get_data(PATH)[0], "question_answers": [], "traffic_attribution": traffic}
    assert response.status_code == 200
    assert response.json() == {"success": True, "message": response.json()["message"], "data": data}


def test_an_opt_in_without_a_form_has_nulls(api):
    """docs/interface.md, O1"""
    opt_in = api.get_opt_in(submit(api, source="MANUAL")["opt_in_id"])

    assert [opt_in[name] for name in ["provider_form_id", "provider_form_name", "external_reference"]] == [None] * 3


@pytest.mark.parametrize("source", SOURCES)
def test_opt_ins_are_filtered_by_source(api, organization, source):
    """docs/interface.md, O12"""
    id, other = submit(api)["opt_in_id"], submit(api)["opt_in_id"]
    set_columns(OptIn, organization, id, source=source)
    set_columns(OptIn, organization, other, source=next(name for name in SOURCES if name != source))

    assert ids(api, {"source": source}) == [id]


@pytest.mark.parametrize("value", ["PARTY", "webinar", "5"])
def test_an_unknown_source_is_400_with_the_accepted_values(api, value):
    """docs/interface.md, G27"""
    response = api.get(PATH, {"source": value})

    assert_invalid_fields(response, "source")
    assert all(source in response.json()["message"] for source in SOURCES)


def test_opt_ins_are_filtered_by_lead(api):
    """docs/interface.md, O12"""
    first, other = submit(api), submit(api, email="grace@example.com")
    second = submit(api)

    assert ids(api, {"lead_id": first["lead_id"]}) == [second["opt_in_id"], first["opt_in_id"]]
    assert ids(api, {"lead_id": other["lead_id"], "source": "LANDING_PAGE"}) == [other["opt_in_id"]]
    assert ids(api, {"lead_id": other["lead_id"], "source": "OTHER"}) == []


@pytest.mark.parametrize("value", ["x", "5", "00000000-0000-7000-8000-000000000000"])
def test_a_malformed_or_unknown_lead_filter_is_400(api, value):
    """docs/interface.md, G28"""
    assert_invalid_fields(api.get(PATH, {"lead_id": value}), "lead_id")


def test_a_filter_by_another_organizations_lead_is_400(api, other_api):
    """docs/interface.md, G28"""
    other_id = submit(other_api)["lead_id"]

    assert_invalid_fields(api.get(PATH, {"lead_id": other_id}), "lead_id")


# Filters of other lists, and fields of the object.
@pytest.mark.parametrize("name", ["updated_from", "scheduled_from", "provider_form_id", "email"])
def test_a_filter_that_the_list_does_not_have_is_400(api, name):
    """docs/interface.md, G26"""
    accepted = "page, limit, cursor, count, id, external_reference, source, lead_id, created_from, created_to, ordering"
    message = f"{name} is not a parameter of this list, which accepts: {accepted}"

    response = api.get(PATH, {name: "x"})

    assert response.status_code == 400
    assert response.json() == {"status": "error", "message": message, "errors": {name: [message]}}


@pytest.mark.parametrize("id", ["00000000-0000-7000-8000-000000000000", "x", "5", "user_abc"])
def test_an_unknown_or_malformed_id_in_the_path_is_404(api, id):
    """docs/interface.md, O13, G21"""
    submit(api)

    assert_error(api.get(f"{PATH}/{id}"), 404, "Resource not found")


def test_an_opt_in_of_another_organization_is_404(api, other_api):
    """docs/interface.md, O13, G22"""
    other_id = submit(other_api)["opt_in_id"]

    assert_error(api.get(f"{PATH}/{other_id}"), 404, "Resource not found")
    assert ids(api) == []
