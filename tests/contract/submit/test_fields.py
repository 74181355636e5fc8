"""POST /api/opt-in/submit: each field's rule in interface 4.5, with decisions 2, 3 and 15."""

import pytest

from tests.contract.assertions import assert_invalid_fields
from tests.factories import snapshot_of

SOURCES = ["SCHEDULER_A", "MANUAL", "FORMBUILDER_A", "WEBINAR", "NEWSLETTER", "LANDING_PAGE", "OTHER"]
TRAFFIC = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term", "referrer", "landing_page"]
TEXTS = ["email", "first_name", "source", "last_name", "provider_form_id", "provider_form_name", "external_reference"]
OPTIONAL = [
    "last_name",
    "phone_e164",
    "provider_form_id",
    "provider_form_name",
    "external_reference",
    "questions_answers",
    "traffic",
]
NOT_TEXT = [5, 1.5, True, False, ["a"], {"a": "b"}]
NOTHING = [pytest.param(..., id="missing"), pytest.param(None, id="null"), pytest.param("", id="empty")]


def answer_at(position, **fields):
    return {"question": f"Question {position}?", "answer": "Yes", "position": position, **fields}


def refuses(api, organization, *fields, **given):
    """The submission is a 400 that names the fields, and nothing has changed."""
    before = snapshot_of(organization)
    answer = api.submit(**given)
    assert_invalid_fields(answer, *fields)
    assert snapshot_of(organization) == before
    return answer


@pytest.mark.parametrize("nothing", NOTHING)
@pytest.mark.parametrize("field", ["email", "first_name", "source"])
def test_submit_requires(api, organization, field, nothing):
    answer = refuses(api, organization, field, **{field: nothing})

    sentence = f"{field} is required"
    assert answer.json() == {"status": "error", "message": sentence, "errors": {field: [sentence]}}


@pytest.mark.parametrize("nothing", NOTHING)
def test_submit_requires_the_country_of_a_phone(api, organization, nothing):
    answer = refuses(api, organization, "phone_country", phone_e164="+442079460000", phone_country=nothing)

    assert answer.json()["message"].startswith("phone_country is required")


@pytest.mark.parametrize("nothing", NOTHING[1:])
@pytest.mark.parametrize("field", OPTIONAL)
def test_decision_3_an_optional_field_given_as_nothing_is_absent(api, field, nothing):
    answer = api.submit(**{field: nothing})

    assert answer.status_code == 201
    shown = api.get_opt_in(answer.json()["data"]["opt_in_id"])
    assert [shown["provider_form_id"], shown["provider_form_name"], shown["external_reference"]] == [None] * 3
    assert (shown["question_answers"], shown["traffic_attribution"]) == ([], dict.fromkeys(TRAFFIC))


def test_decision_3_an_empty_reference_is_no_idempotency_key(api):
    ids = {api.submit(external_reference="").json()["data"]["opt_in_id"] for _ in range(2)}

    assert len(ids) == 2


@pytest.mark.parametrize("field", TEXTS)
def test_decision_3_a_field_of_another_json_type_is_400(api, organization, field):
    for value in NOT_TEXT:
        refuses(api, organization, field, **{field: value})


@pytest.mark.parametrize("field", ["first_name", "last_name", "external_reference"])
def test_decision_3_names_and_references_have_at_most_255_characters(api, organization, field):
    refuses(api, organization, field, **{field: "é" * 256})

    assert api.submit(**{field: "é" * 255}).status_code == 201


@pytest.mark.parametrize("value", ["ada", "ada@", "@example.com", "a b@example.com", "a" * 250 + "@example.com"])
def test_submit_refuses_a_malformed_email(api, organization, value):
    refuses(api, organization, "email", email=value)


@pytest.mark.parametrize("source", SOURCES)
def test_submit_accepts_source(api, source):
    answer = api.submit(source=source)

    assert (answer.status_code, api.get_opt_in(answer.json()["data"]["opt_in_id"])["source"]) == (201, source)


@pytest.mark.parametrize("source", ["SCHEDULER_B", "SCHEDULER_C", "landing_page", "PARTY", " OTHER", "MANUAL,OTHER"])
def test_submit_rule_5_another_source_is_400_with_the_accepted_ones(api, organization, source):
    answer = refuses(api, organization, "source", source=source)

    assert answer.json()["message"] == f"source must be one of: {', '.join(SOURCES)}"


@pytest.mark.parametrize(
    "phone",
    [
        "020 7946 0000",
        "442079460000",
        "call me",
        "+12",
        "+999123456789",
        "+44207946000000000000",
        442079460000,
        True,
        ["+442079460000"],
    ],
)
def test_decision_15_an_invalid_phone_is_400(api, organization, phone):
    refuses(api, organization, "phone_e164", phone_e164=phone, phone_country="GB")


@pytest.mark.parametrize("country", ["ZZ", "GBR", "United Kingdom", "G", "44", 44, True, ["GB"]])
def test_decision_15_an_invalid_country_is_400(api, organization, country):
    refuses(api, organization, "phone_country", phone_e164="+442079460000", phone_country=country)


@pytest.mark.parametrize("field", TRAFFIC)
def test_submit_refuses_traffic_that_is_no_text(api, organization, field):
    for value in NOT_TEXT:
        refuses(api, organization, f"traffic.{field}", traffic={field: value})


@pytest.mark.parametrize("value", ["google", 5, True, ["utm_source"]])
def test_submit_refuses_traffic_that_is_no_object(api, organization, value):
    refuses(api, organization, "traffic", traffic=value)


@pytest.mark.parametrize("field", ["referrer", "landing_page"])
def test_decision_3_traffic_urls_have_at_most_2_048_characters(api, organization, field):
    url = "https://example.com/".ljust(2048, "a")
    refuses(api, organization, f"traffic.{field}", traffic={field: f"{url}a"})

    stored = api.get_opt_in(api.submit(traffic={field: url}).json()["data"]["opt_in_id"])

    assert stored["traffic_attribution"] == {**dict.fromkeys(TRAFFIC), field: url}


@pytest.mark.parametrize("nothing", [None, ""])
def test_decision_3_traffic_given_as_nothing_is_absent(api, nothing):
    stored = api.get_opt_in(api.submit(traffic=dict.fromkeys(TRAFFIC, nothing)).json()["data"]["opt_in_id"])

    assert stored["traffic_attribution"] == dict.fromkeys(TRAFFIC)


def test_submit_takes_50_answers(api):
    answer = api.submit(questions_answers=[answer_at(n) for n in range(1, 51)])

    shown = api.get_opt_in(answer.json()["data"]["opt_in_id"])["question_answers"]
    assert [row["position"] for row in shown] == list(range(1, 51))


def test_submit_refuses_51_answers(api, organization):
    refuses(api, organization, "questions_answers", questions_answers=[answer_at(n) for n in range(1, 52)])


@pytest.mark.parametrize("value", ["Why?", 5, True, {"question": "Why?", "answer": "So", "position": 1}])
def test_submit_refuses_answers_that_are_no_array(api, organization, value):
    refuses(api, organization, "questions_answers", questions_answers=value)


@pytest.mark.parametrize("item", ["Why?", 5, [], None])
def test_submit_refuses_an_answer_that_is_no_object(api, organization, item):
    before = snapshot_of(organization)

    answer = api.submit(questions_answers=[answer_at(1), item])

    assert answer.status_code == 400
    assert all(name.startswith("questions_answers.1") for name in answer.json()["errors"])
    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("position", value) for value in ["5", 1.5, True, [], {}, 0, -1, 2**31, 10**30]],
        *[("question", value) for value in [..., None, "", 5, True, [], {}, "a" * 10_001]],
        *[("answer", value) for value in [5, True, [], {}, "a" * 10_001]],
    ],
    ids=lambda value: repr(value)[:20],
)
def test_decision_2_a_bad_answer_is_named_with_its_place(api, organization, field, value):
    answers = [answer_at(n) for n in range(1, 6)]
    answers[3] = {name: given for name, given in {**answers[3], field: value}.items() if given is not ...}

    refuses(api, organization, f"questions_answers.3.{field}", questions_answers=answers)


def test_submit_of_two_answers_at_one_position_is_no_server_error(api, organization):
    before = snapshot_of(organization)

    answer = api.submit(questions_answers=[answer_at(1), answer_at(1)])

    assert answer.status_code == 400
    assert snapshot_of(organization) == before


def test_decision_2_every_bad_field_is_named(api, organization):
    fields = {
        "email": "x",
        "first_name": 5,
        "source": "X",
        "traffic": {"utm_term": 1},
        "questions_answers": [answer_at("1")],
    }

    refuses(
        api, organization, "email", "first_name", "source", "traffic.utm_term", "questions_answers.0.position", **fields
    )


def test_decision_3_unknown_fields_are_ignored(api):
    answer = api.submit(
        id="x", status="WON", traffic={"gclid": 5, "utm_source": "g"}, questions_answers=[answer_at(1, id=5, extra=[])]
    )

    shown = api.get_opt_in(answer.json()["data"]["opt_in_id"])
    assert answer.status_code == 201
    assert shown["traffic_attribution"] == {**dict.fromkeys(TRAFFIC), "utm_source": "g"}
    assert sorted(shown["question_answers"][0]) == ["answer", "id", "position", "question"]
