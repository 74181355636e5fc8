"""The service with demo data: its web server and worker, on a database of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pipeline_backend.local import ephemeral
from tests.browser.prepare import COMMAND
from tests.databases import empty_database
from tests.faults.stack import ROOT, Stack


@dataclass
class Site(Stack):
    """The processes. `members` has the e-mail of a member with each role, `rows` the id of a row of each model."""

    database_url: str = ""
    members: dict[str, str] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)

    def servers(self) -> dict[str, str]:
        """Return the settings that name our database and our Redis."""
        return {"DATABASE_URL": self.database_url, "REDIS_URL": self.redis_url}

    def run(self, *arguments: str) -> str:
        """Run Python with these arguments in the service's environment; return what it prints."""
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment("run"), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def running_site(folder: Path) -> Iterator[Site]:
    """Create the database and its data, collect the static files, and start the service."""
    template = os.environ.get(ephemeral.TEMPLATE)
    with empty_database("browser", template=template) as url, Site(folder, database_url=url) as site:
        site.settings |= {
            "ADMIN_REQUESTS_PER_MINUTE": "100000",
            "BASE_URL": site.url(""),
            "LOCAL_RUN": "true",
            "STATIC_ROOT": str(folder / "static"),
        }
        site.run("manage.py", "collectstatic", "--noinput", "--verbosity", "0")
        facts = json.loads(site.run(*COMMAND))
        site.members, site.rows = facts["members"], facts["rows"]
        site.start("web", "worker")
        yield site
