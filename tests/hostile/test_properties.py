"""Thousands of requests generated from the OpenAPI document, checked by schemathesis.

No response is a 5xx, undocumented, or accepts invalid data. The requests are the same in each run. For other and more
requests, run HOSTILE_EXAMPLES=2000 make test ARGS=tests/hostile/test_properties.py
"""

import os
from datetime import UTC, datetime, timedelta, timezone

import pytest
import schemathesis
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from pipeline_backend.wsgi import application
from tests.contract.assertions import assert_invalid_among, assert_invalid_fields
from tests.hostile.input_counter import count_inputs
from tests.hostile.openapi import query_parameters

# pytest doesn't load it for other files, because it imports for a third of a second.
pytest_plugins = ["schemathesis.pytest.plugin"]
EXAMPLES = int(os.environ.get("HOSTILE_EXAMPLES", "0"))
with_examples = hypothesis_settings(
    max_examples=EXAMPLES or 15,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
schema = schemathesis.openapi.from_wsgi("/api/schema", application)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def unlimited(settings):
    """Lift the rate limits, which have tests of their own."""
    settings.RATE_LIMIT_PER_MINUTE = settings.FAILED_KEYS_PER_MINUTE = 10**9


# Reasons to refuse a request that is valid by the schema: they depend on the organization's data, or JSON Schema
# can't express them.
ERRORS_BEYOND_THE_SCHEMA = [
    "is not known in the organization",
    "must belong to an active member of the organization",
    "is required",
    "must have 1 to 200 rows",
    "must be one of: ",
    "must be a whole number",  # to JSON Schema, 1.0 is an integer (docs/interface.md, G12)
    "can't be cleared",
    "must be an updated_at in quotation marks",
    "must be sent together with phone_e164",
    "must be start or the nextCursor",
    "can't be given together with page",
    "must be a phone number",
    "must be a UUID or latest",
    "must be an ISO 3166-1 alpha-2 country code",
    "must be a country of phone_e164",
    "must be an ISO 8601 timestamp",
    "must be an existing date and time",
    "must be in the years 1970 to 2100",
    "must be a date (",
    "must be an e-mail address",
    "must be an http or https URL",
    "must not contain NUL",
    "names of 1 to 40 characters",
    "1 to 255 printable characters",  # servers remove spaces at the ends of headers
]


# A row of an import that is invalid is an error of that row, in a 200.
@schema.exclude(path_regex="/import$").parametrize()
@with_examples
def test_every_response_is_as_documented(case, unlimited, api, measurements):
    count_inputs(measurements, "generated", 1)
    # The test client of WSGI applications doesn't decompress responses.
    headers = {"x-api-key": api.key, "Accept-Encoding": "identity"}

    response = case.call(headers=headers)

    # A blank parameter counts as absent, and one with an underscore in front is ignored, as all are by an operation
    # without parameters. The document can't express that. The first check is replaced by the list above.
    is_ignored = [
        name[:1] in {"", "_"} or not str(value).strip() or not list(case.operation.query)
        for name, value in (case.query or {}).items()
    ]
    has_ignored_parameter = any(is_ignored)
    # Submit and create accept more types of answers and traffic values than the document says, which is made for
    # generators. A blank value counts as absent, whatever its format.
    has_blank = isinstance(case.body, dict) and any(
        isinstance(value, str) and not value.strip() for value in case.body.values()
    )
    has_traffic = isinstance(case.body, dict) and "traffic" in case.body
    accepts_more = has_ignored_parameter or has_blank or case.path == "/api/opt-in/submit" or has_traffic
    excluded_checks = [positive_data_acceptance, *([negative_data_rejection] if accepts_more else [])]
    case.validate_response(response, headers=headers, excluded_checks=excluded_checks)
    if case.meta.generation.mode.is_positive and response.status_code == 400:
        messages = [message for field_messages in response.json()["errors"].values() for message in field_messages]
        unexpected = [
            message for message in messages if not any(error in message for error in ERRORS_BEYOND_THE_SCHEMA)
        ]
        assert unexpected == []


texts = st.text() | st.text(alphabet="0123456789-+:.TZtz W\u0660\uff11\u2212 ", max_size=40)
timezones = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
# The bounds lie a few days outside of the accepted years; hypothesis requires them without a time zone.
timestamps = st.datetimes(datetime(1969, 12, 30), datetime(2101, 1, 2), timezones=timezones)  # noqa: DTZ001
LISTS = sorted({parameter.path for parameter in query_parameters() if "{" not in parameter.path})
NUMBERED_LISTS = [path for path in LISTS if not path.endswith("events")]


@with_examples
@given(timestamp=timestamps)
def test_a_timestamp_from_1970_to_2100_is_accepted_and_returned_in_utc(unlimited, api, measurements, timestamp):
    count_inputs(measurements, "generated", 1)
    in_utc = timestamp.astimezone(UTC)

    response = api.book(external_reference=timestamp.isoformat(), schedule_time=timestamp.isoformat())

    if not 1970 <= in_utc.year <= 2100:
        assert_invalid_fields(response, "schedule_time")
        return
    schedule_time = api.get_appointment(response.json()["data"]["id"])["schedule_time"]
    assert schedule_time == in_utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@with_examples
@given(text=texts)
def test_a_text_as_schedule_time_is_accepted_or_named_in_the_error(unlimited, api, measurements, text):
    count_inputs(measurements, "generated", 1)

    response = api.book(schedule_time=text)

    if response.status_code not in (200, 201, 409):
        assert_invalid_fields(response, "schedule_time")


numbers = (
    st.integers()
    | st.integers(min_value=10**15, max_value=10**40)
    | st.just(2**53 - 1)
    | st.just(2**53)
    | st.just(10**30)
)


@with_examples
@given(path=st.sampled_from(NUMBERED_LISTS), page=numbers, limit=numbers | st.integers(1, 100))
def test_every_valid_page_is_200_and_every_other_is_400(unlimited, api, measurements, path, page, limit):
    count_inputs(measurements, "generated", 1)
    maximums = [("page", page, 2**53 - 1), ("limit", limit, 100)]
    invalid = [name for name, value, maximum in maximums if not 1 <= value <= maximum]

    response = api.get(path, {"page": page, "limit": limit})

    if invalid:
        assert_invalid_fields(response, *invalid)
        return
    pagination = {"page": page, "limit": limit, "total": 0, "totalPages": 0, "hasNext": False, "hasPrev": page > 1}
    assert (response.status_code, response.json()["data"], response.json()["pagination"]) == (200, [], pagination)


@with_examples
@given(
    path=st.sampled_from(LISTS), values=st.lists(texts | st.uuids().map(str), min_size=1, max_size=20), data=st.data()
)
def test_a_filter_value_is_accepted_or_named_in_the_error(unlimited, api, measurements, path, values, data):
    count_inputs(measurements, "generated", 1)
    available = [parameter.name for parameter in query_parameters() if parameter.path == path]
    names = data.draw(st.lists(st.sampled_from(available), min_size=1, max_size=len(values), unique=True))

    response = api.get(path, dict(zip(names, values, strict=False)))

    if response.status_code != 200:
        assert_invalid_among(response, *names)


@with_examples
@given(after=texts | st.uuids().map(str))
def test_the_events_list_continues_only_after_own_events(unlimited, api, other_api, measurements, after):
    count_inputs(measurements, "generated", 1)
    other_api.submit()
    other_event_id = other_api.list_events()[0]["id"]

    for id in (after, other_event_id):
        response = api.get("/api/external/events", {"after": id})

        if id != "":
            assert_invalid_fields(response, "after")
