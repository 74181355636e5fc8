"""Requests by the thousand, made from the OpenAPI document, with all of schemathesis' checks: no 5xx, nothing undocumented, no bad data taken.

The same ones each time. For others, and more of them: HOSTILE_EXAMPLES=2000 make test ARGS=tests/hostile/test_properties.py
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
from tests.hostile.interface import parameters
from tests.hostile.tally import tried

EXAMPLES = int(os.environ.get("HOSTILE_EXAMPLES", "0"))
bounded = hypothesis_settings(
    max_examples=EXAMPLES or 25,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
ALWAYS = [positive_data_acceptance]  # refined by the list below
UNLESS_IGNORED = [negative_data_rejection]
schema = schemathesis.openapi.from_wsgi("/api/schema", application)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def unlimited(settings):
    """No rate limits: they have tests of their own."""
    settings.RATE_LIMIT_PER_MINUTE = settings.FAILED_KEYS_PER_MINUTE = 10**9


# What only the organization knows, and what JSON Schema has no word for.
BEYOND_THE_SCHEMA = [
    "is not known in the organization",
    "must belong to an active member of the organization",
    "is required",
    "must be one of: ",
    "must be unique",
    "must be a whole number",  # 1.0 is one to JSON Schema, and not to decision 3
    "must be a phone number in E.164 form",
    "must be an ISO 3166-1 alpha-2 country code",
    "must be a country of phone_e164",
    "must be an ISO 8601 timestamp",
    "must be a date (",
    "must be an e-mail address",
    "must be an http or https URL",
    "must not contain NUL",
]


@schema.parametrize()
@bounded
def test_every_answer_is_as_documented(case, unlimited, api, measurements):
    tried(measurements, "generated", 1)
    key = {"x-api-key": api.key}

    answer = case.call(headers=key)

    # A blank parameter counts as absent and an unknown one is ignored, which the document can't say; the key is always there.
    known = {parameter.name for parameter in case.operation.query}
    is_ignored = any(name not in known or not str(value).strip() for name, value in (case.query or {}).items())
    case.validate_response(answer, headers=key, excluded_checks=[*ALWAYS, *(UNLESS_IGNORED if is_ignored else [])])
    if case.meta.generation.mode.is_positive and answer.status_code == 400:
        sentences = [sentence for found in answer.json()["errors"].values() for sentence in found]
        assert [sentence for sentence in sentences if not any(known in sentence for known in BEYOND_THE_SCHEMA)] == []


texts = st.text() | st.text(alphabet="0123456789-+:.TZtz W\u0660\uff11\u2212 ", max_size=40)
zones = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
LISTS = sorted({one.path for one in parameters()})


@bounded
@given(moment=st.datetimes(datetime(1969, 12, 30), datetime(2101, 1, 2), timezones=zones))  # noqa: DTZ001  # hypothesis wants them so
def test_a_moment_of_the_years_1970_to_2100_is_taken_and_shown_in_utc(unlimited, api, measurements, moment):
    tried(measurements, "generated", 1)
    meant = moment.astimezone(UTC)

    answer = api.book(external_reference=moment.isoformat(), schedule_time=moment.isoformat())

    if not 1970 <= meant.year <= 2100:
        assert_invalid_fields(answer, "schedule_time")
        return
    shown = api.get_appointment(answer.json()["data"]["id"])["schedule_time"]
    assert shown == meant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@bounded
@given(text=texts)
def test_a_text_is_a_moment_or_named(unlimited, api, measurements, text):
    tried(measurements, "generated", 1)

    answer = api.book(schedule_time=text)

    if answer.status_code not in (200, 201, 409):
        assert_invalid_fields(answer, "schedule_time")


numbers = (
    st.integers()
    | st.integers(min_value=10**15, max_value=10**40)
    | st.just(2**53 - 1)
    | st.just(2**53)
    | st.just(10**30)
)


@bounded
@given(
    path=st.sampled_from([path for path in LISTS if not path.endswith("events")]),
    page=numbers,
    limit=numbers | st.integers(1, 100),
)
def test_every_page_that_can_be_counted_is_there(unlimited, api, measurements, path, page, limit):
    tried(measurements, "generated", 1)
    wrong = [name for name, value, most in [("page", page, 2**53 - 1), ("limit", limit, 100)] if not 1 <= value <= most]

    answer = api.get(path, {"page": page, "limit": limit})

    if wrong:
        assert_invalid_fields(answer, *wrong)
        return
    pagination = {"page": page, "limit": limit, "total": 0, "totalPages": 0, "hasNext": False, "hasPrev": page > 1}
    assert (answer.status_code, answer.json()["data"], answer.json()["pagination"]) == (200, [], pagination)


@bounded
@given(
    path=st.sampled_from(LISTS), values=st.lists(texts | st.uuids().map(str), min_size=1, max_size=20), data=st.data()
)
def test_a_filter_finds_or_is_named(unlimited, api, measurements, path, values, data):
    tried(measurements, "generated", 1)
    names = data.draw(
        st.lists(
            st.sampled_from([one.name for one in parameters() if one.path == path]),
            min_size=1,
            max_size=len(values),
            unique=True,
        )
    )

    answer = api.get(path, dict(zip(names, values, strict=False)))

    if answer.status_code != 200:
        assert_invalid_among(answer, *names)


@bounded
@given(after=texts | st.uuids().map(str))
def test_the_feed_goes_on_after_an_event_of_ours_alone(unlimited, api, other_api, measurements, after):
    tried(measurements, "generated", 1)
    other_api.submit()
    theirs = other_api.list_events()[0]["id"]

    for id in (after, theirs):
        answer = api.get("/api/external/events", {"after": id})
        if id != "":
            assert_invalid_fields(answer, "after")
