"""The values that cells stand for. Each function raises ValueError with a message for the person who made the file.

Nothing is guessed: a text that could stand for two things is refused.
"""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import partial
from uuid import UUID
from zoneinfo import ZoneInfo

from openpyxl.utils.datetime import from_excel

from foundation.api import emails
from foundation.api.fields import MAX_TEXT_LENGTH, MAX_URL_LENGTH, YEARS, parse_http_url
from foundation.api.fields import parse_uuid as parse_id
from foundation.db.timestamps import truncate_to_ms
from leads.custom_values import without_zero_fraction
from leads.models import CustomField
from leads.phones import Phone, parse_phone

SPREADSHEET_ERRORS = {"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#SPILL!", "#CALC!"}
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
ISO_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?) ?(Z|[+-]\d{2}:?\d{2})?", re.I | re.ASCII
)
DOTTED_TIME = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,? +(\d{1,2}:\d{2}(?::\d{2})?))?", re.ASCII)
SLASHED = re.compile(r"\d{1,4}[/-]\d{1,2}[/-]\d{1,4}.*", re.ASCII)
SERIAL = re.compile(r"\d{5}(\.\d+)?", re.ASCII)
# A spreadsheet can take these for the beginning of a formula. Spaces before it don't help.
FORMULA = re.compile(r"[\t\r\n]|\s*[=+\-@＝＋－＠]")  # full-width on purpose
YES, NO = {"yes", "true", "1", "y", "x"}, {"no", "false", "0", "n"}
WRITE_TIME = "write it as 2027-01-05 10:00"
# Characters of a time or an ID, and of a name or a short value: a longer cell is refused before it is parsed. The names
# of members consist of two with 255 characters each.
MAX_TIME, MAX_NAME = 100, 600


class BadCell(ValueError):
    """A cell that can't be read. `reason` doesn't quote it, so it is the same for all cells with this problem."""

    def __init__(self, text: str, reason: str, advice: str = "") -> None:
        super().__init__(f"“{shorten(text)}” {reason}{advice and f'; {advice}'}")
        self.reason = reason


def clean(text: str) -> str:
    """Return the cell's text without surrounding white space and the apostrophe that guards against formulas."""
    text = text.strip()
    if text in SPREADSHEET_ERRORS:
        raise ValueError(f"{text} is an error of the spreadsheet")
    # As our export writes a text that spreadsheets would run as a formula.
    return text[1:] if text.startswith("'") and FORMULA.match(text, 1) else text


def limited(text: str, length: int) -> str:
    if len(text) > length:
        raise ValueError(f"is longer than {length:,} characters")
    return text


parse_name = partial(limited, length=255)
parse_text = partial(limited, length=MAX_TEXT_LENGTH)


def parse_email(text: str) -> str:
    text = text.removeprefix("mailto:")
    try:
        return emails.parse_email(text)
    except ValueError as error:
        problem = str(error) if str(error) == emails.NOT_ASCII else "is not an e-mail address"
        raise BadCell(text, problem) from None


def parse_url(text: str) -> str:
    if len(text) <= MAX_URL_LENGTH:
        with suppress(ValueError):
            return parse_http_url(text)
    raise BadCell(text, "is not an http or https address")


def parse_phone_number(text: str, country: str) -> Phone:
    phone = parse_phone(limited(text, 40), country)
    if phone is None:
        raise BadCell(text, "is not a phone number", f"without + it is read as one of {country}")
    return phone


def parse_time(text: str, zone: ZoneInfo) -> datetime:
    """Return a time in UTC: ISO 8601, 5.1.2027 10:00, or a spreadsheet's number. Without an offset it is the zone's."""
    limited(text, MAX_TIME)
    if ISO_DATE.fullmatch(text):
        raise BadCell(text, "has no time of day", WRITE_TIME)
    if SLASHED.fullmatch(text) and not ISO_TIME.fullmatch(text):
        raise BadCell(text, "can be read in two ways, day or month first", WRITE_TIME)
    try:
        local = parse_local(text)
    except (ValueError, OverflowError):
        raise BadCell(text, "is not a time", WRITE_TIME) from None
    if local.tzinfo is None:
        local = local.replace(tzinfo=zone)
        if local.utcoffset() != local.replace(fold=1).utcoffset():
            advice = f"add the offset, as in {local:%Y-%m-%dT%H:%M}{local.isoformat()[-6:]}"
            raise BadCell(text, f"doesn't exist or comes twice in {zone}, where clocks change", advice)
    try:
        timestamp = truncate_to_ms(local)
    except OverflowError:
        raise BadCell(text, "is not a time") from None
    if timestamp.year not in YEARS:
        raise BadCell(text, f"is not in the years {YEARS[0]} to {YEARS[-1]}")
    return timestamp


def parse_local(text: str) -> datetime:
    if match := ISO_TIME.fullmatch(text):
        day, clock, zone = match.groups(default="")
        return datetime.fromisoformat(f"{day}T{pad(clock)}{zone.upper()}")
    if match := DOTTED_TIME.fullmatch(text):
        day, month, year, clock = match.groups()
        if clock is None:
            raise ValueError(text)
        return datetime.fromisoformat(f"{year}-{month:0>2}-{day:0>2}T{pad(clock)}")
    if SERIAL.fullmatch(text):
        value = from_excel(float(text))
        if isinstance(value, datetime):
            return value + timedelta(microseconds=500)
    raise ValueError(text)


def pad(clock: str) -> str:
    return clock if clock[1] != ":" else f"0{clock}"


def parse_date(text: str) -> date:
    try:
        if ISO_DATE.fullmatch(text.removesuffix(" 00:00:00")):
            return date.fromisoformat(text.removesuffix(" 00:00:00"))
        if (match := DOTTED_TIME.fullmatch(text)) and not match[4]:
            return date(int(match[3]), int(match[2]), int(match[1]))
    except ValueError:
        pass
    raise BadCell(text, "is not a date, or can be read in two ways", "write it as 2027-01-05")


def parse_custom_value(text: str, field: CustomField, options: Mapping[str, str]) -> str | float | bool:
    """Return the value of a cell; `options` are the field's, by their folded texts. Raises ValueError."""
    if field.type != CustomField.Type.TEXT:
        limited(text, MAX_NAME)
    match field.type:
        case CustomField.Type.NUMBER:
            return parse_number(text)
        case CustomField.Type.BOOLEAN:
            if text.lower() not in YES | NO:
                raise BadCell(text, "is neither yes nor no")
            return text.lower() in YES
        case CustomField.Type.DATE:
            return parse_date(text).isoformat()
        case CustomField.Type.SELECT:
            if text.casefold() not in options:
                raise BadCell(text, "is none of the options", f"there are: {shorten(', '.join(field.options), 300)}")
            return options[text.casefold()]
    return parse_text(text)


def parse_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in text:
        raise BadCell(text, "is not a number", "write it as 1234.5")
    return without_zero_fraction(number)


def parse_uuid(text: str) -> UUID:
    try:
        return parse_id(limited(text, MAX_TIME))
    except ValueError:
        raise BadCell(text, "is not an ID") from None


def shorten(text: str, length: int = 80) -> str:
    return text if len(text) <= length else f"{text[:length]}…"
