"""Timestamps with millisecond precision, as the HTTP interface shows them (docs/interface.md, G20).

Migrations name `MillisecondDateTimeField` and `now` by their import path: this module never moves.
"""

from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone


def truncate_to_ms(timestamp: datetime) -> datetime:
    timestamp = timestamp.astimezone(UTC)
    return timestamp.replace(microsecond=timestamp.microsecond // 1000 * 1000)


def now() -> datetime:
    """Return the current time as it is stored and shown: in UTC, with milliseconds."""
    return truncate_to_ms(timezone.now())


def isoformat_z(timestamp: datetime) -> str:
    """Return the timestamp as the HTTP interface writes it: 2027-01-05T10:00:00.000Z."""
    # `isoformat` leaves the fraction out if it is zero, and writes +00:00 for UTC.
    return timestamp.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{timestamp.microsecond // 1000:03d}Z"


@cache
def zone_names() -> frozenset[str]:
    return frozenset(available_timezones())


def get_zone(name: str) -> ZoneInfo:
    """Return the time zone with this name, or UTC if there is none."""
    try:
        return ZoneInfo(name)
    # A stored name can be unknown to this server's time zone database; OSError and ValueError come from odd file names.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


class MillisecondDateTimeField(models.DateTimeField):
    """A `timestamptz(3)`: clients read exactly the value that the database compares.

    With microseconds in the column, a filter by a timestamp that was read from the API would miss its own row.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "timestamp(3) with time zone"
