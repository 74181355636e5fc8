from typing import Literal

SentTestResponseStatus = Literal["success"]

SENT_TEST_RESPONSE_STATUS_VALUES: set[SentTestResponseStatus] = {
    "success",
}


def check_sent_test_response_status(value: str) -> SentTestResponseStatus:
    if value in SENT_TEST_RESPONSE_STATUS_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SENT_TEST_RESPONSE_STATUS_VALUES!r}")
