"""Commands as scripts run them: subprocesses with standard streams and exit codes."""

import pytest
from django.core.management import get_commands, load_command_class
from pytest_django import Settings

from organizations.models import Organization, User
from tests.client import ApiClient
from tests.commands.runner import REAL_HASHER, run_subprocess


@pytest.mark.django_db(transaction=True)
def test_standard_output_has_only_the_result_and_a_failure_has_exit_code_1(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = [REAL_HASHER]
    owner = ["--owner-email", "peter@initech.example", "--owner-password-stdin"]

    created = run_subprocess("create_organization", "Initech", *owner, stdin="correct horse battery\n")
    key = run_subprocess("create_api_key", created.stdout.strip(), "--name", "Zapier")
    failed = run_subprocess("create_api_key", "Nobody", "--name", "Zapier")

    assert (created.returncode, key.returncode) == (0, 0)
    assert created.stdout == f"{Organization.objects.get().pk}\n"
    assert User.objects.get().check_password("correct horse battery")
    assert ApiClient(key.stdout.strip()).get("/api/external/leads").status_code == 200
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "CommandError: There is no organization Nobody\n"


def test_an_unreachable_database_is_reported_in_a_sentence_without_its_password() -> None:
    unreachable = {"DATABASE_URL": "postgres://pipeline:secret-word@127.0.0.1:1/pipeline"}
    owner = ["--owner-email", "peter@initech.example"]

    failed = run_subprocess("create_organization", "Initech", *owner, **unreachable)
    doctor = run_subprocess("doctor", **unreachable)

    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("CommandError: The database does not answer: ")
    assert doctor.returncode == 1
    assert "- The database does not answer; check DATABASE_URL (" in doctor.stdout
    assert "secret-word" not in failed.stderr + doctor.stdout + doctor.stderr


@pytest.mark.parametrize(
    "command", ["create_organization", "create_api_key", "revoke_api_key", "create_webhook_endpoint", "demo", "doctor"]
)
def test_every_command_has_a_help_text(command: str) -> None:
    parser = load_command_class(get_commands()[command], command).create_parser("manage.py", command)

    assert len(parser.format_help()) > 500
