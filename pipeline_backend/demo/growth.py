"""How many more leads and appointments are wanted, and who gets them."""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
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
PROGRESS_BAR_FROM = 10_000
OPT_INS_PER_LEAD = [0, 1, 2, 3], [10, 45, 30, 15]


@dataclass(frozen=True)
class GrowthPlan:
    """So many more; the calls are shared out so that, in the end, new leads and those that are there have equally many."""

    organization: Organization
    known_leads: int
    new_leads: int
    known_calls: int
    new_calls: int

    @property
    def is_needed(self) -> bool:
        """False if the organization is as large as wanted."""
        return bool(self.new_leads or self.new_calls)

    def carry_out(self) -> None:
        """Add them, a batch at a time, each in its transaction: after an interruption, the same command goes on."""
        stage, size = (
            take_snapshot(self.organization, seed=f"{self.known_leads} {self.known_calls}"),
            self.new_leads + self.new_calls,
        )
        leads = self.known_leads + self.new_leads
        fair = min(self.new_calls, round((self.known_calls + self.new_calls) * self.new_leads / leads))
        # None: shown only to people.
        with tqdm(
            total=size,
            unit=" rows",
            unit_scale=True,
            file=sys.stderr,
            disable=None if size >= PROGRESS_BAR_FROM else True,
        ) as bar:
            if self.new_calls > fair:
                distribute(
                    stage, self.known_leads, self.new_calls - fair, ExistingLeads(self.organization).go_on, bar.update
                )
            distribute(stage, self.new_leads, fair, add_leads, bar.update)
        if size >= PROGRESS_BAR_FROM:
            analyze_tables()


def plan_growth(organization: Organization, leads: int | None, calls: int | None) -> GrowthPlan:
    """What is missing to these totals; more leads than half the calls only if asked for."""
    known_leads, known_calls = Lead.objects.of(organization).count(), Appointment.objects.of(organization).count()
    wanted = (calls or 0) // 2 if leads is None else leads
    return GrowthPlan(
        organization, known_leads, max(0, wanted - known_leads), known_calls, max(0, (calls or 0) - known_calls)
    )


def distribute(
    stage: OrganizationSnapshot,
    leads: int,
    calls: int,
    act: Callable[[OrganizationSnapshot, Batch, list[int]], None],
    done: Callable[[int], Any],
) -> None:
    """So many calls over so many leads, by chance but exactly: `act` gets the numbers of calls of the next leads."""
    at_once = max(1, min(LEADS_PER_BATCH, leads * APPOINTMENTS_PER_BATCH // max(1, calls)))
    for start in range(0, leads, at_once):
        end = min(leads, start + at_once)
        counts = random_counts(stage.chance, calls * end // leads - calls * start // leads, end - start)
        batch = Batch()
        with transaction.atomic():
            act(stage, batch, counts)
            batch.write()
        done(len(counts) + sum(counts))


def random_counts(chance: random.Random, calls: int, leads: int) -> list[int]:
    """The calls, each to some lead."""
    counts = [0] * leads
    for _ in range(calls):
        counts[chance.randrange(leads)] += 1
    return counts


def add_leads(stage: OrganizationSnapshot, batch: Batch, counts: list[int]) -> None:
    """New leads, with so many calls each."""
    for calls in counts:
        created_at = stage.between(stage.now - LONG_RANGE, stage.now)
        life = LeadSimulation(stage, batch, str(uuid7()), created_at)
        forms = stage.chance.choices(*OPT_INS_PER_LEAD)[0]
        life.live(forms or int(not calls), calls)
        life.write_new(created_at)


class ExistingLeads:
    """The leads that are there, oldest ids first, each once."""

    def __init__(self, organization: Organization) -> None:
        self.organization = organization
        self.last = UUID(int=0)
        self.roles = dict(Status.objects.of(organization).values_list("pk", "role"))

    def go_on(self, stage: OrganizationSnapshot, batch: Batch, counts: list[int]) -> None:
        """The next ones' lives go on from where they are, with so many calls more."""
        rows = Lead.objects.of(self.organization).for_update().filter(pk__gt=self.last).order_by("pk")
        leads = list(rows[: len(counts)])
        self.last = leads[-1].pk if leads else self.last
        chosen = [(lead, calls) for lead, calls in zip(leads, counts, strict=False) if calls]
        lives = self.lives(stage, batch, [lead for lead, _ in chosen])
        for life, (_, calls) in zip(lives, chosen, strict=True):
            life.live(0, calls)
            life.write_grown()

    def lives(self, stage: OrganizationSnapshot, batch: Batch, leads: list[Lead]) -> Iterator[LeadSimulation]:
        """Where each lead stands."""
        coming, touched = self.coming(leads), self.touched(leads)
        for lead in leads:
            yield LeadSimulation(
                stage,
                batch,
                str(lead.pk),
                since=min(lead.updated_at, stage.now),
                role=self.roles[lead.status_id],
                status_id=str(lead.status_id),
                first_source=str(lead.first_source_id),
                last_source=str(lead.last_source_id),
                touch=(lead.next_touch_point_at, lead.next_touch_point_type),
                utm=touched.get(lead.pk, [None] * len(UTM_FIELDS)),
                coming=coming.get(lead.pk, {}),
            )

    def coming(self, leads: list[Lead]) -> dict[UUID, dict[str, Any]]:
        """Each lead's calls to come."""
        found: dict[UUID, dict[str, Any]] = {}
        rows = Appointment.objects.of(self.organization).upcoming().filter(lead__in=leads)
        for lead_id, id, schedule_time in rows.values_list("lead_id", "pk", "schedule_time"):
            found.setdefault(lead_id, {})[str(id)] = schedule_time
        return found

    def touched(self, leads: list[Lead]) -> dict[UUID, list[str | None]]:
        """The campaign of each lead's latest opt-in."""
        rows = (
            OptIn.objects.of(self.organization)
            .filter(lead__in=leads)
            .order_by("lead_id", "-created_at", "-id")
            .distinct("lead_id")
        )
        return {lead_id: utm for lead_id, *utm in rows.values_list("lead_id", *UTM_FIELDS)}
