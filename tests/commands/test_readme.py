"""The commands of README.md work as they are written, with the settings of a local run."""

import re
import shlex
from pathlib import Path

import pytest

from tests.commands.runner import run_subprocess

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
COMMANDS = re.findall(r"^\.venv/bin/python manage\.py (.+)$", README, re.MULTILINE)


@pytest.mark.django_db(transaction=True)
def test_the_commands_succeed_one_after_the_other() -> None:
    results = {line: run_subprocess(*shlex.split(line, comments=True), LOCAL_RUN="true") for line in COMMANDS}

    assert len(results) == 7
    assert {line: result.stderr for line, result in results.items() if result.returncode} == {}
