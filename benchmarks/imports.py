"""`python -m benchmarks.imports 50000`: how long a worker takes to import, and to undo that (docs/staff.md).

.venv/bin/python -m dev.local with-servers .venv/bin/python -m benchmarks.imports 50000
"""

import resource
import sys
import time
from collections.abc import Callable, Iterable
from io import BytesIO

import django

django.setup()

from django.core.management import call_command  # noqa: E402  # after the settings
from openpyxl import Workbook  # noqa: E402

from accounts.onboarding import create_organization  # noqa: E402
from benchmarks.__main__ import output  # noqa: E402
from leads.imports.models import Import, ImportState  # noqa: E402
from leads.imports.services import add_import, choose_columns, start_import  # noqa: E402
from leads.imports.undoing import start_undo  # noqa: E402
from leads.imports.worker import run_turn  # noqa: E402
from organizations.actors import staff_actor  # noqa: E402
from organizations.models import Organization, User  # noqa: E402

LEAD_HEADER = ["E-mail", "First name", "Last name", "Phone", "Status", "Setter"]
APPOINTMENT_HEADER = ["Reference", "Lead e-mail", "Time", "Event type", "Host", "Outcome", "Note"]
OWNER = "owner@acme.example"


def workbook(header: list[str], rows: Iterable[list[str]]) -> bytes:
    """Return an XLSX file."""
    book, content = Workbook(write_only=True), BytesIO()
    sheet = book.create_sheet()
    sheet.append(header)
    for row in rows:
        sheet.append(row)
    book.save(content)
    return content.getvalue()


def leads(count: int, first_name: str, name: str = "lead") -> bytes:
    """Return a file of leads."""
    rows = (
        [f"{name}{number}@example.com", first_name, f"Lead {number}", f"+1415555{number:05}"[:12], "Follow-up", OWNER]
        for number in range(count)
    )
    return workbook(LEAD_HEADER, rows)


def appointments(count: int, outcome: str) -> bytes:
    """Return a file of past and future appointments, two for each lead."""
    rows = (
        [
            f"a-{number}",
            f"lead{number // 2}@example.com",
            f"20{24 + number % 8}-03-03 10:00",
            "Coaching",
            OWNER,
            outcome,
            "From the old system",
        ]
        for number in range(count)
    )
    return workbook(APPOINTMENT_HEADER, rows)


def timed(file_import: Import, step: Callable[[], object] | None = None) -> str:
    """Let a worker do the next step; return the seconds and those of this process's processor."""
    if step:
        step()
    started, used = time.monotonic(), time.process_time()
    file_import.refresh_from_db()
    while file_import.is_working:
        run_turn()
        file_import.refresh_from_db()
    return f"{time.monotonic() - started:.0f} s ({time.process_time() - used:.0f} s)"


def measure(organization: Organization, name: str, kind: str, content: bytes) -> Import:
    """Import the file, and print what each step took."""
    owner = User.objects.get(email=OWNER)
    row = add_import(
        organization=organization,
        actor=staff_actor(owner),
        kind=kind,
        file_name=name,
        content=content,
        time_zone="UTC",
    )
    reading = timed(row)
    checking = timed(row, lambda: choose_columns(file_import=row, mapping=row.mapping))
    importing = timed(row, lambda: start_import(file_import=row))
    assert row.state == ImportState.DONE, row.state
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    output(
        f"| {name} | {row.counts} | {len(content) / 1e6:.1f} MB | {reading} | {checking} | {importing} | {memory} MB |"
    )
    return row


def measure_undo(row: Import) -> None:
    """Undo the import, and print how many of its changes a worker has undone a second."""
    owner, started = User.objects.get(email=OWNER), time.monotonic()
    undoing = timed(row, lambda: start_undo(file_import=row, actor=staff_actor(owner)))
    counts = {name: count for name, count in row.undone.items() if isinstance(count, int)}
    rate = counts["total"] / (time.monotonic() - started)
    output(f"| undo {row.file_name} | {counts} | | | | {undoing} | {rate:,.0f} /s |")


def main(count: int) -> None:
    """Print a table."""
    call_command("migrate", verbosity=0)
    organization = create_organization(name="Acme", owner=User.objects.create_user(OWNER))
    output("| file | rows | size | reading | checking | importing | memory |\n|---|---|---|---|---|---|---|")
    measure(organization, "new leads", "LEADS", leads(count, "Ada"))
    measure(organization, "the same again", "LEADS", leads(count, "Ada"))
    # What another import has changed since would stay, so each is undone at once.
    measure_undo(measure(organization, "changed leads", "LEADS", leads(count, "Augusta")))
    measure_undo(measure(organization, "new appointments", "APPOINTMENTS", appointments(count, "")))
    measure(organization, "new appointments, again", "APPOINTMENTS", appointments(count, ""))
    measure_undo(measure(organization, "changed appointments", "APPOINTMENTS", appointments(count, "Won")))
    measure_undo(measure(organization, "other new leads", "LEADS", leads(count, "Ada", "other")))


if __name__ == "__main__":
    main(int(sys.argv[1]))
