"""A large file both ways: imported, exported again, and compared row by row.

2,000 rows with the other tests; `make rows` runs it with 50,000.
"""

import os
from collections import Counter
from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment
from leads.models import Lead
from organizations.models import Organization
from tests.imports.files import Page, csv_file, workbook
from tests.imports.test_round_trip import exported
from webhooks.models import Event

# With the worker's own transactions: PostgreSQL ends one that is idle for a minute, as making a large file takes.
pytestmark = pytest.mark.django_db(transaction=True)
ROWS = int(os.environ.get("IMPORT_ROWS", "2000"))
LEAD_HEADER = ["E-mail", "First name", "Last name", "Phone", "Status", "Setter e-mail"]
NAMES = ["Ada", "José", "Zoë, née Ü", 'Al "Ace"', "Two\nlines", "Ng"]
STATUSES = ["New lead", "Follow-up"]
APPOINTMENT_HEADER = ["Reference", "Lead e-mail", "Time (Europe/Berlin)", "Event type", "Host e-mail", "Outcome"]


def picked(rows: list[list[Any]], header: list[str]) -> Counter[tuple[str, ...]]:
    """Return how often a file has a row with these values, in the columns of the header.

    Without what guards a text in a CSV file against being a formula.
    """
    indexes = [rows[0].index(name) for name in header]
    return Counter(tuple(str(row[index] or "").removeprefix("'") for index in indexes) for row in rows[1:])


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_all_leads_of_a_file_are_exported_as_they_were_imported(
    mia: Client, organization: Organization, kind: str
) -> None:
    count = ROWS if kind == "xlsx" else ROWS // 5
    rows = [LEAD_HEADER]
    for number in range(count):
        phone, setter = f"+1415{5_000_000 + number}", "mia@acme.example" if number % 2 else ""
        names = [NAMES[number % len(NAMES)], f"Lead {number}"]
        status = STATUSES[number % len(STATUSES)]
        rows.append([f"lead{number}@example.com", *names, phone, status, setter])
    make = workbook if kind == "xlsx" else csv_file

    page = Page(mia, organization, make(*rows), name=f"leads.{kind}").run()
    again = exported(mia, "leads/lead", kind)

    assert page.row.counts == {"NEW": count}
    assert picked(again, LEAD_HEADER) == picked(rows, LEAD_HEADER)
    assert Lead.objects.of(organization).count() == count
    assert Event.objects.of(organization).filter(type="lead.created").count() == count
    # Our own file, imported again, would change nothing.
    page = Page(mia, organization, make(*again), name=f"again.{kind}")
    page.check()
    assert page.row.counts == {"UNCHANGED": count}


def test_all_appointments_of_a_file_are_exported_as_they_were_imported(mia: Client, organization: Organization) -> None:
    count = ROWS // 50  # each is booked like any other
    rows = [APPOINTMENT_HEADER]
    for number in range(count):
        day = date(2020, 1, 1) + timedelta(days=number % 2000)
        outcome = "Won" if number % 3 else "Lost"
        email = f"lead{number // 2}@example.com"
        rows.append([f"a-{number}", email, f"{day} 10:{number % 60:02}:00", "Coaching", "mia@acme.example", outcome])

    page = Page(mia, organization, workbook(*rows), kind="APPOINTMENTS", name="a.xlsx").run()
    again = exported(mia, "appointments/appointment", "xlsx")

    assert page.row.counts == {"NEW": count}
    assert Appointment.objects.of(organization).count() == count
    assert picked(again, APPOINTMENT_HEADER) == picked(rows, APPOINTMENT_HEADER)
    page = Page(mia, organization, workbook(*again), kind="APPOINTMENTS", name="again.xlsx")
    page.check()
    assert page.row.counts == {"UNCHANGED": count}
