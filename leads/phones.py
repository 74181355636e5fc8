"""Phone numbers, stored as E.164 with an ISO country (docs/interface.md, L6 to L8)."""

from dataclasses import dataclass

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberFormat


@dataclass(frozen=True)
class Phone:
    """A phone number in E.164 form and its ISO 3166-1 alpha-2 country."""

    e164: str
    country: str


def parse_phone(text: str, default_country: str) -> Phone | None:
    """Return the number in `text`, or None if it can't be read as one.

    A number without + is read as one of the default country.
    """
    try:
        number = phonenumbers.parse(text, default_country)
    except NumberParseException:
        return None
    if not phonenumbers.is_possible_number(number):
        return None
    country = phonenumbers.region_code_for_number(number) or country_of_calling_code(number.country_code)
    # International numbers such as +800 belong to no country, and a number is only stored with its country.
    if not is_country_code(country):
        return None
    return Phone(phonenumbers.format_number(number, PhoneNumberFormat.E164), country)


def country_of_calling_code(calling_code: int | None) -> str:
    """Return the main country of a calling code: US for 1."""
    return phonenumbers.region_code_for_country_code(calling_code or 0)


def is_country_code(code: str) -> bool:
    """Return whether this is the ISO 3166-1 alpha-2 code of a country that has phone numbers."""
    return code in phonenumbers.SUPPORTED_REGIONS


def calling_code(country: str) -> int:
    """Return a country's calling code: 1 for US and for CA."""
    return phonenumbers.country_code_for_region(country)
