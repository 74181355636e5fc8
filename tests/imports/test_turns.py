"""Workers give organizations turns: large imports of some keep no small one of another waiting for long."""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from foundation.db import deletes
from leads.imports import reading, turns, worker
from leads.imports.models import Import, ImportTurn
from leads.imports.services import add_import, cancel_import
from leads.models import Lead
from organizations.actors import SYSTEM
from organizations.models import Organization
from pipeline_backend.celery import app
from tests.factories import make_organization
from tests.imports.files import Page, csv_file, expire_turns


def take_turns(count: int) -> None:
    """Receive the message of imports as many times."""
    app.loader.import_default_modules()
    for _ in range(count):
        app.tasks["leads.run_imports"].apply(throw=True)


def upload(organization: Organization, rows: int) -> Import:
    """Add an import of some leads, which is to be read."""
    emails = [[f"lead{number}@example.com"] for number in range(rows)]
    content = csv_file(["email"], *emails)
    return add_import(
        organization=organization, actor=SYSTEM, kind="LEADS", file_name="a.csv", content=content, time_zone="UTC"
    )


def totals(imports: Sequence[Import]) -> list[tuple[str, int]]:
    """Return state and number of stored rows of each."""
    for row in imports:
        row.refresh_from_db()
    return [(row.state, row.total) for row in imports]


@pytest.fixture
def _short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each turn be over after one batch."""
    monkeypatch.setattr(turns, "TURN_SECONDS", 0)
    monkeypatch.setattr(reading, "READ_BATCH", 100)
    monkeypatch.setattr(worker, "CHECK_BATCH", 100)


@pytest.mark.usefixtures("_short_turns")
def test_a_small_import_is_next_however_many_large_ones_are_under_way(db: None) -> None:
    large = [upload(make_organization(name), 350) for name in "ABCD"]
    take_turns(6)
    before = totals(large)
    small = upload(make_organization("E"), 10)

    take_turns(1)

    assert before == [("READING", 200), ("READING", 200), ("READING", 100), ("READING", 100)]
    assert totals([small, *large]) == [("MAPPING", 10), *before]
    take_turns(2)
    assert totals(large) == [("READING", 200)] * 4


@pytest.mark.usefixtures("_short_turns")
def test_all_steps_continue_where_the_last_turn_has_ended(mia: Client, organization: Organization) -> None:
    emails = [[f"lead{number}@example.com"] for number in range(250)]

    page = Page(mia, organization, csv_file(["email"], *emails, ["LEAD3@example.com"])).run()

    assert page.row.counts == {"NEW": 250, "REFUSED": 1}
    assert page.report("?show=REFUSED") == [(252, "REFUSED", "The same e-mail is in row 5 already")]
    assert Lead.objects.of(organization).count() == 250


@pytest.mark.usefixtures("_short_turns")
def test_imports_of_one_organization_wait_for_the_oldest_and_their_pages_say_so(
    mia: Client, organization: Organization
) -> None:
    first, second = (upload(organization, rows) for rows in (150, 5))
    pages = [f"/admin/leads/import/{row.pk}" for row in (first, second)]

    take_turns(1)

    assert totals([first, second]) == [("READING", 100), ("READING", 0)]
    texts = [mia.get(f"{page}/progress/").json()["text"] for page in pages]
    assert texts == ["100 rows read", "Waiting for another import of your organization"]
    assert texts[1] in mia.get(f"{pages[1]}/change/").content.decode()
    cancel_import(file_import=first)
    take_turns(1)
    assert totals([first, second]) == [("CANCELED", 100), ("MAPPING", 5)]


def test_an_import_that_fails_again_and_again_holds_up_no_other(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing, other = upload(organization, 5), upload(organization, 3)
    read_file = worker.STEPS["READING"]

    def fail(file_import: Import, turn: turns.Turn) -> None:
        if file_import == failing:
            raise OperationalError("index row size exceeds maximum")
        read_file(file_import, turn)

    monkeypatch.setitem(worker.STEPS, "READING", fail)
    with pytest.raises(OperationalError):
        take_turns(1)
    expire_turns()
    take_turns(1)
    with pytest.raises(OperationalError):
        take_turns(1)

    assert totals([failing, other]) == [("READING", 0), ("MAPPING", 3)]
    page = mia.get(f"/admin/leads/import/{failing.pk}/change/").content.decode()
    assert "Interrupted by an unexpected error" in page
    monkeypatch.undo()
    expire_turns()
    take_turns(1)
    assert totals([failing]) == [("MAPPING", 5)]


def test_an_organization_has_one_turn_at_a_time_until_it_expires(
    organization: Organization, other_organization: Organization
) -> None:
    rows = [upload(organization, 5), upload(other_organization, 5)]
    ImportTurn.objects.create(organization=organization, expires_at=timezone.now() + timedelta(seconds=20))

    take_turns(3)

    assert totals(rows) == [("READING", 0), ("MAPPING", 5)]
    ImportTurn.objects.of(organization).update(expires_at=timezone.now() - timedelta(seconds=1))
    take_turns(1)
    assert totals(rows) == [("MAPPING", 5), ("MAPPING", 5)]


def test_a_turn_lasts_while_rows_of_a_canceled_import_are_deleted(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    canceled = upload(organization, 6)
    take_turns(1)
    cancel_import(file_import=canceled)
    delete_batch = deletes.delete_batch
    stolen = []

    def delete_slowly(rows: Any, size: int) -> int:
        time.sleep(0.4)
        stolen.append(turns.begin_turn())
        return delete_batch(rows, 1)

    monkeypatch.setattr(turns, "EXTEND_SECONDS", 0)
    monkeypatch.setattr(turns, "LEASE_SECONDS", 1)
    monkeypatch.setattr(deletes, "delete_batch", delete_slowly)

    take_turns(1)

    assert stolen == [None] * 7
    assert not canceled.rows.exists()


def test_imports_of_an_inactive_organization_wait(organization: Organization) -> None:
    row = upload(organization, 5)
    Organization.objects.update(is_active=False)

    take_turns(1)

    assert totals([row]) == [("READING", 0)]


def test_the_messages_of_imports_have_a_queue_of_their_own() -> None:
    assert set(app.amqp.queues) == {"celery", "imports"}
    assert app.amqp.router.route({}, "leads.run_imports")["queue"].name == "imports"
    assert app.amqp.router.route({}, "leads.prune")["queue"].name == "celery"
