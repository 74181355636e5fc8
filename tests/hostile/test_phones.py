"""Phone numbers that nobody expects: F22 of the catalogue. The usual bad ones are in tests/contract/submit/test_fields.py."""

import pytest

from tests.client import ApiClient
from tests.contract.assertions import assert_invalid_fields

OF_NO_COUNTRY = ["+80012345678", "+979123456789", "+8821612345678", "+88312345678901", "+870123456789"]
ODD = [
    "0" * 10_000,
    "+" * 10_000,
    "٠٢٠ ٧٩٤٦ ٠٠٠٠",
    "+1-800-FLOWERS;ext=" + "9" * 500,
    "tel:;phone-context=+",
    "\x1b[31m",
    "+",
    "1e10",
]


@pytest.mark.parametrize("phone", [*OF_NO_COUNTRY, *ODD], ids=lambda phone: repr(phone[:20]))
def test_a_phone_that_is_none_or_of_no_country_is_no_reason_to_lose_a_booking(api: ApiClient, phone: str) -> None:
    answer = api.book(lead_phone=phone)

    lead = api.get_appointment(answer.json()["data"]["id"])["lead"]
    assert (answer.status_code, lead["phone_e164"], lead["phone_country"]) == (201, None, None)


@pytest.mark.parametrize("country", ["US", "GB", "AC"])
@pytest.mark.parametrize("phone", OF_NO_COUNTRY)
def test_an_opt_in_with_a_phone_of_no_country_is_400(api: ApiClient, phone: str, country: str) -> None:
    assert_invalid_fields(api.submit(phone_e164=phone, phone_country=country), "phone_e164")


@pytest.mark.parametrize("country", ["001", "ZZ", "us", "U\u017f", "\uff35\uff33", "US\n\u200b"])
def test_a_country_that_is_none_is_400(api: ApiClient, country: str) -> None:
    assert_invalid_fields(api.submit(phone_e164="+442079460000", phone_country=country), "phone_country")
