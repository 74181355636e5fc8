"""The sentences that many tests end with."""

from typing import Any


def refused(answer: Any, code: int, message: str) -> None:
    """An answer in the error form that says exactly this."""
    assert (answer.status_code, answer.headers["Content-Type"]) == (code, "application/json")
    assert answer.json() == {"status": "error", "message": message}


def bad_among(answer: Any, *fields: str) -> None:
    """A 400 that names at least one of these fields, and no good one."""
    named = answer.json()["errors"]
    assert named
    bad(answer, *named)
    assert set(named) <= set(fields)


def bad(answer: Any, *fields: str) -> None:
    """A 400 that names exactly these fields; its message starts with one of them (decision 2)."""
    body = answer.json()
    assert (answer.status_code, body["status"], sorted(body)) == (400, "error", ["errors", "message", "status"]), body
    assert sorted(body["errors"]) == sorted(fields)
    assert all(isinstance(sentence, str) for sentences in body["errors"].values() for sentence in sentences)
    assert body["message"].split(" ")[0] in fields


def unreadable(answer: Any) -> None:
    """A 400 that is about the body as a whole: no field can be named."""
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/json")
    assert answer.json()["status"] == "error"
    assert answer.json()["message"]
