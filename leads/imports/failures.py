"""Which errors refuse a row, or the file, and which let the turn fail, so that a later one tries again."""

import logging

from django.db import DataError, IntegrityError, InterfaceError, OperationalError
from psycopg.errors import ProgramLimitExceeded

from foundation.api.exceptions import DomainError
from leads.imports.models import Import
from leads.imports.turns import Overtaken

logger = logging.getLogger(__name__)

# Turns that fail before a row is refused for an unexpected error: it may be one that passes by itself.
MAX_FAILURES = 5
UNEXPECTED = "An unexpected error, which was logged"


def is_of_row(error: Exception, file_import: Import) -> bool:
    """Return whether one of the rows is to be refused for the error."""
    return isinstance(error, DomainError | IntegrityError | DataError) or is_final(error, file_import)


def is_final(error: Exception, file_import: Import) -> bool:
    """Return whether to continue without what the error is about: `MAX_FAILURES` turns have failed already.

    A database that can't be reached, or a lock, passes by itself.
    """
    passes = isinstance(error, Overtaken | OperationalError | InterfaceError)
    is_limit = isinstance(error.__cause__, ProgramLimitExceeded)
    return file_import.failures >= MAX_FAILURES and (is_limit or not passes)


def problem_of(error: Exception) -> str:
    """Return what people read about what is refused for the error; an unexpected one is logged."""
    if isinstance(error, DomainError):
        return error.reason
    if isinstance(error, IntegrityError | DataError):
        return "The database refuses it, because it contradicts another record"
    logger.error("an import, or its undoing, continues without a row", exc_info=error)
    return UNEXPECTED
