"""Unusual phone numbers (docs/guarantees.md, F22). Common mistakes are in tests/contract/submit/test_fields.py."""

import pytest

from tests.client import ApiClient
from tests.contract.assertions import assert_invalid_fields

# Valid international numbers (freephone, satellite) whose prefix belongs to no country.
WITHOUT_COUNTRY = ["+80012345678", "+979123456789", "+8821612345678", "+88312345678901", "+870123456789"]
INVALID = [
    "0" * 10_000,
    "+" * 10_000,
    "٠٢٠ ٧٩٤٦ ٠٠٠٠",
    "+1-800-FLOWERS;ext=" + "9" * 500,
    "tel:;phone-context=+",
    "\x1b[31m",
    "+",
    "1e10",
]


@pytest.mark.parametrize("phone", [*WITHOUT_COUNTRY, *INVALID], ids=lambda phone: repr(phone[:20]))
def test_a_booking_is_accepted_without_its_phone_if_that_is_invalid_or_has_no_country(
    api: ApiClient, phone: str
) -> None:
    response = api.book(lead_phone=phone)

    lead = api.get_appointment(response.json()["data"]["id"])["lead"]
    assert (response.status_code, lead["phone_e164"], lead["phone_country"]) == (201, None, None)


@pytest.mark.parametrize("country", ["US", "GB", "AC"])
@pytest.mark.parametrize("phone", WITHOUT_COUNTRY)
def test_an_opt_in_with_a_phone_of_no_country_is_400(api: ApiClient, phone: str, country: str) -> None:
    assert_invalid_fields(api.submit(phone_e164=phone, phone_country=country), "phone_e164")


@pytest.mark.parametrize("country", ["001", "ZZ", "us", "U\u017f", "\uff35\uff33", "US\n\u200b"])
def test_an_invalid_country_is_400(api: ApiClient, country: str) -> None:
    assert_invalid_fields(api.submit(phone_e164="+442079460000", phone_country=country), "phone_country")
