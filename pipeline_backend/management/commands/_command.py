"""Base class and argument parsing of the commands."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error
from psycopg.errors import UndefinedColumn, UndefinedTable

from foundation.api.exceptions import DomainError, ValidationFailed, is_unavailable
from foundation.api.fields import MAX_NAME_LENGTH, parse_uuid
from organizations.models import Organization


class BaseServiceCommand(BaseCommand):
    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command. Raises CommandError if a service refuses, or if the database can't be used."""
        try:
            return super().execute(*args, **options)
        except DomainError as error:
            fields = error.errors.values() if isinstance(error, ValidationFailed) else [[str(error)]]
            raise CommandError("; ".join(message for messages in fields for message in messages)) from None
        except Error as error:
            if is_unavailable(error):
                raise CommandError(f"The database does not answer: {first_text_line(error)}") from None
            if isinstance(error.__cause__, UndefinedTable | UndefinedColumn):
                raise CommandError(f"The database is not up to date; run {manage_py('migrate')}") from None
            raise  # a bug, which needs its traceback

    def info(self, text: str) -> None:
        """Print a message for people on standard error; standard output is for what scripts read."""
        # `str` as the style function: Django would print everything on standard error in red.
        self.stderr.write(text, str)


def manage_py(command: str) -> str:
    """Return how to run another command; beside `make run` the line can be pasted as it is."""
    return f"{'.venv/bin/python ' if settings.LOCAL_RUN else ''}manage.py {command}"


def first_text_line(error: Exception) -> str:
    """Return the first line of a library's error message, which comes before its hints."""
    return str(error).strip().partition("\n")[0]


def clean_text(label: str, text: str, max_length: int = MAX_NAME_LENGTH) -> str:
    """Return the text without surrounding white space. Raises CommandError if it is too long for its column."""
    text = text.strip()
    if len(text) > max_length:
        raise CommandError(f"The {label} must be at most {max_length} characters long")
    return text


def clean_name(text: str) -> str:
    """Return the name without surrounding white space. Raises CommandError if it is blank or too long."""
    name = clean_text("name", text)
    if not name:
        raise CommandError("The name must not be blank")
    return name


def get_organization(text: str) -> Organization:
    """Return the organization with this id or exactly this name. Raises CommandError unless there is exactly one."""
    try:
        organizations = list(Organization.objects.filter(pk=parse_uuid(text)))
    except ValueError:
        organizations = list(Organization.objects.filter(name=text).order_by("created_at", "id"))
    if not organizations:
        raise CommandError(f"There is no organization {text}")
    # Names are not unique. Guessing could issue a key for the wrong tenant.
    if len(organizations) > 1:
        ids = ", ".join(str(organization.pk) for organization in organizations)
        raise CommandError(f"{len(organizations)} organizations are named {text}; use the id instead: {ids}")
    return organizations[0]
