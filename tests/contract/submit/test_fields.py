"""POST /api/opt-in/submit: the rules of each field (docs/interface.md, G12 to G18, L8 and O3 to O6)."""

from random import Random

import pytest

from tests.contract.assertions import assert_invalid_fields
from tests.factories import snapshot_of

# In the order of the error message.
SOURCES = ["SCHEDULER_A", "MANUAL", "FORMBUILDER_A", "WEBINAR", "NEWSLETTER", "LANDING_PAGE", "OTHER"]
TRAFFIC_FIELDS = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term", "referrer", "landing_page"]
TEXT_FIELDS = [
    "email",
    "first_name",
    "source",
    "last_name",
    "provider_form_id",
    "provider_form_name",
    "external_reference",
]
OPTIONAL_FIELDS = [
    "last_name",
    "phone_e164",
    "provider_form_id",
    "provider_form_name",
    "external_reference",
    "questions_answers",
    "traffic",
]
CHARACTERS = [chr(code) for code in range(0x4E00, 0x9FA5)]
# Every JSON type except string and null.
OTHER_TYPES = [5, 1.5, True, False, ["a"], {"a": "b"}]
# `...` leaves the field out of the body.
BLANK = [pytest.param(..., id="missing"), pytest.param(None, id="null"), pytest.param("", id="empty")]


def question_answer(position, **fields):
    return {"question": f"Question {position}?", "answer": "Yes", "position": position, **fields}


def assert_refused(api, organization, *fields, **body):
    """Assert that the submission is a 400 that names the fields and changes nothing; return it."""
    before = snapshot_of(organization)

    response = api.submit(**body)

    assert_invalid_fields(response, *fields)
    assert snapshot_of(organization) == before
    return response


@pytest.mark.parametrize("blank", BLANK)
@pytest.mark.parametrize("field", ["email", "first_name", "source"])
def test_required_fields(api, organization, field, blank):
    """docs/interface.md, O4"""
    response = assert_refused(api, organization, field, **{field: blank})

    message = f"{field} is required"
    assert response.json() == {"status": "error", "message": message, "errors": {field: [message]}}


@pytest.mark.parametrize("blank", BLANK)
def test_phone_country_is_required_with_a_phone(api, organization, blank):
    """docs/interface.md, L8"""
    response = assert_refused(api, organization, "phone_country", phone_e164="+442079460000", phone_country=blank)

    assert response.json()["message"].startswith("phone_country is required")


@pytest.mark.parametrize("blank", BLANK[1:])
@pytest.mark.parametrize("field", OPTIONAL_FIELDS)
def test_a_blank_optional_field_counts_as_absent(api, field, blank):
    """docs/interface.md, G13"""
    response = api.submit(**{field: blank})

    assert response.status_code == 201
    opt_in = api.get_opt_in(response.json()["data"]["opt_in_id"])
    assert [opt_in["provider_form_id"], opt_in["provider_form_name"], opt_in["external_reference"]] == [None] * 3
    assert (opt_in["question_answers"], opt_in["traffic_attribution"]) == ([], dict.fromkeys(TRAFFIC_FIELDS))


def test_submissions_with_an_empty_reference_are_all_stored(api):
    """docs/interface.md, G13, G37"""
    ids = {api.submit(external_reference="").json()["data"]["opt_in_id"] for _ in range(2)}

    assert len(ids) == 2


@pytest.mark.parametrize("field", TEXT_FIELDS)
def test_a_field_of_another_json_type_is_400(api, organization, field):
    """docs/interface.md, G12"""
    for value in OTHER_TYPES:
        assert_refused(api, organization, field, **{field: value})


@pytest.mark.parametrize("field", ["first_name", "last_name", "external_reference"])
def test_names_and_references_have_at_most_255_characters(api, organization, field):
    """docs/interface.md, G15"""
    assert_refused(api, organization, field, **{field: "é" * 256})

    assert api.submit(**{field: "é" * 255}).status_code == 201


@pytest.mark.parametrize("value", ["ada", "ada@", "@example.com", "a b@example.com", "a" * 250 + "@example.com"])
def test_a_malformed_email_is_400(api, organization, value):
    """docs/interface.md, G17"""
    assert_refused(api, organization, "email", email=value)


@pytest.mark.parametrize("source", SOURCES)
def test_each_accepted_source(api, source):
    """docs/interface.md, O3"""
    response = api.submit(source=source)

    assert (response.status_code, api.get_opt_in(response.json()["data"]["opt_in_id"])["source"]) == (201, source)


@pytest.mark.parametrize("source", ["SCHEDULER_B", "SCHEDULER_C", "landing_page", "PARTY", " OTHER", "MANUAL,OTHER"])
def test_another_source_is_400_with_the_accepted_values(api, organization, source):
    """docs/interface.md, O3"""
    response = assert_refused(api, organization, "source", source=source)

    assert response.json()["message"] == f"source must be one of: {', '.join(SOURCES)}"


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
def test_an_invalid_phone_is_400(api, organization, phone):
    """docs/interface.md, L8"""
    assert_refused(api, organization, "phone_e164", phone_e164=phone, phone_country="GB")


@pytest.mark.parametrize("phone", ["+15555555", "+1 555 5555"])
def test_a_phone_without_its_area_code_is_400(api, organization, phone):
    """docs/interface.md, L6, L8"""
    assert_refused(api, organization, "phone_e164", phone_e164=phone, phone_country="US")


@pytest.mark.parametrize("country", ["ZZ", "GBR", "United Kingdom", "G", "44", 44, True, ["GB"]])
def test_an_invalid_phone_country_is_400(api, organization, country):
    """docs/interface.md, L8"""
    assert_refused(api, organization, "phone_country", phone_e164="+442079460000", phone_country=country)


@pytest.mark.parametrize("country", ["gb", "Gb", " gB "])
def test_a_phone_country_may_be_lower_case(api, country):
    """docs/interface.md, L8"""
    id = api.submit(phone_e164="+442079460000", phone_country=country).json()["data"]["lead_id"]

    lead = api.get_lead(id)
    assert (lead["phone_e164"], lead["phone_country"]) == ("+442079460000", "GB")


# "\u0131" is upper-cased to I, and "\ufb01" to FI.
@pytest.mark.parametrize("country", ["\u0131t", "\ufb01", "\uff47\uff42", "usa", "zz", "g b"])
def test_a_country_of_other_letters_is_400(api, organization, country):
    """docs/interface.md, L8"""
    assert_refused(api, organization, "phone_country", phone_e164="+442079460000", phone_country=country)


# What form builders send beside texts, and what is stored of it.
AS_TEXT = [
    (5, "5"),
    (1.5, "1.5"),
    (10**30, "1" + "0" * 30),
    (True, "true"),
    (False, "false"),
    (["a", "b"], "a, b"),
    (["Yes", 2, None, "", "  ", True], "Yes, 2, true"),
    ([["a"], {"b": "é"}], '["a"], {"b": "é"}'),
    ({"city": "Köln"}, '{"city": "Köln"}'),
    ([], None),
    ([None, ""], None),
]


def submitted(api, **body):
    """Submit an opt-in, assert that it is stored, and return its detail."""
    response = api.submit(**body)

    assert response.status_code == 201, response.json()
    return api.get_opt_in(response.json()["data"]["opt_in_id"])


@pytest.mark.parametrize(("value", "stored"), AS_TEXT, ids=lambda value: repr(value)[:20])
def test_traffic_fields_of_another_json_type_are_stored_as_text(api, value, stored):
    """docs/interface.md, O6"""
    opt_in = submitted(api, traffic=dict.fromkeys(TRAFFIC_FIELDS, value))

    assert opt_in["traffic_attribution"] == dict.fromkeys(TRAFFIC_FIELDS, stored)


@pytest.mark.parametrize("value", ["google", 5, True, [], ["utm_source"], [{"utm_source": "google"}]])
def test_traffic_that_is_not_an_object_counts_as_absent(api, value):
    """docs/interface.md, O6"""
    assert submitted(api, traffic=value)["traffic_attribution"] == dict.fromkeys(TRAFFIC_FIELDS)


@pytest.mark.parametrize("field", TRAFFIC_FIELDS)
def test_a_traffic_field_is_trimmed_and_cut_to_8_192_characters(api, field):
    """docs/interface.md, G15, O6"""
    # Random characters, because PostgreSQL compresses repeated ones, and an index would refuse them only otherwise.
    random = Random(9)
    text = "".join(random.choices(CHARACTERS, k=8_192))

    longest = submitted(api, traffic={field: f" \t{text}\n "})
    longer = submitted(api, email="grace@example.com", traffic={field: f"{text}a"})
    longest_of_body = submitted(api, email="kay@example.com", traffic={field: "é" * 100_000})

    assert longest["traffic_attribution"] == {**dict.fromkeys(TRAFFIC_FIELDS), field: text}
    assert longer["traffic_attribution"] == longest["traffic_attribution"]
    assert longest_of_body["traffic_attribution"][field] == "é" * 8_192


def test_a_booking_copies_long_utm_fields(api):
    """docs/interface.md, A18, G15"""
    utm = {name: name[-1] * 8_192 for name in TRAFFIC_FIELDS[:5]}
    api.submit(traffic=utm)

    assert api.book().status_code == 201

    (appointment,) = api.get_data("/api/external/appointments")
    assert {name: appointment[name] for name in utm} == utm


@pytest.mark.parametrize("blank", [None, ""])
def test_blank_traffic_fields_count_as_absent(api, blank):
    """docs/interface.md, G13"""
    opt_in = api.get_opt_in(api.submit(traffic=dict.fromkeys(TRAFFIC_FIELDS, blank)).json()["data"]["opt_in_id"])

    assert opt_in["traffic_attribution"] == dict.fromkeys(TRAFFIC_FIELDS)


def test_50_answers_are_accepted(api):
    """docs/interface.md, O5"""
    response = api.submit(questions_answers=[question_answer(n) for n in range(1, 51)])

    question_answers = api.get_opt_in(response.json()["data"]["opt_in_id"])["question_answers"]
    assert [row["position"] for row in question_answers] == list(range(1, 51))


def test_51_answers_are_400(api, organization):
    """docs/interface.md, O5"""
    assert_refused(api, organization, "questions_answers", questions_answers=[question_answer(n) for n in range(1, 52)])


@pytest.mark.parametrize("value", ["Why?", 5, True, {"question": "Why?", "answer": "So", "position": 1}])
def test_answers_that_are_not_an_array_are_400(api, organization, value):
    """docs/interface.md, O5"""
    assert_refused(api, organization, "questions_answers", questions_answers=value)


@pytest.mark.parametrize("item", ["Why?", 5, [], None])
def test_an_answer_that_is_not_an_object_is_400(api, organization, item):
    """docs/interface.md, O5"""
    before = snapshot_of(organization)

    response = api.submit(questions_answers=[question_answer(1), item])

    assert response.status_code == 400
    assert all(name.startswith("questions_answers.1") for name in response.json()["errors"])
    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("position", value) for value in ["5", 1.5, True, [], {}, 0, -1, 2**31, 10**30]],
        *[("question", value) for value in [..., None, "", 5, True, [], {}, "a" * 10_001]],
        ("answer", "a" * 10_001),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_an_invalid_answer_is_named_with_its_index(api, organization, field, value):
    """docs/interface.md, G5, O5"""
    question_answers = [question_answer(n) for n in range(1, 6)]
    question_answers[3] = {
        name: item for name, item in {**question_answers[3], field: value}.items() if item is not ...
    }

    assert_refused(api, organization, f"questions_answers.3.{field}", questions_answers=question_answers)


@pytest.mark.parametrize(("value", "stored"), AS_TEXT, ids=lambda value: repr(value)[:20])
def test_an_answer_of_another_json_type_is_stored_as_text(api, value, stored):
    """docs/interface.md, O5"""
    opt_in = submitted(api, questions_answers=[question_answer(1, answer=value), question_answer(2)])

    assert [row["answer"] for row in opt_in["question_answers"]] == [stored, "Yes"]


@pytest.mark.parametrize(
    ("positions", "expected"),
    [
        ([1, 1], "ab"),
        ([2, 1, 1], "bca"),
        ([1, 1, 2, 2], "abcd"),
        ([10_000, 10_000, 1], "cab"),
        ([None, None, None], "abc"),
        ([3, None, 1], "cba"),
        ([5, 5, 5, 6, 4], "eabcd"),
    ],
)
def test_answers_with_equal_or_missing_positions_keep_their_order(api, positions, expected):
    """docs/interface.md, O5"""
    answers = [
        {"question": name, "answer": "Yes", "position": position}
        for name, position in zip("abcde", positions, strict=False)
    ]

    rows = submitted(api, questions_answers=answers)["question_answers"]

    assert "".join(row["question"] for row in rows) == expected
    # Each answer has a position of its own, and the first of several equal ones has the one that was sent.
    assert [row["position"] for row in rows] == sorted({row["position"] for row in rows})
    assert rows[0]["position"] == min(position or 1 for position in positions)


def test_every_invalid_field_is_named(api, organization):
    """docs/interface.md, G5"""
    fields = {
        "email": "x",
        "first_name": 5,
        "source": "X",
        "questions_answers": [question_answer("1")],
    }

    assert_refused(api, organization, "email", "first_name", "source", "questions_answers.0.position", **fields)


def test_unknown_fields_are_ignored(api):
    """docs/interface.md, G14"""
    response = api.submit(
        id="x",
        status="WON",
        traffic={"gclid": 5, "utm_source": "g"},
        questions_answers=[question_answer(1, id=5, extra=[])],
    )

    opt_in = api.get_opt_in(response.json()["data"]["opt_in_id"])
    assert response.status_code == 201
    assert opt_in["traffic_attribution"] == {**dict.fromkeys(TRAFFIC_FIELDS), "utm_source": "g"}
    assert sorted(opt_in["question_answers"][0]) == ["answer", "id", "position", "question"]
