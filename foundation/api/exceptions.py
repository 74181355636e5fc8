"""Errors, and their responses (docs/interface.md, G4 to G6).

A service raises a `DomainError`, which has a message and knows no status code. `exception_handler` turns it, and
whatever else is raised, into a response. Messages about fields are predicates ("is required"), so that with the field's
name in front they read as sentences.
"""

import logging
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig, SuspiciousOperation, TooManyFieldsSent
from django.db import InterfaceError, OperationalError, connection
from psycopg.errors import IdleInTransactionSessionTimeout, InternalError, ReadOnlySqlTransaction, TransactionTimeout
from rest_framework import exceptions, status
from rest_framework.response import Response

logger = logging.getLogger(__name__)

MALFORMED = "The request is malformed"
TOO_MANY_PARAMETERS = "The request has more than 1,000 parameters"  # DATA_UPLOAD_MAX_NUMBER_FIELDS
WRONG_HOST = "The Host header names a host that this service does not serve"
NOT_FOUND = "Resource not found"
SERVER_ERROR = "Something went wrong on our side; the X-Request-Id header names this request"
MESSAGES = {404: NOT_FOUND, 429: "Too many requests"}  # in place of DRF's
MAX_QUOTED_NAME = 64  # of a field's name in a message, which would otherwise be as long as the request
RETRY_AFTER_SECONDS = 5
UNAVAILABLE = "The service is briefly unavailable; send the request again"


class DomainError(Exception):
    """A request that can't be carried out, with a message for the client or staff member who made it."""

    message = "The request can't be carried out"  # if none is given

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.message)

    @property
    def reason(self) -> str:
        """What people read: of several problems the first one."""
        return str(self)


class ResourceNotFound(DomainError):
    message = NOT_FOUND


class Conflict(DomainError):
    """The request contradicts the current state of the data."""


class BeingErased(DomainError):
    """A worker is erasing the lead: what would be stored now would be erased, too."""

    message = "The lead is being erased; send the request again"
    wait = 60  # seconds: Retry-After


class NotAllowed(DomainError):
    """Another actor may do what was requested."""


class PreconditionFailed(DomainError):
    """The object is no longer in the version that the client has seen; `data` is the object as it is now."""

    def __init__(self, message: str, data: object) -> None:
        super().__init__(message)
        self.data = data


class ValidationFailed(DomainError):
    """Fields with invalid values, as `{path: [predicate, …]}`."""

    message = "The request has invalid fields"

    def __init__(self, errors: dict[str, list[str]]) -> None:
        super().__init__()
        self.errors = {
            path: [f"{path} {predicate}" if path else predicate for predicate in predicates]
            for path, predicates in errors.items()
        }

    @property
    def reason(self) -> str:
        return str(next(iter(self.errors.values()))[0])


class BodyTooLarge(exceptions.APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = "The request body is larger than 1 MiB"


class RequestInProgress(exceptions.APIException):
    status_code = status.HTTP_409_CONFLICT
    default_detail = "A request with this Idempotency-Key is in progress; send the request again"
    wait = 1  # DRF's exception handler makes it Retry-After


class BeingMoved(exceptions.APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_detail = "The organization is being moved to another server; send the request again"
    wait = RETRY_AFTER_SECONDS  # DRF's exception handler makes it Retry-After


class KeyReused(exceptions.APIException):
    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY
    default_detail = "Idempotency-Key was sent with another request; use a new key for a new request"


STATUS_CODES = {NotAllowed: 403, ResourceNotFound: 404, Conflict: 409, BeingErased: 503}


def exception_handler(error: Exception, context: dict[str, object]) -> Response:
    """Return the response to any exception: always JSON, and without internal details."""
    from rest_framework import views  # noqa: PLC0415  # loads our authentication, which needs this module

    error = as_domain_error(error)
    if isinstance(error, ValidationFailed):
        return error_response(400, next(iter(error.errors.values()))[0], errors=error.errors)
    if isinstance(error, PreconditionFailed):
        return error_response(412, str(error), data=error.data)
    if isinstance(error, DomainError):
        code = next((code for kind, code in STATUS_CODES.items() if isinstance(error, kind)), 400)
        # Some are made for the admin, where messages end with a full stop.
        answer = error_response(code, str(error).removesuffix("."))
        if isinstance(error, BeingErased):
            answer["Retry-After"] = str(error.wait)
            answer._has_been_logged = True  # type: ignore[attr-defined]  # Django would log an error
        return answer
    if isinstance(error, RequestDataTooBig):
        return error_response(413, BodyTooLarge.default_detail)
    if isinstance(error, SuspiciousOperation):
        return error_response(400, TOO_MANY_PARAMETERS if isinstance(error, TooManyFieldsSent) else MALFORMED)
    response = views.exception_handler(error, context)
    if response is not None:
        # DRF's own messages end with a full stop, ours don't.
        message = MESSAGES.get(response.status_code, str(response.data["detail"]).removesuffix("."))
        response.data = {"status": "error", "message": message}
        if isinstance(error, BeingMoved):
            # Planned: Django would log an error for each request.
            response._has_been_logged = True  # type: ignore[attr-defined]
        return response
    if is_unavailable(error):
        # A warning without a traceback: an outage would otherwise fill the log with them.
        logger.warning("the database is unavailable: %s", type(error.__cause__ or error).__name__)
        response = error_response(503, UNAVAILABLE)
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return response
    logger.exception("unexpected error", exc_info=error, extra={"api_request": context.get("request")})
    return error_response(500, SERVER_ERROR)


def as_domain_error(error: Exception) -> Exception:
    if isinstance(error, exceptions.ValidationError):
        return ValidationFailed(dict(flatten_errors(error.detail)))
    if isinstance(error, ObjectDoesNotExist):
        logger.warning("a row was deleted during the request", exc_info=error)
        return ResourceNotFound()
    return error


def is_unavailable(error: BaseException | None) -> bool:
    """Return whether the database caused the error: it is down, full, read-only, or has canceled the statement.

    What the request has stored is unknown then: the connection may have ended just after the commit.
    """
    cause = getattr(error, "__cause__", None)
    if isinstance(cause, ReadOnlySqlTransaction):
        # After a failover the connection may lead to the old primary. A new connection will not.
        connection.close()
        return True
    if isinstance(cause, InternalError) and cause.sqlstate is None:
        # Not PostgreSQL's own: psycopg found the session in a state that it did not expect. After a COMMIT that is the
        # end of the session between the confirmation and "ready for the next statement".
        return True
    is_too_long = isinstance(cause, IdleInTransactionSessionTimeout | TransactionTimeout)
    return isinstance(error, OperationalError | InterfaceError) or is_too_long


def error_response(code: int, message: str, **extra: object) -> Response:
    return Response({"status": "error", "message": message, **extra}, status=code)


def flatten_errors(detail: Any, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield DRF's nested error details as dotted path and messages, in the order of the fields."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            own_name = "" if name == "non_field_errors" else str(name)
            yield from flatten_errors(inner, ".".join(filter(None, (path, own_name))))
        return
    if isinstance(detail, list) and any(isinstance(item, dict | list) for item in detail):
        for index, inner in enumerate(detail):
            yield from flatten_errors(inner, f"{path}.{index}")
        return
    if detail:
        yield path, [str(item) for item in detail]
