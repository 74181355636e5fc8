"""Phone numbers: stored as E.164 with an ISO country (decision 15)."""

from dataclasses import dataclass

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberFormat


@dataclass(frozen=True)
class Phone:
    """A number that could be dialled, and the country it is read in."""

    e164: str
    country: str


def parse_phone(text: str, default_country: str) -> Phone | None:
    """The number, one without + read in the default country; None if it is none."""
    try:
        number = phonenumbers.parse(text, default_country)
    except NumberParseException:
        return None
    if not phonenumbers.is_possible_number(number):
        return None
    country = phonenumbers.region_code_for_number(number) or country_of_calling_code(number.country_code)
    if not is_country_code(
        country
    ):  # +800 and its like belong to the whole world, and E.164 with a country is what we keep
        return None
    return Phone(phonenumbers.format_number(number, PhoneNumberFormat.E164), country)


def country_of_calling_code(calling_code: int | None) -> str:
    """The first country of a calling code: +1 is US."""
    return phonenumbers.region_code_for_country_code(calling_code or 0)


def is_country_code(code: str) -> bool:
    """True for an ISO 3166-1 alpha-2 code that has phone numbers."""
    return code in phonenumbers.SUPPORTED_REGIONS


def calling_code(country: str) -> int:
    """The country's calling code: 1 for US and CA."""
    return phonenumbers.country_code_for_region(country)
