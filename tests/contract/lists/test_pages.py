"""What all lists share: pages, order, and bounds on timestamps (docs/interface.md, G23 to G29)."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from appointments.models import Appointment
from leads.models import Lead
from optins.models import OptIn
from tests.contract.assertions import assert_invalid_fields
from tests.factories import set_columns

MODELS = {"appointments": Appointment, "opt-ins": OptIn, "leads": Lead}
each_list = pytest.mark.parametrize("name", MODELS)


def url(name):
    return f"/api/external/{name}"


def create_rows(api, name, count):
    """Create `count` rows, and return their ids in the order of creation."""
    responses = [create_row(api, name, n) for n in range(count)]
    assert all(response.status_code == 201 for response in responses)
    key = {"appointments": "id", "opt-ins": "opt_in_id", "leads": "lead_id"}[name]
    return [response.json()["data"][key] for response in responses]


def create_row(api, name, n):
    email = f"lead-{n}@example.com"
    if name == "appointments":
        return api.book(external_reference=f"ref-{n}", lead_email=email)
    return api.submit(email=email)


def ids(api, name, query=None):
    return [row["id"] for row in api.get_data(url(name), query)]


@each_list
def test_an_empty_list(api, other_api, name):
    """docs/interface.md, G3, G24"""
    create_rows(other_api, name, 1)

    response = api.get(url(name))

    assert response.status_code == 200
    pagination = {"page": 1, "limit": 10, "total": 0, "totalPages": 0, "hasNext": False, "hasPrev": False}
    assert response.json() == {
        "success": True,
        "message": response.json()["message"],
        "data": [],
        "pagination": pagination,
    }
    assert response.json()["message"]


@each_list
def test_pages_are_newest_first_up_to_the_last_one_and_past_the_end(api, other_api, name):
    """docs/interface.md, G23, G24, G25"""
    newest_first = create_rows(api, name, 5)[::-1]
    create_rows(other_api, name, 1)

    pages = {page: api.get(url(name), {"page": page, "limit": 2}).json() for page in (1, 2, 3, 4)}

    page_ids = {page: [row["id"] for row in body["data"]] for page, body in pages.items()}
    assert page_ids == {1: newest_first[:2], 2: newest_first[2:4], 3: newest_first[4:], 4: []}
    counts = {"limit": 2, "total": 5, "totalPages": 3}
    assert [body["pagination"] for body in pages.values()] == [
        {**counts, "page": 1, "hasNext": True, "hasPrev": False},
        {**counts, "page": 2, "hasNext": True, "hasPrev": True},
        {**counts, "page": 3, "hasNext": False, "hasPrev": True},
        {**counts, "page": 4, "hasNext": False, "hasPrev": True},
    ]


@each_list
def test_limit_defaults_to_10_and_is_at_most_100(api, name):
    """docs/interface.md, G23"""
    create_rows(api, name, 11)

    default, maximum = api.get(url(name)).json(), api.get(url(name), {"limit": 100}).json()

    assert (len(default["data"]), default["pagination"]["limit"], default["pagination"]["totalPages"]) == (10, 10, 2)
    assert (len(maximum["data"]), maximum["pagination"]["limit"], maximum["pagination"]["totalPages"]) == (11, 100, 1)


INVALID_NUMBERS = ["0", "-1", "1.5", "1e1", "abc", "ten", "true", "0x1", "1_0", "１０", "1,2", "null"]


@each_list
@pytest.mark.parametrize("parameter", ["page", "limit"])
def test_page_and_limit_are_positive_integers(api, name, parameter):
    """docs/interface.md, G23"""
    for value in INVALID_NUMBERS:
        assert_invalid_fields(api.get(url(name), {parameter: value}), parameter)


@each_list
def test_limit_above_100_is_400(api, name):
    """docs/interface.md, G23"""
    assert_invalid_fields(api.get(url(name), {"limit": "101"}), "limit")
    assert_invalid_fields(api.get(url(name), {"limit": "1" * 5000}), "limit")


@each_list
def test_a_page_far_past_the_end_is_empty(api, name):
    """docs/interface.md, G23"""
    create_rows(api, name, 1)

    response = api.get(url(name), {"page": 2**40, "limit": 100})

    assert (response.status_code, response.json()["data"]) == (200, [])


@each_list
def test_every_invalid_parameter_is_named(api, name):
    """docs/interface.md, G5"""
    response = api.get(
        url(name), {"page": "0", "limit": "101", "created_from": "yesterday", "created_to": "2027-02-30"}
    )

    assert_invalid_fields(response, "page", "limit", "created_from", "created_to")


NAMES = ["appointments", "opt-ins", "leads", "events", "members", "event-types", "sources", "custom-fields"]
LISTS = [f"/api/external/{name}" for name in NAMES]


@pytest.mark.parametrize("path", LISTS)
def test_an_unknown_parameter_is_400_with_the_accepted_ones(api, path):
    """docs/interface.md, G26"""
    response = api.get(path, {"limit": 1, "created_form": "2027-01-05"})

    assert_invalid_fields(response, "created_form")
    accepted = response.json()["message"].removeprefix("created_form is not a parameter of this list, which accepts: ")
    names = set(accepted.split(", ")) - {"page", "limit", "cursor"}
    assert {name: api.get(path, {name: ""}).status_code for name in names} == dict.fromkeys(names, 200)


@pytest.mark.parametrize("path", LISTS)
def test_a_parameter_with_an_underscore_in_front_is_ignored(api, path):
    """docs/interface.md, G26"""
    assert api.get(path, {"_": "1732240000000", "_cache": ["1", "2"]}).status_code == 200


@pytest.mark.parametrize("path", LISTS)
def test_a_repeated_parameter_that_takes_one_value_is_400(api, path):
    """docs/interface.md, G26"""
    response = api.get(path, {"limit": ["5", "5"]})

    assert_invalid_fields(response, "limit")
    assert response.json()["message"] == "limit must be given only once"


@each_list
def test_rows_with_the_same_created_at_are_sorted_by_id_descending(api, organization, name):
    """docs/interface.md, G25"""
    created_ids = create_rows(api, name, 4)
    MODELS[name].objects.of(organization).update(created_at=datetime(2026, 1, 1, tzinfo=UTC))

    assert ids(api, name) == sorted(created_ids, key=UUID, reverse=True)
    assert ids(api, name, {"page": 2, "limit": 3}) == [min(created_ids, key=UUID)]


@each_list
def test_lists_are_sorted_by_created_at(api, organization, name):
    """docs/interface.md, G25"""
    first, second, third = create_rows(api, name, 3)
    set_columns(MODELS[name], organization, second, created_at=datetime(2020, 1, 1, tzinfo=UTC))

    assert ids(api, name) == [third, first, second]
    assert ids(api, name, {"ordering": "-created_at"}) == [third, first, second]
    assert ids(api, name, {"ordering": "created_at"}) == [second, first, third]


@each_list
def test_an_unknown_ordering_is_400(api, name):
    """docs/interface.md, G25"""
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


CREATED_AT = datetime(2026, 3, 29, 12, 30, 15, 250000, tzinfo=UTC)
# Whether a row that was created at CREATED_AT is found.
BOUND_MATCHES = {
    "created_from=2026-03-29T12:30:15.250Z": True,
    "created_from=2026-03-29T12:30:15.251Z": False,
    "created_from=2026-03-29T12:30:15.250999Z": True,
    "created_to=2026-03-29T12:30:15.250Z": True,
    "created_to=2026-03-29T12:30:15.249Z": False,
    "created_from=2026-03-29T12:30:15.250Z&created_to=2026-03-29T12:30:15.250Z": True,
    "created_from=2026-03-29T14:30:15.250%2B02:00": True,
    "created_from=2026-03-29T14:30:15.251%2B02:00": False,
    # In a query string "+" and "%20" are a space; in place of the sign it is read as "+".
    "created_from=2026-03-29T14:30:15.250+02:00": True,
    "created_from=2026-03-29T14:30:15.251+02:00": False,
    "created_from=2026-03-29T14:30:15.251%2002:00": False,
    "created_from=2026-03-29t14:30:15.250%200200": True,
    "created_from=2026-03-29T14:30:15.251%2B0200": False,
    "created_from=2026-03-29T12:30z": True,
    "created_to=2026-03-29T12:30": False,
    "created_to=2026-03-29T12:31": True,
    "created_to=2026-03-29T12:30:15": False,
    "created_to=2026-03-29T12:30:16": True,
    "created_from=2026-03-29": True,
    "created_from=2026-03-30": False,
    "created_to=2026-03-29": True,
    "created_to=2026-03-28": False,
    "created_from=2026-03-30&created_to=2026-03-28": False,
    # Open ends, as other systems write them.
    "created_from=0001-01-01&created_to=9999-12-31": True,
    "created_from=0001-01-01T00:00:00Z&created_to=9999-12-31T23:59:59.999Z": True,
    "created_from=1969-12-31&created_to=2101-01-01": True,
    "created_from=9999-12-31": False,
    "created_to=0001-01-01": False,
}


@each_list
def test_bounds_on_created_at_are_inclusive(api, organization, name):
    """docs/interface.md, G29"""
    (id,) = create_rows(api, name, 1)
    set_columns(MODELS[name], organization, id, created_at=CREATED_AT)

    listed_ids = {query: [row["id"] for row in api.get_data(f"{url(name)}?{query}")] for query in BOUND_MATCHES}

    assert listed_ids == {query: [id] if matches else [] for query, matches in BOUND_MATCHES.items()}


@each_list
@pytest.mark.parametrize(("time", "day"), [("00:00:00.000", "29"), ("23:59:59.999", "29")])
def test_a_date_as_bound_covers_the_whole_day(api, organization, name, time, day):
    """docs/interface.md, G29"""
    (id,) = create_rows(api, name, 1)
    set_columns(MODELS[name], organization, id, created_at=f"2026-03-{day}T{time}Z")

    assert ids(api, name, {"created_from": "2026-03-29", "created_to": "2026-03-29"}) == [id]
    assert ids(api, name, {"created_from": "2026-03-30"}) == ids(api, name, {"created_to": "2026-03-28"}) == []


INVALID_BOUNDS = [
    "2026-3-29",
    "20260329",
    "2026-W13-7",
    "2026-088",
    "2026-03-32",
    "2026-13-01",
    "2026-02-29",
    "２０２６-03-29",
    "0000-01-01",
    "10000-01-01",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-01:00",
    "2026-03-29T12",
    "2026-03-29 12:30",
    "2026-03-29 12:30:15",
    "2026-03-29T12:30:15+2",
    "2026-03-29T25:00:00Z",
    "1774787415",
    "now",
    "2026-03-29Z",
]


@each_list
@pytest.mark.parametrize("bound", ["created_from", "created_to"])
def test_an_invalid_bound_is_400(api, name, bound):
    """docs/interface.md, G29"""
    for value in INVALID_BOUNDS:
        assert_invalid_fields(api.get(url(name), {bound: value}), bound)


@pytest.mark.parametrize("name", ["appointments", "leads"])
def test_lists_are_filtered_and_sorted_by_updated_at(api, organization, name):
    """docs/interface.md, G25, G29"""
    first, second = create_rows(api, name, 2)
    set_columns(MODELS[name], organization, first, updated_at=datetime(2030, 1, 2, tzinfo=UTC))

    assert ids(api, name, {"ordering": "-updated_at"}) == [first, second]
    assert ids(api, name, {"ordering": "updated_at"}) == [second, first]
    assert ids(api, name, {"updated_from": "2030-01-02", "updated_to": "2030-01-02T00:00:00.000Z"}) == [first]
    assert ids(api, name, {"updated_to": "2030-01-01"}) == [second]
    assert ids(api, name, {"updated_from": "2030-01-02T00:00:00.001Z"}) == []
    assert_invalid_fields(api.get(url(name), {"updated_from": "x", "updated_to": "y"}), "updated_from", "updated_to")
