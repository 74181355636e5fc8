"""Errors are classes with a sentence; this one file turns them into answers (decision 2).

A service raises a `Problem`; it never knows a status code. Field messages are predicates ("is required"), so that
message and errors read as sentences that start with the field's name.
"""

import logging
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError, connection
from django.http import Http404
from psycopg.errors import IdleInTransactionSessionTimeout, ReadOnlySqlTransaction
from rest_framework import exceptions, status
from rest_framework.response import Response

logger = logging.getLogger(__name__)

NOT_FOUND = "Resource not found"
RETRY_AFTER_SECONDS = 5
UNAVAILABLE = "The service is briefly unavailable; send the request again"


class DomainError(Exception):
    """Something a client or staff member asked for that can't be done, said in one sentence."""

    message = "The request can't be carried out"

    def __init__(self, **facts: Any) -> None:
        super().__init__(self.message.format(**facts))


class ResourceNotFound(DomainError):
    """What the request is about does not exist in this organization."""

    message = NOT_FOUND


class Conflict(DomainError):
    """What the request asks for contradicts what is there."""


class ValidationFailed(DomainError):
    """Fields that can't be taken: `{path: [predicate, ...]}`."""

    message = "The request has invalid fields"

    def __init__(self, errors: dict[str, list[str]]) -> None:
        super().__init__()
        self.errors = {path: [field_message(path, predicate) for predicate in found] for path, found in errors.items()}


class BodyTooLarge(exceptions.APIException):
    """A body over the limit."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = "The request body is larger than 1 MiB"


class TooManyRequests(exceptions.APIException):
    """A rate limit is used up; `wait` is in seconds."""

    status_code = status.HTTP_429_TOO_MANY_REQUESTS
    default_detail = "Too many requests"

    def __init__(self, *, wait: int) -> None:
        super().__init__()
        self.wait = wait


def field_message(path: str, predicate: str) -> str:
    """`external_reference` and `is required`, as one."""
    return f"{path} {predicate}" if path else predicate


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """The error form for whatever was raised; never HTML, and nothing of the inside."""
    if isinstance(error, DomainError):
        return problem_answer(error)
    if isinstance(error, exceptions.ValidationError):
        return problem_answer(ValidationFailed(dict(flatten_errors(error.detail))))
    if isinstance(error, Http404 | exceptions.NotFound):
        return error_response(404, NOT_FOUND)
    if isinstance(error, exceptions.APIException):
        return api_answer(error)
    if isinstance(error, RequestDataTooBig):
        return error_response(413, BodyTooLarge.default_detail)
    if isinstance(error, SuspiciousOperation):
        return error_response(400, "The request is malformed")
    if isinstance(error, PermissionDenied):
        return error_response(403, "Not allowed")
    if is_unavailable(error):
        logger.warning("the database did not answer: %s", type(error.__cause__ or error).__name__)
        return unavailable()
    logger.exception("unexpected error", exc_info=error)
    return error_response(500, "Something went wrong on our side; the X-Request-Id header names this request")


def problem_answer(problem: DomainError) -> Response:
    """400 for fields, 404 for what is missing, 409 for what contradicts."""
    if isinstance(problem, ValidationFailed):
        first = next(iter(problem.errors.values()))[0]
        return error_response(400, first, errors=problem.errors)
    codes = {ResourceNotFound: 404, Conflict: 409}
    code = next((code for kind, code in codes.items() if isinstance(problem, kind)), 400)
    return error_response(code, str(problem))


def api_answer(error: exceptions.APIException) -> Response:
    """DRF's own refusals, in our form."""
    response = error_response(error.status_code, str(error.detail))
    wait = getattr(error, "wait", None)
    if wait is not None:
        response["Retry-After"] = str(wait)
    challenge = getattr(error, "auth_header", None)
    if challenge:
        response["WWW-Authenticate"] = challenge
    return response


def is_unavailable(error: BaseException | None) -> bool:
    """Whether the database is to blame: it does not answer, gave a statement up, is full, or takes no writes."""
    if isinstance(getattr(error, "__cause__", None), ReadOnlySqlTransaction):
        connection.close()  # it may lead to a server that another has replaced, which a new one will not
        return True
    return isinstance(error, OperationalError | InterfaceError) or isinstance(
        getattr(error, "__cause__", None), IdleInTransactionSessionTimeout
    )


def unavailable() -> Response:
    """The same request is worth sending again."""
    response = error_response(503, UNAVAILABLE)
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def error_response(code: int, message: str, **more: Any) -> Response:
    """The error form (interface 7)."""
    return Response({"status": "error", "message": message, **more}, status=code)


def flatten_errors(detail: Any, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """DRF's nested error details as dotted paths, in the order of the fields."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            own = "" if name == "non_field_errors" else str(name)
            yield from flatten_errors(inner, ".".join(filter(None, (path, own))))
        return
    if isinstance(detail, list) and any(isinstance(item, dict | list) for item in detail):
        for index, inner in enumerate(detail):
            yield from flatten_errors(inner, f"{path}.{index}")
        return
    if detail:
        yield path, [str(item) for item in detail]
