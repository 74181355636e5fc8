"""Phone numbers, stored as E.164 with an ISO country (docs/interface.md, L6 to L8)."""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberFormat, ValidationResult

from foundation.api.exceptions import ValidationFailed

SEPARATORS = re.compile(r"[ ()./\u00a0-]")


@dataclass(frozen=True)
class Phone:
    e164: str
    country: str
    extension: str = field(default="", compare=False)  # isn't stored

    def __str__(self) -> str:
        return self.e164

    @property
    def is_valid(self) -> bool:
        """Whether the country has such numbers, as far as its numbering plan is known."""
        return phonenumbers.is_valid_number(phonenumbers.parse(self.e164))


def parse_phone(text: str, default_country: str) -> Phone | None:
    """Return the number, or None if it can't be read. Without + it is one of the default country."""
    try:
        number = phonenumbers.parse(text, default_country)
    except NumberParseException:
        return None
    # A number without its area code is possible only locally: no one could call it with the country code in front.
    if phonenumbers.is_possible_number_with_reason(number) != ValidationResult.IS_POSSIBLE:
        return None
    main_country = phonenumbers.region_code_for_country_code(number.country_code or 0)  # of a calling code: US for 1
    country = phonenumbers.region_code_for_number(number) or main_country
    # International numbers such as +800 belong to no country, and a number is only stored with its country.
    if country not in phonenumbers.SUPPORTED_REGIONS:
        return None
    return Phone(phonenumbers.format_number(number, PhoneNumberFormat.E164), country, number.extension or "")


def parse_without_plus(text: str, country: str) -> Phone | None:
    """Return the number if it begins with the country's code, and only its + is missing, as a spreadsheet drops it.

    In countries whose numbers begin with 0 at home, such as Germany, nothing else begins like that.
    """
    digits = SEPARATORS.sub("", text)
    code = phonenumbers.country_code_for_region(country)
    if phonenumbers.ndd_prefix_for_region(country, True) != "0" or not digits.startswith(str(code)):
        return None
    phone = parse_phone(f"+{digits}", country)
    return phone if phone and phone.is_valid else None


def parse_e164(text: str, country_text: str) -> Phone | None:
    """Return the number with its country as sent, or None if `text` is empty; a country alone is only checked.

    Raises ValidationFailed for `phone_e164` or `phone_country` (docs/interface.md, L8).
    """
    country = read_country_code(country_text) if country_text else None
    if country_text and country is None:
        raise ValidationFailed({"phone_country": ["must be an ISO 3166-1 alpha-2 country code"]})
    if not text:
        return None
    if country is None:
        raise ValidationFailed({"phone_country": ["is required when phone_e164 is given"]})
    phone = parse_phone(text, country) if text.startswith("+") else None
    if phone is None:
        raise ValidationFailed({"phone_e164": ["must be a phone number in E.164 form, such as +14155552671"]})
    # Countries share calling codes (+1 is US and CA), so the country is stored as sent, not as parsed.
    if phonenumbers.country_code_for_region(phone.country) != phonenumbers.country_code_for_region(country):
        raise ValidationFailed({"phone_country": ["must be a country of phone_e164"]})
    return Phone(phone.e164, country)


def read_country_code(text: str) -> str | None:
    """Return the code in upper case, or None if it is not that of a country that has phone numbers."""
    # `upper` turns some other letters into ASCII ones, such as the ligature "ﬁ".
    code = text.upper() if text.isascii() else ""
    return code if code in phonenumbers.SUPPORTED_REGIONS else None


@cache
def time_zones_by_country() -> dict[str, list[str]]:
    zones = defaultdict(list)
    for line in (files("tzdata") / "zoneinfo" / "zone.tab").read_text().splitlines():
        if not line.startswith("#"):
            country, _, zone, *_ = line.split("\t")
            zones[country].append(zone)
    return dict(zones)
