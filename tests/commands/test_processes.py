"""The commands as scripts meet them: processes with exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest

from organizations.models import Organization, User
from tests.client import ApiClient
from tests.commands.runner import REAL_HASHER, file_mode, run_subprocess


@pytest.mark.django_db(transaction=True)
def test_what_a_script_reads_stands_alone_and_a_failure_is_exit_code_1(settings: Any) -> None:
    settings.PASSWORD_HASHERS = [REAL_HASHER]
    opened = run_subprocess(
        "create_organization",
        "Initech",
        "--owner-email",
        "peter@initech.example",
        "--owner-password-stdin",
        given="correct horse battery\n",
    )
    key = run_subprocess("create_api_key", opened.stdout.strip(), "--name", "Zapier")
    failed = run_subprocess("create_api_key", "Nobody", "--name", "Zapier")

    assert (opened.returncode, key.returncode) == (0, 0)
    assert opened.stdout == f"{Organization.objects.get().pk}\n"
    assert User.objects.get().check_password("correct horse battery")
    assert ApiClient(key.stdout.strip()).get("/api/external/leads").status_code == 200
    assert (failed.returncode, failed.stdout, failed.stderr) == (
        1,
        "",
        "CommandError: There is no organization Nobody\n",
    )


@pytest.mark.django_db(transaction=True)
def test_the_demo_can_be_used_with_its_facts_and_its_events_are_told_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "demo.json"

    done = run_subprocess("demo", "--facts", file)

    facts = json.loads(file.read_text())
    api = ApiClient(facts["api_key"])
    events = api.list_events(limit=100)
    assert done.returncode == 0, done.stderr
    assert file_mode(file) == 0o600
    assert facts["api_key"] not in done.stdout + done.stderr
    assert events[0]["type"] in {"opt_in.created", "lead.created"}
    assert [event["timestamp"] for event in events] == sorted(event["timestamp"] for event in events)


def test_a_database_that_is_away_is_said_in_a_sentence() -> None:
    away = {"DATABASE_URL": "postgres://pipeline:secret-word@127.0.0.1:1/pipeline"}

    failed = run_subprocess("create_organization", "Initech", "--owner-email", "peter@initech.example", **away)
    looked = run_subprocess("doctor", **away)

    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("CommandError: The database does not answer: ")
    assert looked.returncode == 1
    assert "- The database does not answer; look at DATABASE_URL (" in looked.stdout
    assert "secret-word" not in failed.stderr + looked.stdout + looked.stderr


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "command", ["create_organization", "create_api_key", "revoke_api_key", "create_webhook_endpoint", "demo", "doctor"]
)
def test_every_command_explains_itself(command: str) -> None:
    asked = run_subprocess(command, "--help")

    assert asked.returncode == 0
    assert len(asked.stdout) > 500
