"""The examples of docs/api.md in one language, run one task after the other."""

import json
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dev.local import processes
from tests.docs.instance import SECONDS, Instance
from tests.docs.pages import blocks
from tests.faults.stack import reserved_port

PAGE = "docs/api.md"
NODE = shutil.which("node")
PROGRAMS = {"python": sys.executable, "js": NODE or ""}
LANGUAGES = ["sh", "python", *(["js"] if NODE else [])]
HEADINGS = {block.heading for block in blocks() if block.page == PAGE}
FORM = "A form on your website"


@dataclass
class Examples:
    instance: Instance
    language: str
    folder: Path
    port: int = field(default_factory=reserved_port)  # of the receiver

    @property
    def reference(self) -> str:
        return f"form-{self.language}"

    @property
    def environment(self) -> dict[str, str]:
        return {**self.instance.environment, "PIPELINE_API_KEY": self.instance.key}

    def run(self, heading: str, **variables: str) -> str:
        """Run the examples below a heading, with a reference and a lead of this language; return what they print.

        The receiver of webhooks is only stored.
        """
        texts = [block.text for block in blocks(self.language) if (block.page, block.heading) == (PAGE, heading)]
        texts = [self.place(text) for text in texts]
        if self.language == "sh":
            return "".join(self.instance.paste(texts, **variables))
        names = [self.write(text) for text in texts]
        return "".join(self.run_file(name) for name in names if not name.startswith("receiver."))

    def place(self, text: str) -> str:
        """Return the text with our addresses and key, and with a reference and a lead of this language."""
        text = text.replace("form-2041", self.reference).replace("grace@", f"{self.language}@")
        return self.instance.place(text.replace("pb_…", self.instance.key).replace("9000", str(self.port)))

    def write(self, text: str) -> str:
        """Store the example in a file with the name in its first line, and return the name."""
        name = text.split()[1]
        (self.folder / name).write_text(text)
        return name

    def run_file(self, name: str) -> str:
        command = [PROGRAMS[self.language], name]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def get(self, path: str, method: str = "GET", **fields: str) -> dict[str, Any]:
        """Return the response of the API."""
        request = urllib.request.Request(
            f"{self.instance.url}/api/external/{path}",
            json.dumps(fields).encode() if fields else None,
            headers={"x-api-key": self.instance.key, "content-type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            return dict(json.load(response))

    def booking(self) -> tuple[str, str]:
        """Return the time of the only appointment with the reference, and the role of its outcome."""
        [row] = self.get(f"appointments?external_reference={self.reference}")["data"]
        return row["schedule_time"], row["outcome"]["role"]

    def ids(self) -> dict[str, str]:
        """Return the variables that the commands below "After the call" take, from its first responses."""
        [row] = self.get(f"appointments?external_reference={self.reference}")["data"]
        statuses = self.get("statuses")["data"]
        status = next(row for row in statuses if row["role"] == "FOLLOW_UP" and row["type"] != "APPOINTMENT")
        return {"APPOINTMENT_ID": row["id"], "LEAD_ID": row["lead"]["id"], "STATUS_ID": status["id"]}

    def notes(self) -> list[str]:
        return [note["note"] for note in self.get(f"appointments/{self.ids()['APPOINTMENT_ID']}/notes")["data"]]

    def lead_role(self) -> str:
        """Return the role of the lead's status."""
        return str(self.get(f"leads/{self.ids()['LEAD_ID']}")["data"]["status"]["role"])

    def stored(self, reference: str) -> tuple[int, int]:
        """Return how many opt-ins and appointments have the reference."""
        opt_ins, appointments = (
            self.get(f"{name}?external_reference={reference}")["pagination"]["total"]
            for name in ("opt-ins", "appointments")
        )
        return opt_ins, appointments

    def lose_secret(self) -> None:
        """Delete the secret, as if the response that had it was lost."""
        (self.folder / "secret").unlink(missing_ok=True)

    def send_test_event(self) -> None:
        """Send a test event to the receiver that the examples have subscribed."""
        url = f"http://127.0.0.1:{self.port}/{self.language}"
        [endpoint] = self.get(f"webhook-endpoints?url={url}")["data"]
        self.get(f"webhook-endpoints/{endpoint['id']}/test", method="POST")

    def copy(self) -> str:
        """Return the copy that the examples have kept, if any; it has to have the newest appointments.

        It must not have those of erased leads.
        """
        file = self.folder / "copy.json"
        if not file.exists():
            return ""
        rows = json.loads(file.read_text())["rows"]
        newest = self.get("appointments?ordering=-updated_at&limit=100")["data"]
        kept = {row["id"]: None if is_erased(row["lead"]) else row["updated_at"] for row in newest}
        assert kept == {row["id"]: rows.get(row["id"], {}).get("updated_at") for row in newest}
        return file.read_text()

    @contextmanager
    def relay(self) -> Iterator[str]:
        """Run the program behind the form; yield its address."""
        [block] = [block for block in blocks("js") if (block.page, block.heading) == (PAGE, FORM)]
        with self.serve(self.write(block.text)):
            yield f"http://127.0.0.1:{self.port}/"

    def receiver(self) -> AbstractContextManager[Path]:
        """Run the receiver of webhooks; yield the file with what it prints."""
        return self.serve("receiver.py" if self.language == "python" else "receiver.mjs")

    @contextmanager
    def serve(self, *arguments: str, **variables: str) -> Iterator[Path]:
        """Run a program that listens on the port; yield the file with what it prints."""
        log_file = self.folder / f"{arguments[-1]}.log"
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                [PROGRAMS[self.language], *arguments],
                cwd=self.folder,
                env={**self.environment, "PORT": str(self.port), **variables},
                stdout=log,
                stderr=log,
            )
        try:
            assert processes.wait_until(lambda: is_open(self.port) or process.poll() is not None, SECONDS)
            yield log_file
        finally:
            process.terminate()
            process.wait(SECONDS)


def is_erased(lead: dict[str, Any]) -> bool:
    return str(lead["email"]).endswith("@erased.invalid")


def is_open(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0
