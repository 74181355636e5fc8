"""Adds leads and appointments in bulk, up to the totals that were asked for."""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from tqdm import tqdm
from uuid_utils import uuid7

from appointments.models import Appointment
from leads.models import Lead
from optins.models import UTM_FIELDS, OptIn
from organizations.models import Organization
from pipeline_backend.demo.bulk_copy import Batch, analyze_tables
from pipeline_backend.demo.generator import LONG_RANGE, LeadSimulation
from pipeline_backend.demo.snapshot import OrganizationSnapshot, take_snapshot
from statuses.models import Status

LEADS_PER_BATCH = 2_000
APPOINTMENTS_PER_BATCH = 5_000
PROGRESS_BAR_FROM = 10_000  # rows
OPT_INS_PER_LEAD = [0, 1, 2, 3], [10, 45, 30, 15]  # numbers and their weights


@dataclass(frozen=True)
class GrowthPlan:
    """How many leads and appointments exist, and how many to add."""

    organization: Organization
    existing_leads: int
    new_leads: int
    existing_appointments: int
    new_appointments: int

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to add."""
        return bool(self.new_leads or self.new_appointments)

    def carry_out(self) -> None:
        """Add the rows in batches, each in its own transaction, so that an interrupted run can be continued."""
        snapshot = take_snapshot(self.organization, seed=f"{self.existing_leads} {self.existing_appointments}")
        rows = self.new_leads + self.new_appointments
        # New and existing leads end up with equally many appointments on average.
        all_leads = self.existing_leads + self.new_leads
        all_appointments = self.existing_appointments + self.new_appointments
        for_new_leads = min(self.new_appointments, round(all_appointments * self.new_leads / all_leads))
        for_existing_leads = self.new_appointments - for_new_leads
        # With None, tqdm shows the bar only on a terminal.
        disable = None if rows >= PROGRESS_BAR_FROM else True
        with tqdm(total=rows, unit=" rows", unit_scale=True, file=sys.stderr, disable=disable) as bar:
            if for_existing_leads:
                extend = ExistingLeads(self.organization).extend
                distribute(snapshot, self.existing_leads, for_existing_leads, extend, bar.update)
            distribute(snapshot, self.new_leads, for_new_leads, add_leads, bar.update)
        if rows >= PROGRESS_BAR_FROM:
            analyze_tables()


def plan_growth(organization: Organization, leads: int | None, appointments: int | None) -> GrowthPlan:
    """Return what is missing from these totals. By default there are half as many leads as appointments."""
    existing_leads = Lead.objects.of(organization).count()
    existing_appointments = Appointment.objects.of(organization).count()
    target_appointments = appointments or 0
    target_leads = target_appointments // 2 if leads is None else leads
    return GrowthPlan(
        organization,
        existing_leads,
        max(0, target_leads - existing_leads),
        existing_appointments,
        max(0, target_appointments - existing_appointments),
    )


def distribute(
    snapshot: OrganizationSnapshot,
    leads: int,
    appointments: int,
    add_batch: Callable[[OrganizationSnapshot, Batch, list[int]], None],
    on_progress: Callable[[int], object],
) -> None:
    """Distribute this many appointments randomly over this many leads, and write them batch by batch.

    `add_batch` gets the numbers of appointments of the next leads and adds their rows to the batch.
    """
    batch_size = max(1, min(LEADS_PER_BATCH, leads * APPOINTMENTS_PER_BATCH // max(1, appointments)))
    for start in range(0, leads, batch_size):
        end = min(leads, start + batch_size)
        # The difference of two rounded-down shares, so that the batches add up to exactly `appointments`.
        in_batch = appointments * end // leads - appointments * start // leads
        counts = random_counts(snapshot.rng, in_batch, end - start)
        batch = Batch()
        with transaction.atomic():
            add_batch(snapshot, batch, counts)
            batch.write()
        on_progress(len(counts) + sum(counts))


def random_counts(rng: random.Random, appointments: int, leads: int) -> list[int]:
    """Return each lead's number of appointments."""
    counts = [0] * leads
    for _ in range(appointments):
        counts[rng.randrange(leads)] += 1
    return counts


def add_leads(snapshot: OrganizationSnapshot, batch: Batch, counts: list[int]) -> None:
    """Simulate one new lead for each of these numbers of appointments."""
    for count in counts:
        created_at = snapshot.random_time(snapshot.now - LONG_RANGE, snapshot.now)
        simulation = LeadSimulation(snapshot, batch, str(uuid7()), created_at)
        opt_ins = snapshot.rng.choices(*OPT_INS_PER_LEAD)[0]
        # A lead without appointments has at least one opt-in: something must have created it.
        simulation.run(opt_ins or int(not count), count)
        simulation.add_new_lead_row(created_at)


class ExistingLeads:
    """Adds appointments to the existing leads, in the order of their ids, each lead once."""

    def __init__(self, organization: Organization) -> None:
        self.organization = organization
        self.last_id = UUID(int=0)
        self.roles = dict(Status.objects.of(organization).values_list("pk", "role"))

    def extend(self, snapshot: OrganizationSnapshot, batch: Batch, counts: list[int]) -> None:
        """Lock the next leads, and simulate for each one its number of further appointments."""
        rows = Lead.objects.of(self.organization).for_update().filter(pk__gt=self.last_id).order_by("pk")
        leads = list(rows[: len(counts)])
        self.last_id = leads[-1].pk if leads else self.last_id
        selected = [(lead, count) for lead, count in zip(leads, counts, strict=False) if count]
        simulations = self.simulations(snapshot, batch, [lead for lead, _ in selected])
        for simulation, (_, count) in zip(simulations, selected, strict=True):
            simulation.run(0, count)
            simulation.add_lead_update_row()

    def simulations(self, snapshot: OrganizationSnapshot, batch: Batch, leads: list[Lead]) -> Iterator[LeadSimulation]:
        """Yield a simulation of each lead that starts with its stored state."""
        upcoming, latest_utm = self.upcoming_appointments(leads), self.latest_utm(leads)
        for lead in leads:
            yield LeadSimulation(
                snapshot,
                batch,
                str(lead.pk),
                since=min(lead.updated_at, snapshot.now),
                role=self.roles[lead.status_id],
                status_id=str(lead.status_id),
                first_source=str(lead.first_source_id),
                last_source=str(lead.last_source_id),
                stored_touch_point=(lead.next_touch_point_at, lead.next_touch_point_type),
                utm=latest_utm.get(lead.pk, [None] * len(UTM_FIELDS)),
                upcoming=upcoming.get(lead.pk, {}),
            )

    def upcoming_appointments(self, leads: list[Lead]) -> dict[UUID, dict[str, datetime]]:
        """Return the times of each lead's upcoming appointments, by appointment id."""
        times: dict[UUID, dict[str, datetime]] = {}
        rows = Appointment.objects.of(self.organization).upcoming().filter(lead__in=leads)
        for lead_id, id, schedule_time in rows.values_list("lead_id", "pk", "schedule_time"):
            times.setdefault(lead_id, {})[str(id)] = schedule_time
        return times

    def latest_utm(self, leads: list[Lead]) -> dict[UUID, list[str | None]]:
        """Return the UTM fields of each lead's latest opt-in."""
        rows = (
            OptIn.objects.of(self.organization)
            .filter(lead__in=leads)
            .order_by("lead_id", "-created_at", "-id")
            .distinct("lead_id")
        )
        return {lead_id: utm for lead_id, *utm in rows.values_list("lead_id", *UTM_FIELDS)}
