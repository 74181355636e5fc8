"""The values that cells stand for. Each function raises ValueError with a message for the person who made the file.

Nothing is guessed: a text that could stand for two things is refused.
"""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from functools import partial
from uuid import UUID

from foundation.api import emails
from foundation.api.fields import MAX_TEXT_LENGTH, MAX_URL_LENGTH, YEARS, parse_http_url
from foundation.api.fields import parse_uuid as parse_id
from foundation.db.timestamps import truncate_to_ms
from leads.custom_values import without_zero_fraction
from leads.models import CustomField
from leads.phones import Phone, parse_phone, parse_without_plus

SPREADSHEET_ERRORS = {"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#SPILL!", "#CALC!"}
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
ISO_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?) ?(Z|[+-]\d{2}:?\d{2})?", re.I | re.ASCII
)
DOTTED_TIME = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,? +(\d{1,2}:\d{2}(?::\d{2})?))?", re.ASCII)
SLASHED = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?:,? +(.+))?", re.ASCII)
YEAR_FIRST = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:,? +(.+))?", re.ASCII)
CLOCK_12 = re.compile(r"(\d{1,2})(:\d{2}(?::\d{2})?) ?([ap])\.?m\.?", re.I | re.ASCII)
SERIAL = re.compile(r"\d{5}(\.\d+)?", re.ASCII)
EXCEL_EPOCH = datetime(1899, 12, 30)  # noqa: DTZ001  # of the days that Excel counts, in no zone
# By the decimal separator: the sign, the digits in groups of three, and the fraction.
NUMBERS = {
    ".": re.compile(r"([+-]?)([1-9]\d{0,2}(?:[,'’ \u00a0\u202f]\d{3})+|\d+)(?:\.(\d+))?", re.ASCII),
    ",": re.compile(r"([+-]?)([1-9]\d{0,2}(?:[.'’ \u00a0\u202f]\d{3})+|\d+)(?:,(\d+))?", re.ASCII),
}
# 1.500: a decimal number, or one thousand five hundred. No number of a workbook is written so (`number_text`).
THREE_DIGITS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)
# A phone number written as a decimal number, such as 15123456789.0.
FLOAT_PHONE = re.compile(r"(\+?\d{6,})\.0+", re.ASCII)
POWER_PHONE = re.compile(r"(\+?\d)[.,]?(\d*)E\+?(\d+)", re.I | re.ASCII)  # such as 1.5123456789E10
# A spreadsheet can take these for the beginning of a formula. Spaces before it don't help. Our export writes an
# apostrophe before it, and so also before a text that begins with one of its own.
FORMULA = re.compile(r"'*+(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")  # full-width on purpose
# White space, and characters that are not shown: soft hyphen, zero-width ones, marks of direction and byte order.
INVISIBLE = "\t\n\r \u00a0\u202f\u3000\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
YES, NO = {"yes", "true", "1", "y", "x"}, {"no", "false", "0", "n"}
WRITE_TIME = "write it as 2027-01-05 10:00"
TWO_WAYS = "can be read in two ways, day or month first"
# Characters of a time or an ID, and of a name or a short value: a longer cell is refused before it is parsed. The names
# of members consist of two with 255 characters each.
MAX_TIME, MAX_NAME = 100, 600


@dataclass(frozen=True)
class Reading:
    """How the file writes what could be read in several ways; "" or None if it isn't known."""

    country: str = ""  # of phones without +
    numbers: str = ""  # the decimal separator
    dates: str = ""  # the order: DMY or MDY
    time_of_day: time | None = None  # of dates without one
    is_workbook: bool = False  # whose numbers and dates have types


class BadCell(ValueError):
    """A cell that can't be read. `reason` doesn't quote it, so it is the same for all cells with this problem.

    `value` is the part of it that can be, if there is one.
    """

    def __init__(self, text: str, reason: str, advice: str = "", *, value: object = None) -> None:
        super().__init__(f"“{shorten(text)}” {reason}{advice and f'; {advice}'}")
        self.reason, self.value = reason, value


def is_blank(text: str) -> bool:
    """Return whether no character of the text is visible."""
    return not text.strip() or not text.strip(INVISIBLE)


def clean(text: str) -> str:
    """Return the cell's text without surrounding white space and the apostrophe that guards against formulas."""
    text = text.strip()
    if text in SPREADSHEET_ERRORS:
        raise BadCell(text, "is an error of the spreadsheet")
    return unguarded(text)


def guarded(text: str) -> str:
    """Return the text with an apostrophe in front if spreadsheets could run it as a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def unguarded(text: str) -> str:
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
        problem = str(error) if str(error) != emails.INVALID else "is not an e-mail address"
        raise BadCell(text, problem) from None


def parse_url(text: str) -> str:
    if len(text) <= MAX_URL_LENGTH:
        with suppress(ValueError):
            return parse_http_url(text)
    raise BadCell(text, "is not an http or https address")


def parse_phone_number(text: str, country: str) -> Phone:
    if match := FLOAT_PHONE.fullmatch(limited(text, 40)):
        text = match[1]
    if match := POWER_PHONE.fullmatch(text):
        if len(match[2]) != int(match[3]):
            raise BadCell(text, "is a rounded number", "write all digits of the phone number")
        text = match[1] + match[2]
    phone = parse_without_plus(text, country) or parse_phone(text, country)
    is_abroad = text.startswith("+")
    if phone is None and text.startswith("00"):
        phone, is_abroad = parse_phone(f"+{text[2:]}", country), True  # as most countries dial abroad
    if phone is None:
        raise BadCell(text, "is not a phone number", f"without + it is read as one of {country}")
    if not (is_abroad or phone.is_valid):
        raise BadCell(text, f"is not a phone number of {country}", "write it with + and the code of its country")
    if phone.extension:
        raise BadCell(text, "has an extension, which is left out", value=phone)
    return phone


def parse_time(text: str, zone: tzinfo, reading: Reading = Reading()) -> datetime:
    """Return a time in UTC: ISO 8601, 5.1.2027 10:00, or a spreadsheet's number. Without an offset it is the zone's."""
    limited(text, MAX_TIME)
    try:
        local = parse_local(with_year_first(text, reading), text, reading)
    except BadCell:
        raise
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


def with_year_first(text: str, reading: Reading) -> str:
    """Return 1/5/2027 9:00 pm as 2027-05-01 21:00. Raises BadCell if the order of the date isn't known."""
    if match := YEAR_FIRST.fullmatch(text):
        year, month, day, clock = match.groups(default="")
    elif match := SLASHED.fullmatch(text):
        if not reading.dates:
            raise BadCell(text, TWO_WAYS, f"choose the order of dates, or {WRITE_TIME}")
        month, day, year, clock = match.groups(default="")
        month, day = (month, day) if reading.dates == "MDY" else (day, month)
    else:
        return text
    if twelve := CLOCK_12.fullmatch(clock):
        hour = int(twelve[1])
        if not 1 <= hour <= 12:
            raise ValueError(text)
        clock = f"{hour % 12 + 12 * (twelve[3].lower() == 'p')}{twelve[2]}"
    return f"{year}-{month:0>2}-{day:0>2} {clock}".rstrip()


def parse_local(text: str, cell: str, reading: Reading) -> datetime:
    """Return the time, with an offset if it has one. Raises BadCell for a date without time, else ValueError."""
    if date_only := find_date(text):
        if reading.time_of_day is None:
            raise BadCell(cell, "has no time of day", f"choose a time for all such rows, or {WRITE_TIME}")
        return datetime.combine(date_only, reading.time_of_day)
    if match := ISO_TIME.fullmatch(text):
        day, clock, zone = match.groups(default="")
        return datetime.fromisoformat(f"{day}T{pad(clock)}{zone.upper()}")
    if match := DOTTED_TIME.fullmatch(text):
        day, month, year, clock = match.groups()
        return datetime.fromisoformat(f"{year}-{month:0>2}-{day:0>2}T{pad(clock)}")
    if SERIAL.fullmatch(text):
        return EXCEL_EPOCH + timedelta(days=float(text), microseconds=500)
    raise ValueError(text)


def pad(clock: str) -> str:
    return clock if clock[1] != ":" else f"0{clock}"


def find_date(text: str) -> date | None:
    """Return a date without time, or None for another text. Raises ValueError for an impossible date."""
    if ISO_DATE.fullmatch(text):
        return date.fromisoformat(text)
    if (match := DOTTED_TIME.fullmatch(text)) and not match[4]:
        return date(int(match[3]), int(match[2]), int(match[1]))
    if SERIAL.fullmatch(text) and float(text).is_integer():
        return (EXCEL_EPOCH + timedelta(days=int(float(text)))).date()
    return None


def parse_date(text: str, reading: Reading) -> date:
    with suppress(ValueError):
        if day := find_date(with_year_first(text.removesuffix(" 00:00:00"), reading)):
            return day
    raise BadCell(text, "is not a date, or can be read in two ways", "write it as 2027-01-05")


def parse_custom_value(
    text: str, field: CustomField, options: Mapping[str, str], reading: Reading = Reading()
) -> str | float | bool:
    """Return the value of a cell; `options` are the field's, by text and by folded text. Raises ValueError."""
    if field.type != CustomField.Type.TEXT:
        limited(text, MAX_NAME)
    match field.type:
        case CustomField.Type.NUMBER:
            return parse_number(text, reading)
        case CustomField.Type.BOOLEAN:
            if text.lower() not in YES | NO:
                raise BadCell(text, "is neither yes nor no")
            return text.lower() in YES
        case CustomField.Type.DATE:
            return parse_date(text, reading).isoformat()
        case CustomField.Type.SELECT:
            option = options.get(text) or options.get(text.casefold())
            if option is None:
                raise BadCell(text, "is none of the options", f"there are: {shorten(', '.join(field.options), 300)}")
            return option
    return parse_text(text)


def parse_number(text: str, reading: Reading) -> float:
    number = math.nan
    if not reading.numbers and THREE_DIGITS.fullmatch(text):
        raise BadCell(text, "can be read in two ways, with a point or without", "choose the format of numbers")
    match = NUMBERS[reading.numbers].fullmatch(text) if reading.numbers else None
    if match:
        number = float(f"{match[1]}{re.sub('[^0-9]', '', match[2])}.{match[3] or 0}")
    elif reading.numbers != "," or reading.is_workbook:
        with suppress(ValueError):
            number = float(text)
    if not math.isfinite(number) or "_" in text:
        example = "1234,5" if reading.numbers == "," else "1234.5"
        raise BadCell(text, "is not a number", f"choose the format of numbers, or write it as {example}")
    return without_zero_fraction(number)


def parse_uuid(text: str) -> UUID:
    try:
        return parse_id(limited(text, MAX_TIME))
    except ValueError:
        raise BadCell(text, "is not an ID") from None


def shorten(text: str, length: int = 80) -> str:
    return text if len(text) <= length else f"{text[:length]}…"
