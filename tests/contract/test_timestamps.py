"""Timestamps in requests and responses (docs/interface.md, G19, G20 and G29)."""

from datetime import UTC, datetime

import pytest

from appointments.models import Appointment
from tests.contract.assertions import assert_invalid_fields
from tests.factories import snapshot_of

VALID = {
    "2027-01-05T10:00:00Z": "2027-01-05T10:00:00.000Z",
    "2027-01-05T10:00:00": "2027-01-05T10:00:00.000Z",
    "2027-01-05T10:00:00.5": "2027-01-05T10:00:00.500Z",
    "2027-01-05T10:00:00.5Z": "2027-01-05T10:00:00.500Z",
    "2027-01-05T10:00:00.12Z": "2027-01-05T10:00:00.120Z",
    "2027-01-05T10:00:00.1239Z": "2027-01-05T10:00:00.123Z",
    "2027-01-05T23:59:59.9999999Z": "2027-01-05T23:59:59.999Z",
    "2027-01-05T10:00:00.123456789012345678901234567890Z": "2027-01-05T10:00:00.123Z",
    "2027-01-05T10:00:00+00:00": "2027-01-05T10:00:00.000Z",
    "2027-01-05T10:00:00+02:00": "2027-01-05T08:00:00.000Z",
    "2027-01-05T10:00:00-05:30": "2027-01-05T15:30:00.000Z",
    "2027-01-05T01:00:00.999+14:00": "2027-01-04T11:00:00.999Z",
    "2027-01-05T23:00:00-12:00": "2027-01-06T11:00:00.000Z",
    "2028-02-29T00:00:00Z": "2028-02-29T00:00:00.000Z",
    "2027-01-05T10:00Z": "2027-01-05T10:00:00.000Z",
    "2027-01-05T10:00": "2027-01-05T10:00:00.000Z",
    "2027-01-05T10:00+05:30": "2027-01-05T04:30:00.000Z",
    "2027-01-05t10:00:00.1239z": "2027-01-05T10:00:00.123Z",
    "2027-01-05t10:00z": "2027-01-05T10:00:00.000Z",
    "2027-01-05T10:00:00+0530": "2027-01-05T04:30:00.000Z",
    "2027-01-05T10:00-0500": "2027-01-05T15:00:00.000Z",
    # This local time does not exist in most of Europe, but without an offset it is UTC.
    "2027-03-28T02:30:00": "2027-03-28T02:30:00.000Z",
    "1970-01-01T00:00:00Z": "1970-01-01T00:00:00.000Z",
    "2100-12-31T23:59:59.999Z": "2100-12-31T23:59:59.999Z",
}
INVALID = {
    "date_only": "2027-01-05",
    "space_for_t": "2027-01-05 10:00:00Z",
    "no_minutes": "2027-01-05T10Z",
    "fraction_of_a_minute": "2027-01-05T10:00.5Z",
    "space_for_minutes": "2027-01-05T10: Z",
    "basic_form": "20270105T100000Z",
    "basic_time": "2027-01-05T100000Z",
    "week_date": "2027-W01-2T10:00:00Z",
    "ordinal_date": "2027-005T10:00:00Z",
    "full_width_digits": "２０２７-01-05T10:00:00Z",
    "arabic_digits": "2027-01-05T1٠:00:00Z",
    "short_month": "2027-1-05T10:00:00Z",
    "short_year": "27-01-05T10:00:00Z",
    "five_digit_year": "12027-01-05T10:00:00Z",
    "signed_year": "+2027-01-05T10:00:00Z",
    "month_13": "2027-13-05T10:00:00Z",
    "month_0": "2027-00-05T10:00:00Z",
    "february_30": "2027-02-30T10:00:00Z",
    "february_29": "2027-02-29T10:00:00Z",
    "hour_24": "2027-01-05T24:00:00Z",
    "hour_25": "2027-01-05T25:00:00Z",
    "hour_24_without_seconds": "2027-01-05T24:00Z",
    "minute_60": "2027-01-05T10:60:00Z",
    "second_61": "2027-01-05T10:00:61Z",
    "year_1969": "1969-12-31T23:59:59.999Z",
    "year_2101": "2101-01-01T00:00:00Z",
    "year_1": "0001-01-01T00:00:00+14:00",
    "year_0": "0000-01-01T00:00:00Z",
    "year_9999": "9999-12-31T23:59:59-14:00",
    "offset_of_three_digits": "2027-01-05T10:00:00+020",
    "offset_of_25_hours_without_colon": "2027-01-05T10:00:00+2500",
    "offset_of_60_minutes_without_colon": "2027-01-05T10:00:00+0260",
    "offset_of_hours": "2027-01-05T10:00:00+02",
    "offset_of_25_hours": "2027-01-05T10:00:00+25:00",
    "offset_of_60_minutes": "2027-01-05T10:00:00+02:60",
    "offset_of_seconds": "2027-01-05T10:00:00+02:00:30",
    "two_offsets": "2027-01-05T10:00:00Z+02:00",
    "space_for_plus": "2027-01-05T10:00:00 02:00",
    "zone_name": "2027-01-05T10:00:00 Europe/Berlin",
    "utc": "2027-01-05T10:00:00UTC",
    "comma_fraction": "2027-01-05T10:00:00,5Z",
    "empty_fraction": "2027-01-05T10:00:00.Z",
    "leading_space": " 2027-01-05T10:00:00Z",
    "trailing_newline": "2027-01-05T10:00:00Z\n",
    "words": "tomorrow",
    "now": "now",
    "epoch": "1799143200",
    "rfc_2822": "Tue, 05 Jan 2027 10:00:00 GMT",
    "very_long": "2027-01-05T10:00:00." + "1" * 5000 + "x",
}


@pytest.mark.parametrize(("timestamp", "expected"), VALID.items(), ids=list(VALID))
def test_a_valid_timestamp_is_shown_in_utc_with_milliseconds(api, timestamp, expected):
    """docs/interface.md, G19, G20"""
    response = api.book(schedule_time=timestamp)

    assert response.status_code == 201, response.json()
    assert api.get_appointment(response.json()["data"]["id"])["schedule_time"] == expected


@pytest.mark.parametrize("timestamp", INVALID.values(), ids=INVALID)
def test_an_invalid_timestamp_is_400_and_changes_nothing(api, organization, timestamp):
    """docs/interface.md, G19"""
    before = snapshot_of(organization)

    assert_invalid_fields(api.book(schedule_time=timestamp), "schedule_time")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    ("timestamp", "message"),
    [
        ("2027-01-05", "must be an ISO 8601 timestamp such as 2027-01-05T10:00:00Z"),
        ("2027-02-30T10:00:00Z", "must be an existing date and time"),
        ("2101-01-01T00:00:00Z", "must be in the years 1970 to 2100"),
        ("0001-01-01T00:00:00+14:00", "must be in the years 1970 to 2100"),
    ],
)
def test_an_invalid_timestamp_is_refused_with_the_reason(api, timestamp, message):
    """docs/interface.md, G19"""
    assert api.book(schedule_time=timestamp).json()["message"] == f"schedule_time {message}"


@pytest.mark.parametrize("timestamp", [1799143200, 1799143200000, 1.5, True, [], {}], ids=str)
def test_a_timestamp_of_another_json_type_is_400(api, organization, timestamp):
    """docs/interface.md, G12"""
    before = snapshot_of(organization)

    assert_invalid_fields(api.book(schedule_time=timestamp), "schedule_time")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("timestamp", ["1970-01-01T00:00:00+01:00", "2100-12-31T23:59:59-01:00"])
def test_a_timestamp_whose_offset_moves_it_out_of_the_valid_years_is_400(api, timestamp):
    """docs/interface.md, G19"""
    response = api.book(schedule_time=timestamp)

    assert_invalid_fields(response, "schedule_time")


def test_a_timestamp_from_a_response_equals_the_stored_one(api):
    """docs/interface.md, G19, G20"""
    first = api.book(schedule_time="2027-01-05T10:00:00.123987+02:00")
    schedule_time = api.get_appointment(first.json()["data"]["id"])["schedule_time"]

    again = api.book(schedule_time=schedule_time)

    assert (schedule_time, again.status_code) == ("2027-01-05T08:00:00.123Z", 200)
    # A timestamp that was cut only for the response would lie outside of these bounds.
    bounds = {"scheduled_from": schedule_time, "scheduled_to": schedule_time}
    assert [row["id"] for row in api.get_data("/api/external/appointments", bounds)] == [first.json()["data"]["id"]]


def test_timestamps_are_stored_with_milliseconds(api, organization):
    """docs/interface.md, G19"""
    id = api.book(schedule_time="2027-01-05T10:00:00.123987Z").json()["data"]["id"]

    stored = Appointment.objects.of(organization).get(pk=id)
    assert stored.schedule_time == datetime(2027, 1, 5, 10, 0, 0, 123000, tzinfo=UTC)
    assert (stored.created_at.microsecond % 1000, stored.updated_at.microsecond % 1000) == (0, 0)


@pytest.mark.parametrize("name", ["created", "updated"])
def test_an_object_is_found_by_its_own_timestamps(api, name):
    """docs/interface.md, G29"""
    id = api.book().json()["data"]["id"]
    timestamp = api.get_appointment(id)[f"{name}_at"]

    rows = api.get_data("/api/external/appointments", {f"{name}_from": timestamp, f"{name}_to": timestamp})

    assert [row["id"] for row in rows] == [id]
