"""What the commands share: a refusal is one sentence and exit code 1; what scripts read stands alone on standard output."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError, ProgrammingError
from psycopg.errors import UndefinedColumn, UndefinedTable

from organizations.models import Organization
from pipeline_backend.api.exceptions import DomainError, ValidationFailed
from pipeline_backend.api.fields import MAX_NAME_LENGTH, parse_uuid


class BaseServiceCommand(BaseCommand):
    """A command that explains itself in sentences."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run it; what a service or the database refuses becomes a CommandError."""
        try:
            return super().execute(*args, **options)
        except DomainError as problem:
            raise CommandError(error_message(problem)) from None
        except (OperationalError, InterfaceError) as error:
            raise CommandError(f"The database does not answer: {first_text_line(error)}") from None
        except ProgrammingError as error:
            if not isinstance(error.__cause__, UndefinedTable | UndefinedColumn):
                raise
            raise CommandError("The database is not up to date; run manage.py migrate") from None

    def info(self, text: str) -> None:
        """Something for people, on standard error."""
        self.stderr.write(text, str)


def error_message(problem: DomainError) -> str:
    """What the service says, with every field it names."""
    if isinstance(problem, ValidationFailed):
        return "; ".join(message for messages in problem.errors.values() for message in messages)
    return str(problem)


def first_text_line(error: Exception) -> str:
    """The library's words without its hints."""
    return str(error).strip().partition("\n")[0]


def clean_text(what: str, text: str, longest: int = MAX_NAME_LENGTH) -> str:
    """The text, trimmed, if it fits its column."""
    text = text.strip()
    if len(text) > longest:
        raise CommandError(f"The {what} must be at most {longest} characters long")
    return text


def clean_name(text: str) -> str:
    """A name: some text."""
    name = clean_text("name", text)
    if not name:
        raise CommandError("The name must not be blank")
    return name


def get_organization(text: str) -> Organization:
    """The organization with this id or exactly this name."""
    try:
        found = list(Organization.objects.filter(pk=parse_uuid(text)))
    except ValueError:
        found = list(Organization.objects.filter(name=text).order_by("created_at", "id"))
    if not found:
        raise CommandError(f"There is no organization {text}")
    if len(found) > 1:
        raise CommandError(
            f"{len(found)} organizations are called {text}; say which by its id: {', '.join(str(one.pk) for one in found)}"
        )
    return found[0]
