"""Assertions about error responses (docs/interface.md, G4 to G6)."""

from typing import Any


def assert_error(response: Any, status_code: int, message: str) -> None:
    """Assert an error response with exactly this message and no field errors."""
    assert (response.status_code, response.headers["Content-Type"]) == (status_code, "application/json")
    assert response.json() == {"status": "error", "message": message}


def assert_error_format(response: Any, status_code: int) -> None:
    """Assert an error response with some message and no field errors."""
    assert (response.status_code, response.headers["Content-Type"]) == (status_code, "application/json")
    assert (response.json()["status"], sorted(response.json())) == ("error", ["message", "status"])
    assert response.json()["message"]


def assert_invalid_fields(response: Any, *fields: str) -> None:
    """Assert a 400 that names exactly these fields; its message starts with one of them (docs/interface.md, G5)."""
    body = response.json()
    assert (response.status_code, body["status"], sorted(body)) == (400, "error", ["errors", "message", "status"]), body
    assert sorted(body["errors"]) == sorted(fields)
    assert all(isinstance(message, str) for messages in body["errors"].values() for message in messages)
    assert body["message"].split(" ")[0] in fields


def assert_invalid_among(response: Any, *fields: str) -> None:
    """Assert a 400 that names at least one of these fields and no other."""
    invalid_fields = response.json()["errors"]
    assert invalid_fields
    assert_invalid_fields(response, *invalid_fields)
    assert set(invalid_fields) <= set(fields)


def assert_unreadable_body(response: Any) -> None:
    """Assert a 400 about the body as a whole, where no field can be named."""
    assert (response.status_code, response.headers["Content-Type"]) == (400, "application/json")
    assert response.json()["status"] == "error"
    assert response.json()["message"]
