"""The service with demo data: its web server and worker, on a database of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from dev.local import ephemeral
from tests.browser.prepare import COMMAND
from tests.databases import empty_database
from tests.faults.stack import ROOT, Stack

FACTS = ["members", "sessions", "rows", "key"]


@dataclass
class Site(Stack):
    """The processes, and what is known of their data.

    `members` has the e-mail of a member with each role, `sessions` the key of a session of each, `rows` the id of a row
    of each model, and `key` is an API key of the organization.
    """

    database_url: str = ""
    key: str = ""
    members: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
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

    def add_booking(self, reference: str, **fields: Any) -> None:
        """Book an appointment for a lead, through the API."""
        status, answer = self.book(self.key, external_reference=reference, **fields)
        assert status == 201, answer

    def select(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows that the database has for the query."""
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(query.encode(), values).fetchall()


@contextmanager
def running_site(folder: Path) -> Iterator[Site]:
    """Create the database, its data and the static files, and start the service."""
    template = os.environ.get(ephemeral.TEMPLATE)
    with empty_database("browser", template=template) as url, Site(folder, database_url=url) as site:
        site.settings |= {"BASE_URL": site.url(""), "STATIC_ROOT": str(folder / "static")}
        site.overrides |= {"ADMIN_REQUESTS_PER_MINUTE": 100_000, "LOCAL_RUN": True, "ROOT_URLCONF": "dev.urls"}
        facts = json.loads(site.run(*COMMAND))
        site.members, site.sessions, site.rows, site.key = (facts[name] for name in FACTS)
        site.start("web", "worker")
        yield site
