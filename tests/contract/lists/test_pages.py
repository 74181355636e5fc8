"""What all lists share: pages, limits, order, moments (interface 2.11, 4.3, 4.6, 8; decisions 4, 6, 18)."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from appointments.models import Appointment
from leads.models import Lead
from optins.models import OptIn
from tests.contract.assertions import assert_invalid_fields
from tests.factories import set_columns

PATHS = {"appointments": Appointment, "opt-ins": OptIn, "leads": Lead}
each_list = pytest.mark.parametrize("name", PATHS)


def url(name):
    return f"/api/external/{name}"


def fill(api, name, count):
    """So many rows; the ids in the order of creation."""
    made = [make(api, name, n) for n in range(count)]
    assert all(answer.status_code == 201 for answer in made)
    key = {"appointments": "id", "opt-ins": "opt_in_id", "leads": "lead_id"}[name]
    return [answer.json()["data"][key] for answer in made]


def make(api, name, n):
    email = f"lead-{n}@example.com"
    return (
        api.book(external_reference=f"ref-{n}", lead_email=email) if name == "appointments" else api.submit(email=email)
    )


def ids(api, name, query=None):
    return [row["id"] for row in api.get_data(url(name), query)]


@each_list
def test_decision_6_an_empty_list(api, other_api, name):
    fill(other_api, name, 1)

    answer = api.get(url(name))

    assert answer.status_code == 200
    pagination = {"page": 1, "limit": 10, "total": 0, "totalPages": 0, "hasNext": False, "hasPrev": False}
    assert answer.json() == {"success": True, "message": answer.json()["message"], "data": [], "pagination": pagination}
    assert answer.json()["message"]


@each_list
def test_decision_6_pages_newest_first_to_the_last_and_past_the_end(api, other_api, name):
    newest_first = fill(api, name, 5)[::-1]
    fill(other_api, name, 1)

    answers = {page: api.get(url(name), {"page": page, "limit": 2}).json() for page in (1, 2, 3, 4)}

    shown = {page: [row["id"] for row in answer["data"]] for page, answer in answers.items()}
    assert shown == {1: newest_first[:2], 2: newest_first[2:4], 3: newest_first[4:], 4: []}
    same = {"limit": 2, "total": 5, "totalPages": 3}
    assert [answer["pagination"] for answer in answers.values()] == [
        {**same, "page": 1, "hasNext": True, "hasPrev": False},
        {**same, "page": 2, "hasNext": True, "hasPrev": True},
        {**same, "page": 3, "hasNext": False, "hasPrev": True},
        {**same, "page": 4, "hasNext": False, "hasPrev": True},
    ]


@each_list
def test_limit_is_10_unless_given_and_100_at_most(api, name):
    fill(api, name, 11)

    default, most = api.get(url(name)).json(), api.get(url(name), {"limit": 100}).json()

    assert (len(default["data"]), default["pagination"]["limit"], default["pagination"]["totalPages"]) == (10, 10, 2)
    assert (len(most["data"]), most["pagination"]["limit"], most["pagination"]["totalPages"]) == (11, 100, 1)


NO_COUNTS = ["0", "-1", "1.5", "1e1", "abc", "ten", "true", "0x1", "1_0", "１０", "1,2", "null"]


@each_list
@pytest.mark.parametrize("parameter", ["page", "limit"])
def test_decision_6_page_and_limit_are_positive_integers(api, name, parameter):
    for value in NO_COUNTS:
        assert_invalid_fields(api.get(url(name), {parameter: value}), parameter)


@each_list
def test_decision_6_limit_above_100_is_400(api, name):
    assert_invalid_fields(api.get(url(name), {"limit": "101"}), "limit")
    assert_invalid_fields(api.get(url(name), {"limit": "1" * 5000}), "limit")


@each_list
def test_decision_6_a_page_far_past_the_end_is_empty(api, name):
    fill(api, name, 1)

    answer = api.get(url(name), {"page": 2**40, "limit": 100})

    assert (answer.status_code, answer.json()["data"]) == (200, [])


@each_list
def test_decision_6_every_bad_parameter_is_named(api, name):
    answer = api.get(url(name), {"page": "0", "limit": "101", "created_from": "yesterday", "created_to": "2027-02-30"})

    assert_invalid_fields(answer, "page", "limit", "created_from", "created_to")


@each_list
def test_decision_6_rows_of_one_moment_are_ordered_by_id_descending(api, organization, name):
    made = fill(api, name, 4)
    PATHS[name].objects.of(organization).update(created_at=datetime(2026, 1, 1, tzinfo=UTC))

    assert ids(api, name) == sorted(made, key=UUID, reverse=True)
    assert ids(api, name, {"page": 2, "limit": 3}) == [min(made, key=UUID)]


@each_list
def test_decision_6_ordering_by_created_at(api, organization, name):
    first, second, third = fill(api, name, 3)
    set_columns(PATHS[name], organization, second, created_at=datetime(2020, 1, 1, tzinfo=UTC))

    assert ids(api, name) == [third, first, second]
    assert ids(api, name, {"ordering": "-created_at"}) == [third, first, second]
    assert ids(api, name, {"ordering": "created_at"}) == [second, first, third]


@each_list
def test_decision_6_another_ordering_is_400(api, name):
    for value in [
        "email",
        "created_at,id",
        "+created_at",
        "--created_at",
        "CREATED_AT",
        "organization",
        "lead__email",
        "?",
        "-",
    ]:
        assert_invalid_fields(api.get(url(name), {"ordering": value}), "ordering")


BOUND = datetime(2026, 3, 29, 12, 30, 15, 250000, tzinfo=UTC)
FINDS_IT = {
    "created_from=2026-03-29T12:30:15.250Z": True,
    "created_from=2026-03-29T12:30:15.251Z": False,
    "created_from=2026-03-29T12:30:15.250999Z": True,
    "created_to=2026-03-29T12:30:15.250Z": True,
    "created_to=2026-03-29T12:30:15.249Z": False,
    "created_from=2026-03-29T12:30:15.250Z&created_to=2026-03-29T12:30:15.250Z": True,
    "created_from=2026-03-29T14:30:15.250%2B02:00": True,
    "created_from=2026-03-29T14:30:15.251%2B02:00": False,
    "created_from=2026-03-29T14:30:15.250+02:00": True,
    "created_from=2026-03-29T14:30:15.251+02:00": False,
    "created_from=2026-03-29T14:30:15.251%2002:00": False,
    "created_to=2026-03-29T12:30:15": False,
    "created_to=2026-03-29T12:30:16": True,
    "created_from=2026-03-29": True,
    "created_from=2026-03-30": False,
    "created_to=2026-03-29": True,
    "created_to=2026-03-28": False,
    "created_from=2026-03-30&created_to=2026-03-28": False,
}


@each_list
def test_decision_4_created_bounds_are_inclusive(api, organization, name):
    (id,) = fill(api, name, 1)
    set_columns(PATHS[name], organization, id, created_at=BOUND)

    found = {query: [row["id"] for row in api.get_data(f"{url(name)}?{query}")] for query in FINDS_IT}

    assert found == {query: [id] if finds else [] for query, finds in FINDS_IT.items()}


@each_list
@pytest.mark.parametrize(("moment", "day"), [("00:00:00.000", "29"), ("23:59:59.999", "29")])
def test_decision_4_a_day_is_all_of_its_milliseconds(api, organization, name, moment, day):
    (id,) = fill(api, name, 1)
    set_columns(PATHS[name], organization, id, created_at=f"2026-03-{day}T{moment}Z")

    assert ids(api, name, {"created_from": "2026-03-29", "created_to": "2026-03-29"}) == [id]
    assert ids(api, name, {"created_from": "2026-03-30"}) == ids(api, name, {"created_to": "2026-03-28"}) == []


NO_MOMENTS = [
    "2026-3-29",
    "20260329",
    "2026-W13-7",
    "2026-088",
    "2026-03-32",
    "2026-13-01",
    "2026-02-29",
    "２０２６-03-29",
    "1969-12-31",
    "2101-01-01",
]
NO_MOMENTS += [
    "2026-03-29T12",
    "2026-03-29T12:30",
    "2026-03-29 12:30:15",
    "2026-03-29T12:30:15+2",
    "2026-03-29T25:00:00Z",
    "1774787415",
    "now",
    "2026-03-29Z",
]


@each_list
@pytest.mark.parametrize("bound", ["created_from", "created_to"])
def test_decision_4_a_bound_that_is_no_moment_is_400(api, name, bound):
    for value in NO_MOMENTS:
        assert_invalid_fields(api.get(url(name), {bound: value}), bound)


@pytest.mark.parametrize("name", ["appointments", "leads"])
def test_updated_bounds_and_order(api, organization, name):
    first, second = fill(api, name, 2)
    set_columns(PATHS[name], organization, first, updated_at=datetime(2030, 1, 2, tzinfo=UTC))

    assert ids(api, name, {"ordering": "-updated_at"}) == [first, second]
    assert ids(api, name, {"ordering": "updated_at"}) == [second, first]
    assert ids(api, name, {"updated_from": "2030-01-02", "updated_to": "2030-01-02T00:00:00.000Z"}) == [first]
    assert ids(api, name, {"updated_to": "2030-01-01"}) == [second]
    assert ids(api, name, {"updated_from": "2030-01-02T00:00:00.001Z"}) == []
    assert_invalid_fields(api.get(url(name), {"updated_from": "x", "updated_to": "y"}), "updated_from", "updated_to")
