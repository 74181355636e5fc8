"""Moments: points in time at millisecond precision, as the interface shows them (decision 4)."""

from datetime import UTC, datetime
from typing import Any

from django.db import models
from django.utils import timezone


def truncate_to_ms(moment: datetime) -> datetime:
    """The same moment in UTC, its fraction cut to milliseconds."""
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def now() -> datetime:
    """This moment, as it would be stored and shown."""
    return truncate_to_ms(timezone.now())


def isoformat_z(moment: datetime) -> str:
    """The moment as the interface writes it: 2027-01-05T10:00:00.000Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


class MillisecondDateTimeField(models.DateTimeField):
    """A `timestamptz(3)`: what a client reads is exactly what the database compares."""

    def db_type(self, connection: Any) -> str:
        """The column's type."""
        return "timestamp(3) with time zone"
