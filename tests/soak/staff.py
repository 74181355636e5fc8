"""Simulated staff of a soak test: they import files of all sizes, cancel some imports, and merge and erase leads.

They call the services of the admin's pages. Workers, which are killed meanwhile, do the rest.
"""

import contextlib
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from celery import Celery
from django.db import InterfaceError, InternalError, OperationalError, connections
from kombu.exceptions import OperationalError as BrokerError

from leads.imports.models import OPEN, Import, ImportState
from leads.imports.services import TASK, add_import, cancel_import, choose_columns, start_import
from leads.merging import merge_leads
from leads.models import Lead, LeadMerge
from leads.privacy.erasing import request_erasure
from organizations.actors import SYSTEM
from organizations.models import Organization
from tests.imports.files import csv_file, workbook
from webhooks.models import Event

PAUSE_SECONDS = 2.0
SIZES = {1: 8, 10: 6, 100: 4, 1000: 2}  # the number of rows in a file, and how often it is chosen
OPEN_AT_ONCE = 3
CANCELED_SHARE = 0.03  # the chance that an open import is canceled, each time it is checked
FINISH_SECONDS = 400  # for the imports that are open at the end
HEADER = ["email", "first name", "phone", "note"]
MAPPING = ["email", "first_name", "", ""]


@dataclass
class StaffLog:
    """The e-mails in each uploaded file by the import's id; the leads that were merged into others, or erased."""

    files: dict[UUID, list[str]] = field(default_factory=dict)
    merged: dict[UUID, UUID] = field(default_factory=dict)  # the id of the lead that was kept, by that of the other
    erased: dict[UUID, str] = field(default_factory=dict)  # the e-mail by the lead's id
    changed_emails: set[str] = field(default_factory=set)
    # Their events or histories have moved or were replaced, or it is unknown, because the connection ended meanwhile.
    changed_leads: set[UUID] = field(default_factory=set)

    def add(self, other: "StaffLog") -> None:
        """Add another person's acts."""
        for name, values in vars(self).items():
            values.update(getattr(other, name))

    def counts(self) -> dict[str, int]:
        """Return how many acts of each kind there were."""
        return {"imports": len(self.files), "merges": len(self.merged), "erasures": len(self.erased)}


class StaffMember:
    """Works in one organization. The random choices are the same in each run."""

    def __init__(
        self, number: int, organization: Organization, broker: Celery, *, pause: float = PAUSE_SECONDS
    ) -> None:
        self.number, self.organization, self.broker, self.pause = number, organization, broker, pause
        self.random = random.Random(number)
        self.log = StaffLog()

    def run(self, stop: threading.Event) -> None:
        """Act until `stop` is set, then finish the open imports."""
        try:
            while not stop.wait(self.pause):
                with self.tolerating_outages():
                    self.continue_imports(canceled_share=CANCELED_SHARE)
                    self.act()
            deadline = time.monotonic() + FINISH_SECONDS
            while self.continue_imports() and time.monotonic() < deadline:
                time.sleep(PAUSE_SECONDS)
        finally:
            connections.close_all()

    @contextlib.contextmanager
    def tolerating_outages(self) -> Iterator[None]:
        """End the block if the database fails, as it does for a person who sees "Back in a moment" and tries later."""
        try:
            yield
        except (OperationalError, InterfaceError, InternalError):
            connections.close_all()

    def act(self) -> None:
        """Upload a file, merge two imported leads, or erase one."""
        leads = self.choose_leads()
        if Import.objects.of(self.organization).filter(state__in=OPEN).count() < OPEN_AT_ONCE:
            self.upload()
        if len(leads) < 2:
            return
        lead, other = leads
        self.log.changed_emails |= {lead.email, other.email}
        self.log.changed_leads.add(lead.pk)
        if self.random.random() < 0.5:
            self.log.changed_leads.add(other.pk)
            merge_leads(organization=self.organization, actor=SYSTEM, keep=lead.pk, merge=other.pk)
            self.log.merged[other.pk] = lead.pk
        else:
            request_erasure(organization=self.organization, actor=SYSTEM, lead_id=lead.pk)
            self.log.erased[lead.pk] = lead.email

    def choose_leads(self) -> list[Lead]:
        """Return two leads that were imported and not changed since, or none."""
        emails = [email for emails in self.log.files.values() for email in emails]
        unchanged = sorted(set(self.random.sample(emails, min(len(emails), 20))) - self.log.changed_emails)
        return list(Lead.objects.of(self.organization).filter(email__in=unchanged).order_by("pk")[:2])

    def upload(self) -> None:
        """Upload a CSV or XLSX file of new leads."""
        number = len(self.log.files)
        size, make_file = (
            self.random.choices(*zip(*SIZES.items(), strict=True))[0],
            self.random.choice([csv_file, workbook]),
        )
        emails = [f"import-{self.number}-{number}-{row}@example.com" for row in range(size)]
        new = add_import(
            organization=self.organization,
            actor=SYSTEM,
            kind="LEADS",
            file_name=f"{number}.csv",
            content=make_file(HEADER, *([email, "Ada", "", "Met at the fair"] for email in emails)),
            time_zone="UTC",
        )
        self.log.files[new.pk] = emails
        self.notify_worker(new)

    def continue_imports(self, canceled_share: float = 0) -> bool:
        """Do the next step of each open import, or cancel it; return whether any is open."""
        found = list(Import.objects.of(self.organization).filter(state__in=OPEN).defer("file"))
        for file_import in found:
            file_import.organization = self.organization
            if self.random.random() < canceled_share:
                cancel_import(file_import=file_import)
            elif file_import.state == ImportState.MAPPING:
                choose_columns(file_import=file_import, mapping=MAPPING)
                self.notify_worker(file_import)
            elif file_import.state == ImportState.CHECKED:
                start_import(file_import=file_import)
                self.notify_worker(file_import)
        return bool(found)

    def notify_worker(self, file_import: Import) -> None:
        """Send the task's message to the broker that is being tested; this process publishes to another one."""
        with contextlib.suppress(BrokerError):  # without the broker, a periodic task finds the import
            self.broker.send_task(TASK, retry=False)


def wrong_imports(log: StaffLog) -> Iterator[str]:
    """Yield imports that have not ended, and rows of done imports without a lead."""
    imports = {row.pk: row for row in Import.unscoped.defer("file")}
    stored = set(Lead.unscoped.values_list("email", flat=True))
    for id, emails in log.files.items():
        row = imports[id]
        if row.is_open or row.state == ImportState.FAILED:
            yield f"import {id}: {row.state} after {row.done} of {row.total} rows {row.problem}"
        elif row.state == ImportState.DONE:
            yield from (f"row {email} of import {id}" for email in set(emails) - stored - log.changed_emails)


def wrong_changes(log: StaffLog) -> Iterator[str]:
    """Yield leads that were erased but are still named, and merged leads that lead nowhere."""
    leads = dict(Lead.unscoped.values_list("pk", "email"))
    bodies = "\n".join(Event.unscoped.filter(subject_id__in=log.erased).values_list("body", flat=True))
    yield from (f"erased lead {id}" for id, email in log.erased.items() if leads.get(id) == email or email in bodies)
    merged = dict(LeadMerge.unscoped.values_list("previous_id", "lead_id"))
    # A lead that was erased later keeps its merges' ids only.
    expected = {other: lead for other, lead in log.merged.items() if lead not in log.erased}
    yield from (f"merged lead {other}" for other, lead in expected.items() if merged.get(other) != lead)
