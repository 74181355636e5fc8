"""Several machines on this computer: each has a copy of the code, folders and an environment of its own."""

import os
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from tests.deployment.files import ROOT, copy_build_context
from tests.faults.stack import Stack, reserved_port, wait_for
from tests.overrides import overriding

# Those that a web server needs to import Django; everything else comes from the settings.
OWN = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore:::celery.platforms"}
SECRETS = ["SECRET_KEY", "FIELD_ENCRYPTION_KEYS"]


@dataclass
class Machines(Stack):
    """A stack whose processes run on machines of their own, which share the settings, PostgreSQL and Redis only."""

    ports: dict[str, int] = field(default_factory=dict)

    def port_of(self, name: str) -> int:
        """Return the machine's port, which it keeps when it is replaced, as behind a load balancer."""
        while name not in self.ports:
            port = reserved_port()
            if port not in self.ports.values():
                self.ports[name] = port
        return self.ports[name]

    def address(self, name: str, path: str) -> str:
        """Return the path's URL at this web server."""
        return f"http://127.0.0.1:{self.ports[name]}{path}"

    def folder_of(self, name: str) -> Path:
        """Return the only folder that belongs to the machine."""
        return self.folder / "machines" / name

    def checkout(self, name: str) -> Path:
        """Return the folder with the machine's code; the first call copies what the image contains."""
        app = self.folder_of(name) / "app"
        if not app.exists():
            copy_build_context(app)
            for folder in ("home", "tmp"):
                (self.folder_of(name) / folder).mkdir()
        return app

    def environment(self, name: str) -> dict[str, str]:
        """Return the machine's environment: the settings that all have, and nothing of the tests' own."""
        folder = self.folder_of(name)
        common = (
            {name: os.environ[name] for name in SECRETS} | self.servers() | self.settings | overriding(**self.overrides)
        )
        own = {"HOME": f"{folder}/home", "TMPDIR": f"{folder}/tmp", "EMAIL_URL": f"filemail:///{folder}/mail"}
        return {**OWN, **own, **common}

    def replace(self, name: str) -> None:
        """Start a new machine instead of one that was killed: it has nothing of the old one's folders."""
        self.folder_of(name).rename(self.folder_of(f"{name}-killed"))
        self.start(name)

    def wait_until_ready(self, *names: str) -> None:
        """Wait until these web servers and workers do their work."""
        for name in names:
            is_ready = self.answers if name.startswith("web") else self.has_connected
            wait_for(lambda name=name, is_ready=is_ready: is_ready(name))

    def answers(self, name: str) -> bool:
        """Return whether a web server answers what a load balancer asks. Fails if it has ended."""
        assert self.processes[name].poll() is None, f"{name} has ended"
        try:
            with urllib.request.urlopen(self.address(name, "/readyz"), timeout=5) as response:
                return bool(response.status == 200)
        except OSError:
            return False

    def has_connected(self, name: str) -> bool:
        """Return whether a worker has started; before that, SIGTERM would end it like any program."""
        return f"{name}@test ready" in (self.folder / f"{name}.log").read_text()

    def written_files(self) -> list[Path]:
        """Return the files that machines have written, relative to the folder of all: name of the machine, path."""
        machines = self.folder / "machines"
        files = [path.relative_to(machines) for path in machines.rglob("*") if path.is_file()]
        return [file for file in files if file.parts[1] != "app" or not (ROOT / Path(*file.parts[2:])).exists()]
