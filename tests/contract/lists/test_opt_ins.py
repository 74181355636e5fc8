"""GET /api/external/opt-ins and /:id (interface 2.8, 4.6, 4.7)."""

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
ITEM = ["created_at", "external_reference", "id", "lead_id", "provider_form_id", "provider_form_name", "source"]


def submit(api, **fields):
    return api.submit(**fields).json()["data"]


def ids(api, query=None):
    return [row["id"] for row in api.get_data(PATH, query)]


def test_opt_ins_list_shows_exactly_the_list_fields(api):
    made = submit(
        api,
        external_reference="s-1",
        provider_form_id="f1",
        provider_form_name="Form",
        questions_answers=[{"question": "Q", "position": 1}],
    )

    (shown,) = api.get_data(PATH)

    assert sorted(shown) == ITEM
    assert {name: shown[name] for name in ITEM[1:]} == {
        "external_reference": "s-1",
        "id": made["opt_in_id"],
        "lead_id": made["lead_id"],
        "provider_form_id": "f1",
        "provider_form_name": "Form",
        "source": "LANDING_PAGE",
    }


def test_opt_in_detail_is_the_list_item_with_answers_and_traffic(api):
    id = submit(api)["opt_in_id"]

    answer = api.get(f"{PATH}/{id}")

    traffic = dict.fromkeys(
        ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term", "referrer", "landing_page"]
    )
    data = {**api.get_data(PATH)[0], "question_answers": [], "traffic_attribution": traffic}
    assert answer.status_code == 200
    assert answer.json() == {"success": True, "message": answer.json()["message"], "data": data}


def test_a_manual_opt_in_has_no_form(api):
    shown = api.get_opt_in(submit(api, source="MANUAL")["opt_in_id"])

    assert [shown[name] for name in ["provider_form_id", "provider_form_name", "external_reference"]] == [None] * 3


@pytest.mark.parametrize("source", SOURCES)
def test_opt_ins_by_source(api, organization, source):
    id, other = submit(api)["opt_in_id"], submit(api)["opt_in_id"]
    set_columns(OptIn, organization, id, source=source)
    set_columns(OptIn, organization, other, source=next(name for name in SOURCES if name != source))

    assert ids(api, {"source": source}) == [id]


@pytest.mark.parametrize("value", ["PARTY", "webinar", "5"])
def test_decision_6_an_unknown_source_is_400_with_the_accepted_ones(api, value):
    answer = api.get(PATH, {"source": value})

    assert_invalid_fields(answer, "source")
    assert all(source in answer.json()["message"] for source in SOURCES)


def test_opt_ins_by_lead(api):
    first, other = submit(api), submit(api, email="grace@example.com")
    second = submit(api)

    assert ids(api, {"lead_id": first["lead_id"]}) == [second["opt_in_id"], first["opt_in_id"]]
    assert ids(api, {"lead_id": other["lead_id"], "source": "LANDING_PAGE"}) == [other["opt_in_id"]]
    assert ids(api, {"lead_id": other["lead_id"], "source": "OTHER"}) == []


@pytest.mark.parametrize("value", ["x", "5", "00000000-0000-7000-8000-000000000000"])
def test_decision_5_a_malformed_or_unknown_lead_is_400(api, value):
    assert_invalid_fields(api.get(PATH, {"lead_id": value}), "lead_id")


def test_decision_5_a_strangers_lead_is_an_unknown_one(api, other_api):
    theirs = submit(other_api)["lead_id"]

    assert_invalid_fields(api.get(PATH, {"lead_id": theirs}), "lead_id")


def test_only_created_at_is_filterable(api, organization):
    made = [submit(api)["opt_in_id"] for _ in range(2)]

    query = {
        "updated_from": "2100-01-01",
        "scheduled_from": "2100-01-01",
        "provider_form_id": "x",
        "external_reference": "x",
        "email": "x",
    }

    assert ids(api, query) == made[::-1]


@pytest.mark.parametrize("id", ["00000000-0000-7000-8000-000000000000", "x", "5", "user_abc"])
def test_decision_5_an_unknown_or_malformed_path_id_is_404(api, id):
    submit(api)

    assert_error(api.get(f"{PATH}/{id}"), 404, "Resource not found")


def test_detail_of_a_strangers_opt_in_is_404(api, other_api):
    theirs = submit(other_api)["opt_in_id"]

    assert_error(api.get(f"{PATH}/{theirs}"), 404, "Resource not found")
    assert ids(api) == []
