"""The commands of docs/operate.md, "Move or delete an organization", run in two installations in their order."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from organizations.models import Organization
from tests.client import ApiClient
from tests.commands.runner import database_url
from tests.databases import connected_to
from tests.docs.pages import blocks
from tests.factories import make_api, make_organization
from tests.moving.rows import tables_with

pytestmark = pytest.mark.django_db(transaction=True)
SECONDS = 300


def test_the_commands_of_the_page_move_an_organization_give_up_a_move_and_delete_it(cell: str, tmp_path: Path) -> None:
    organization = make_organization("Acme")
    api = make_api(organization)
    assert api.book().status_code == 201
    page = [block.text for block in blocks("sh") if block.heading == "Move or delete an organization"]
    export, load, delete, give_up = page
    id = {str(organization.pk)}

    def run(commands: str, url: str = "") -> str:
        program = f"{shlex.quote(sys.executable)} {settings.ROOT}/manage.py"
        script = re.sub(r"\.venv/bin/python manage\.py", program, commands)
        result = subprocess.run(
            ["bash", "-euc", script],
            cwd=tmp_path,
            env={**os.environ, "DATABASE_URL": url or database_url()},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    outputs = [run(export), run(load, cell)]
    [_, confirmed, _] = delete.splitlines()
    run(confirmed, cell)
    outputs += [run(give_up)]
    with connected_to(cell):
        assert not Organization.objects.exists()
        assert tables_with(id) == {}
    assert ApiClient(api.key).book(external_reference="not moved").status_code == 201

    (tmp_path / "acme.export").unlink()
    outputs += [run(export), run(load, cell), run(delete)]

    with connected_to(cell):
        assert api.book(external_reference="not moved").status_code == 200
        assert api.book(external_reference="moved").status_code == 201
    assert tables_with(id) == {}
    assert list(tmp_path.iterdir()) == []
    assert [re.sub(r"\d+ rows", "rows", output) for output in outputs] == [
        "rows of Acme were written to acme.export.\n",
        "Acme was imported, and is active.\n",
        "Acme is active again.\n",
        "rows of Acme were written to acme.export.\n",
        "Acme was imported, and is active.\n",
        "Acme was deleted. No table has its id any more.\n",
    ]
