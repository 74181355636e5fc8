"""Memory doesn't grow with the number of rows."""

from pathlib import Path

from django.db import connection
from django.test import Client

from leads.models import Lead
from organizations.models import Organization
from tests.client import ApiClient
from tests.export.files import download
from tests.staff.pages import admin_url

ROWS = 30_000
MB = 1024  # KiB, in which Linux shows them
COPY = """
INSERT INTO leads_lead ({columns})
SELECT {values} FROM leads_lead, generate_series(1, %s) AS number
"""
CHANGED = {"id": "gen_random_uuid()", "email": "number || email"}


def fill(organization: Organization) -> None:
    """Copy the organization's only lead."""
    columns = [field.column for field in Lead._meta.concrete_fields]
    values = [CHANGED.get(column, column) for column in columns]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")  # the triggers of 30,000 rows, on a busy machine
        cursor.execute(COPY.format(columns=", ".join(columns), values=", ".join(values)), [ROWS])


def memory(name: str) -> int:
    """Return a figure of this process, in KiB: VmRSS now, or VmHWM, the highest since `reset_peak`."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[name].split()[0])


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def test_thirty_thousand_rows_take_no_more_memory_than_one(
    client_with, organization: Organization, api: ApiClient, measurements: dict[str, str]
):
    manager: Client = client_with("MANAGER")
    api.submit(email="ada@example.com", first_name="Ada", last_name="Lovelace" * 20)
    growth = {}
    for kind in ("csv", "xlsx"):
        download(manager, Lead, kind)  # loads what each request needs
    fill(organization)
    for kind in ("csv", "xlsx"):
        before = memory("VmRSS")
        reset_peak()

        size = sum(map(len, manager.get(f"{admin_url(Lead, 'changelist')}export.{kind}?view=all").streaming_content))

        growth[kind] = memory("VmHWM") - before
        measurements[f"export, {ROWS} rows as {kind}"] = f"{size // 1000} kB, {growth[kind] // MB} MB of memory"
        assert size > ROWS * 20
    assert max(growth.values()) < 12 * MB  # read at once, the rows alone take 20 MB
