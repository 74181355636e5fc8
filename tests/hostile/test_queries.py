"""Every query parameter of every list, with invalid values (docs/guarantees.md, F1, F26 to F28, F37 to F39, P1 to P9).

The parameters come from the OpenAPI document. What pages, orders and timestamps mean is tested in tests/contract/lists.
"""

from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tests.client import ApiClient
from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.hostile.input_counter import count_inputs
from tests.hostile.openapi import UNKNOWN_ID, QueryParameter, query_parameters

GetList = Callable[[str, str], Any]

PARAMETERS = query_parameters()
LISTS = sorted({parameter.path for parameter in PARAMETERS})
INVALID_NUMBERS = [
    "",
    "0",
    "-1",
    "-0",
    "+1",
    "1.5",
    "1.0",
    "1e3",
    "0x1",
    "01x",
    "abc",
    "null",
    "true",
    "١",
    "１",
    "1 ",
    " 1",
    "1,2",
    "1;2",
    "[1]",
    "NaN",
    "Infinity",
    "1_0",
    str(2**63),
    str(10**30),
    "9" * 4299,
    "9" * 4301,
    "'",
    "1--",
    "1 OR 1=1",
    "\x00",
    "1\x00",
    "\ud7ff",
    "🎉",
]
INVALID_TIMESTAMPS = [
    "2016-12-31T23:59:60Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "0000-01-01",
    "2027-02-29",
    "2027-01-05T24:00:00Z",
    "2027-01-05T10Z",
    "2027-01-05T10:00:00ž",
    "2027-01-05T10:00:00,5Z",
    "2027-W01-2",
    "20270105",
    "1799143200",
    "now",
    "-1",
    "\x00",
    "2027-01-05T10:00:00+25:00",
    "2027-01-05T10:00:00  02:00",
    "2027-01-05T10:00:00%2B02:00",
    "2027-01-05\x00",
    "２０２７-01-05",
    "2027-01-05T10:00:00−02:00",
]
INVALID_IDS = [
    "5",
    "true",
    "x",
    UNKNOWN_ID.replace("-", ""),
    f"{{{UNKNOWN_ID}}}",
    f"urn:uuid:{UNKNOWN_ID}",
    UNKNOWN_ID[:-1],
    f"{UNKNOWN_ID}0",
    f"{UNKNOWN_ID},{UNKNOWN_ID}",
    "\x00",
    UNKNOWN_ID,
    "' OR 1=1",
]
INVALID_ID_LISTS = [
    *(id for id in INVALID_IDS if UNKNOWN_ID not in id.split(",")),
    ",",
    f"{UNKNOWN_ID},",
    f"{UNKNOWN_ID};{UNKNOWN_ID}",
    ",".join([UNKNOWN_ID] * 101),
    "," * 10_000,
]
INVALID_BOOLEANS = ["True", "1", "0", "yes", "null", "true,false", "\x00", "🎉"]
INVALID_CURSORS = ["", "x", "0", "START", "start,start", ":", "a:b", ".eJw:x", "\x00", "🎉", "é:é", ":" * 5_000]
INVALID_PHONES = ["x", "+", "12", "+" * 1_000, "1" * 5_000, "\x00", "+1415555267\x00", "'", "🎉", "+8001234567890"]
INVALID_CHOICES = [
    ",",
    "SALES_CALL,",
    "a",
    "*",
    "sales_call",
    "null",
    "%",
    "\x00",
    "'",
    "SALES_CALL;WON",
    ",".join(["X"] * 1000),
    "🎉",
]
INVALID_TEXTS = ["\x00", "a\x00", "\x00@example.com"]
TIMESTAMP_SUFFIXES = ("_from", "_to")
# Choices of which several can be given.
CHOICE_PARAMETERS = ("state", "call_category", "outcome_role", "status_role", "type")
ID_PARAMETERS = ("lead_id", "status_id", "event_type_id", "appointment_id", "after")
OTHER_INVALID_VALUES = {"id": INVALID_ID_LISTS, "has_outcome": INVALID_BOOLEANS, "phone": INVALID_PHONES}
OTHER_INVALID_VALUES |= {"cursor": INVALID_CURSORS, "count": INVALID_BOOLEANS}


def is_timestamp(parameter: QueryParameter) -> bool:
    return parameter.name.endswith(TIMESTAMP_SUFFIXES)


def is_text(parameter: QueryParameter) -> bool:
    """Return True for parameters that accept any text but NUL."""
    return invalid_values(parameter) is INVALID_TEXTS


def invalid_values(parameter: QueryParameter) -> list[str]:
    """Return values that the parameter must refuse."""
    if parameter.schema["type"] == "integer":
        return INVALID_NUMBERS
    if is_timestamp(parameter):
        return INVALID_TIMESTAMPS
    if parameter.name in ID_PARAMETERS:
        return INVALID_IDS
    if parameter.name in OTHER_INVALID_VALUES:
        return OTHER_INVALID_VALUES[parameter.name]
    if "enum" in parameter.schema or parameter.name in CHOICE_PARAMETERS:
        return INVALID_CHOICES
    return INVALID_TEXTS


@pytest.fixture
def get_list(api: ApiClient, measurements: dict[str, str]) -> GetList:
    """Return a function that reads a list with a query string exactly as it is."""

    api.post("/api/external/webhook-endpoints", {"url": "https://hooks.example.com/lists"})

    @cache
    def id_of(list_path: str) -> str:
        """Return the id of a row in the list."""
        api.book()
        return str(api.get_data(list_path)[0]["id"])

    def get(path: str, query: str) -> Any:
        count_inputs(measurements, "queries", 1)
        if "{id}" in path:
            path = path.replace("{id}", id_of(path.partition("/{id}")[0]))
        return api.request("GET", f"{path.replace('{topic}', 'lead.created')}?{query}")

    return get


@pytest.mark.parametrize("parameter", PARAMETERS, ids=str)
def test_an_invalid_value_is_400_and_named(get_list, parameter):
    for value in invalid_values(parameter):
        assert_invalid_fields(get_list(parameter.path, f"{parameter.name}={quote(value)}"), parameter.name)


MAY_BE_BLANK = [parameter for parameter in PARAMETERS if "" not in invalid_values(parameter)]


@pytest.mark.parametrize("parameter", MAY_BE_BLANK, ids=str)
def test_a_blank_value_counts_as_absent(get_list, parameter):
    for blank in ("", "=", "=&"):
        assert get_list(parameter.path, f"{parameter.name}{blank}").status_code == 200


INVALID_ESCAPES = ["%ff", "%c0%80", "%ed%a0%80", "%f4%90%80%80", "%", "%zz", "%u0041", "%0", "%E9"]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=str)
def test_an_invalid_percent_escape_is_an_ordinary_value(get_list, parameter):
    """Invalid UTF-8 is decoded to replacement characters: fine in a text, and invalid in anything else."""
    status_codes = {
        value: get_list(parameter.path, f"{parameter.name}={value}").status_code for value in INVALID_ESCAPES
    }

    assert status_codes == dict.fromkeys(INVALID_ESCAPES, 200 if is_text(parameter) else 400)


TEXT_PARAMETERS = [parameter for parameter in PARAMETERS if parameter.schema["type"] == "string" and is_text(parameter)]


@pytest.mark.parametrize("parameter", TEXT_PARAMETERS, ids=str)
@pytest.mark.parametrize(
    "text",
    [
        "'; DROP TABLE leads_lead; --",
        "%",
        "_",
        "\\",
        "a' OR '1'='1",
        "$1",
        "%s",
        "{0}",
        "${jndi:ldap://x}",
        "\x1b[31m",
        "🎉",
        "a" * 6000,
    ],
)
def test_a_text_filter_that_matches_nothing_returns_an_empty_list(api, get_list, parameter, text):
    api.book()

    response = get_list(parameter.path, f"{parameter.name}={quote(text)}")

    assert (response.status_code, response.json()["data"]) == (200, [])


@pytest.mark.parametrize("parameter", [parameter for parameter in PARAMETERS if is_timestamp(parameter)], ids=str)
def test_a_space_in_a_timestamps_offset_is_read_as_a_plus(get_list, parameter):
    """Clients that don't escape the plus send a space, because that is what it means in a query string."""
    assert get_list(parameter.path, f"{parameter.name}=2027-01-05T10:00:00+02:00").status_code == 200
    assert get_list(parameter.path, f"{parameter.name}=2027-01-05T10:00:00%2002:00").status_code == 200


@pytest.mark.parametrize("parameter", PARAMETERS, ids=str)
def test_a_repeated_parameter_is_400_unless_it_is_a_list(get_list, parameter):
    responses = [get_list(parameter.path, f"{parameter.name}=1&" * count) for count in (2, 900)]

    for response in responses:
        assert_invalid_fields(response, parameter.name)
        is_list = parameter.schema["type"] == "array"
        assert response.json()["message"].endswith(" must be given only once") != is_list


@pytest.mark.parametrize("path", LISTS)
def test_ten_thousand_parameters_are_400(get_list, path):
    names = "&".join(f"a{number}=1" for number in range(10_000))

    assert_error(get_list(path, names), 400, "The request has more than 1,000 parameters")
    assert_error(get_list(path, "&" * 10_000), 400, "The request has more than 1,000 parameters")


UNKNOWN_NAMES = [
    "ids",
    "organization",
    "lead__email",
    "created_at__gte",
    "page[]",
    "page%5B%5D",
    "Page",
    "%20page",
    "page%00",
    "external_refrence",
    "🎉",
    "%00",
    "%ff",
    "fields",
    "'",
    "<script>",
]
IGNORED_NAMES = ["_", "_method", "__proto__", "%5Fcache", ""]


@pytest.mark.parametrize("path", LISTS)
def test_an_unknown_parameter_is_400_and_named_with_the_accepted_ones(get_list, path):
    names = [parameter.name for parameter in PARAMETERS if parameter.path == path]

    for unknown in UNKNOWN_NAMES:
        for value in ("=1", "=", ""):
            name = unquote(unknown)
            message = f"{name} is not a parameter of this list, which accepts: {', '.join(names)}"

            response = get_list(path, f"limit=1&{unknown}{value}")

            assert response.status_code == 400
            assert response.json() == {"status": "error", "message": message, "errors": {name: [message]}}


@pytest.mark.parametrize("path", LISTS)
def test_many_long_unknown_names_get_a_short_response(get_list, path):
    long_names = "&".join(f"{number:03}{'a' * 1000}=1" for number in range(900))

    response = get_list(path, long_names)

    assert response.status_code == 400
    assert len(response.content) < 5_000


@pytest.mark.parametrize("path", LISTS)
def test_names_with_an_underscore_in_front_are_ignored(get_list, path):
    assert [name for name in IGNORED_NAMES if get_list(path, f"{name}=1&{name}=%00").status_code != 200] == []


def test_the_statuses_list_ignores_all_parameters(api, get_list):
    all_statuses = api.get_data("/api/external/statuses")

    for query in ["page=0&limit=x", "page=2&limit=1", "ordering=-name", "%00=%00", "&".join(["a=1"] * 5_000)]:
        assert get_list("/api/external/statuses", query).json()["data"] == all_statuses


def test_all_invalid_parameters_are_named_at_once(get_list):
    for path in LISTS:
        values = {
            parameter.name: "5" if parameter.name in ID_PARAMETERS else invalid_values(parameter)[-1]
            for parameter in PARAMETERS
            if parameter.path == path
        }

        response = get_list(path, "&".join(f"{name}={quote(value)}" for name, value in values.items()))

        assert_invalid_fields(response, *values)
