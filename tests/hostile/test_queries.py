"""Every query parameter of every list, with every value that it must not have: F1, F26 to F28, F37 to F39, P1 to P8 of the catalogue.

Parameters come from the OpenAPI document. What pages, orders and moments mean is in tests/contract/lists.
"""

from urllib.parse import quote

import pytest

from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.hostile.interface import UNKNOWN, Parameter, parameters
from tests.hostile.tally import tried

ALL = parameters()
NO_NUMBERS = [
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
]
NO_NUMBERS += [str(2**63), str(10**30), "9" * 4299, "9" * 4301, "'", "1--", "1 OR 1=1", "\x00", "1\x00", "\ud7ff", "🎉"]
NO_MOMENTS = [
    "2016-12-31T23:59:60Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "0000-01-01",
    "9999-12-31",
    "1969-12-31",
    "2101-01-01",
    "2027-02-29",
]
NO_MOMENTS += [
    "2027-01-05T24:00:00Z",
    "2027-01-05T10:00:00z",
    "2027-01-05T10:00Z",
    "2027-01-05T10:00:00,5Z",
    "2027-W01-2",
    "20270105",
    "1799143200",
    "now",
    "-1",
    "\x00",
]
NO_MOMENTS += [
    "2027-01-05T10:00:00+25:00",
    "2027-01-05T10:00:00  02:00",
    "2027-01-05T10:00:00%2B02:00",
    "2027-01-05\x00",
    "２０２７-01-05",
    "2027-01-05T10:00:00−02:00",
]
NO_IDS = [
    "5",
    "true",
    "x",
    UNKNOWN.replace("-", ""),
    f"{{{UNKNOWN}}}",
    f"urn:uuid:{UNKNOWN}",
    UNKNOWN[:-1],
    f"{UNKNOWN}0",
    f"{UNKNOWN},{UNKNOWN}",
    "\x00",
    UNKNOWN,
    "' OR 1=1",
]
NO_MEMBERS = [
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
MOMENTS = ("_from", "_to")


def bad_values(parameter: Parameter) -> list[str]:
    """What the parameter must refuse; texts refuse NUL alone."""
    if parameter.schema["type"] == "integer":
        return NO_NUMBERS
    if parameter.name.endswith(MOMENTS):
        return NO_MOMENTS
    if parameter.schema.get("format") == "uuid":
        return NO_IDS
    if "enum" in parameter.schema or parameter.name in ("call_category", "outcome_role", "status_role", "type"):
        return NO_MEMBERS
    return ["\x00", "a\x00", "\x00@example.com"]


@pytest.fixture
def ask(api, measurements):
    """Ask a list with a query as it is."""

    def ask(path: str, query: str):
        tried(measurements, "queries", 1)
        return api.request("GET", f"{path}?{query}")

    return ask


@pytest.mark.parametrize("parameter", ALL, ids=str)
def test_a_bad_value_is_400_and_named(ask, parameter):
    for value in bad_values(parameter):
        assert_invalid_fields(ask(parameter.path, f"{parameter.name}={quote(value)}"), parameter.name)


@pytest.mark.parametrize(
    "parameter", [one for one in ALL if not one.name.endswith(MOMENTS) and one.schema["type"] != "integer"], ids=str
)
def test_a_blank_value_is_as_good_as_none(ask, parameter):
    assert [ask(parameter.path, f"{parameter.name}{value}").status_code for value in ("", "=", "=&")] == [200] * 3


BROKEN = ["%ff", "%c0%80", "%ed%a0%80", "%f4%90%80%80", "%", "%zz", "%u0041", "%0", "%E9"]


@pytest.mark.parametrize("parameter", ALL, ids=str)
def test_a_broken_escape_is_a_value_like_any_other(ask, parameter):
    """What is no UTF-8 becomes replacement characters, which no number, moment, id or member has."""
    is_text = bad_values(parameter)[0] == "\x00"

    codes = {value: ask(parameter.path, f"{parameter.name}={value}").status_code for value in BROKEN}

    assert codes == dict.fromkeys(BROKEN, 200 if is_text else 400)


@pytest.mark.parametrize(
    "parameter", [one for one in ALL if one.schema["type"] == "string" and bad_values(one)[0] == "\x00"], ids=str
)
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
def test_a_text_that_nobody_has_finds_nobody(api, ask, parameter, text):
    api.book()

    answer = ask(parameter.path, f"{parameter.name}={quote(text)}")

    assert (answer.status_code, answer.json()["data"]) == (200, [])


@pytest.mark.parametrize("parameter", [one for one in ALL if one.name.endswith(MOMENTS)], ids=str)
def test_a_plus_that_became_a_space_is_a_plus(ask, parameter):
    assert ask(parameter.path, f"{parameter.name}=2027-01-05T10:00:00+02:00").status_code == 200
    assert ask(parameter.path, f"{parameter.name}=2027-01-05T10:00:00%2002:00").status_code == 200


@pytest.mark.parametrize("path", sorted({one.path for one in ALL}))
def test_of_a_repeated_parameter_the_last_one_counts(ask, path):
    assert_invalid_fields(ask(path, "limit=5&limit=0"), "limit")
    assert ask(path, "limit=0&limit=5").status_code == 200
    assert ask(path, "&".join(["limit=0"] * 900 + ["limit=5"])).status_code == 200


LISTS = sorted({one.path for one in ALL})


@pytest.mark.parametrize("path", LISTS)
def test_ten_thousand_parameters_are_400(ask, path):
    assert_error(ask(path, "&".join(f"a{number}=1" for number in range(10_000))), 400, "The request is malformed")
    assert_error(ask(path, "&" * 10_000), 400, "The request is malformed")


@pytest.mark.parametrize("path", LISTS)
def test_unknown_parameters_are_ignored(ask, path):
    names = [
        "id",
        "organization",
        "lead__email",
        "created_at__gte",
        "page[]",
        "format=xml&x",
        "_method=DELETE&x",
        "🎉",
        "%00",
        "%ff",
        "",
        "__proto__",
        "fields",
    ]

    assert [name for name in names if ask(path, f"{name}=1").status_code != 200] == []


def test_the_statuses_list_reads_no_parameters(api, ask):
    whole = api.get_data("/api/external/statuses")

    for query in ["page=0&limit=x", "page=2&limit=1", "ordering=-name", "%00=%00", "&".join(["a=1"] * 5_000)]:
        assert ask("/api/external/statuses", query).json()["data"] == whole


def test_every_bad_parameter_of_a_list_is_named_at_once(ask):
    for path in LISTS:
        own = [one for one in ALL if one.path == path]
        query = "&".join(
            f"{one.name}={quote(bad_values(one)[-1] if one.schema.get('format') != 'uuid' else '5')}" for one in own
        )
        assert_invalid_fields(ask(path, query), *(one.name for one in own))
