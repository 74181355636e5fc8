"""What happens to each lead, and when. A plan is made first, all of it, and then lived through from its first moment to its last."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import partial
from itertools import cycle

from appointments.models import AppointmentSource, CallCategory, EventType
from optins.models import OptInSource
from organizations.models import Membership, Role
from pipeline_backend.db.timestamps import now
from pipeline_backend.demo import actions
from pipeline_backend.demo.actions import PlannedAppointment
from pipeline_backend.demo.campaigns import CHANNELS
from pipeline_backend.demo.clock import fake_now
from pipeline_backend.demo.organization_setup import DemoOrganization
from pipeline_backend.demo.people import Person, random_person
from statuses.models import PAID_ROLES
from statuses.models import Role as Fate

WEEKS = 8
# For every ten leads: 15 opt-ins and 20 calls, of which 7 are still to come. The tenth lead never sent a form in.
OPT_INS = [1, 2, 1, 2, 1, 2, 1, 3, 2, 0]
APPOINTMENTS = [3, 2, 0, 2, 1, 4, 2, 3, 1, 2]
UPCOMING = [1, 0, 0, 1, 1, 1, 0, 1, 0, 2]
# What becomes of a lead's calls: of the last one, if nothing is to come; of the last past one before those to come; of earlier ones;
# and of those to come (None: it stays booked).
FINAL_OUTCOMES = [
    Fate.WON,
    Fate.NO_SHOW,
    Fate.UNQUALIFIED,
    Fate.LOST,
    Fate.RESCHEDULED,
    Fate.PARTIAL_PAYMENT,
    Fate.FOLLOW_UP,
]
LAST_PAST_OUTCOMES = [Fate.WON, Fate.FOLLOW_UP, Fate.PARTIAL_PAYMENT, Fate.LOST]
EARLIER_OUTCOMES = [Fate.NO_SHOW, Fate.FOLLOW_UP, Fate.RESCHEDULED, Fate.CANCELED, Fate.NEW_LEAD]
UPCOMING_OUTCOMES = [None, None, None, Fate.CANCELED, None, None]
BOOKING_NOTES = [
    "Prefers to talk in the morning.",
    "Found us through a friend.",
    "",
    "Wants to know about payment in instalments.",
    "",
]


@dataclass(frozen=True)
class Step:
    """One thing that happens."""

    at: datetime
    act: Callable[[], None]


def run_steps(steps: Iterable[Step]) -> None:
    """Let it all happen, each thing at its moment."""
    for step in sorted(steps, key=lambda step: step.at):
        with fake_now(step.at):
            step.act()


def organization_created_at() -> datetime:
    """When the organization began, a week before its first lead."""
    return days_from_today(-7 * WEEKS - 7, 8)


def days_from_today(day: int, hour: int, minute: int = 0, second: int = 0) -> datetime:
    """So many days from today, in UTC."""
    return datetime.combine(now().date() + timedelta(days=day), time(hour, minute, second), UTC)


def position_of(index: int, past: int, calls: int) -> str:
    """Where among a lead's calls this one stands."""
    if index >= past:
        return "coming"
    if index < past - 1:
        return "earlier"
    return "final" if past == calls else "middle"


class Scenario:
    """The plan for one organization; the same seed makes the same one."""

    def __init__(self, world: DemoOrganization, seed: str) -> None:
        self.world = world
        self.chance = random.Random(seed)  # noqa: S311  # invents people, guards nothing
        self.opt_in_sources = cycle(OptInSource)
        self.channels = cycle(CHANNELS)
        self.call_sources = cycle(AppointmentSource)
        self.wishes = cycle(BOOKING_NOTES)
        self.fates: dict[str, Iterator[Fate | None]] = {
            "final": cycle(FINAL_OUTCOMES),
            "middle": cycle(LAST_PAST_OUTCOMES),
            "earlier": cycle(EARLIER_OUTCOMES),
            "coming": cycle(UPCOMING_OUTCOMES),
        }
        self.references = 0

    def steps(self, leads: int) -> Iterator[Step]:
        """Everything that happens to so many leads."""
        for index in range(leads):
            yield from self.lead(index, random_person(self.chance))

    def lead(self, index: int, who: Person) -> Iterator[Step]:
        """One lead: opt-ins, calls, and what staff note."""
        kind = index % 10
        past, coming = APPOINTMENTS[kind] - UPCOMING[kind], UPCOMING[kind]
        start = -(past + 3) - (index * 11) % (7 * WEEKS - past - 3)
        days = sorted(self.chance.sample(range(start + 1, -1), past)) + sorted(self.chance.sample(range(1, 28), coming))
        calls = list(self.calls(start, days))
        yield from self.opt_ins(who, start, OPT_INS[kind])
        for call, day in zip(calls, days, strict=True):
            yield from self.call(who, call, is_past=day < 0)
        first = days_from_today(start, 12, 50) if OPT_INS[kind] else calls[0].booked_at + timedelta(minutes=40)
        if index % 3:
            yield Step(first, partial(actions.fill_in_lead, self.world, self.chance, who))

    def opt_ins(self, who: Person, start: int, count: int) -> Iterator[Step]:
        """The first on the lead's first day, before anything else; the others later."""
        days = [start, *self.chance.sample(range(start + 1, 0), count - 1)] if count else []
        for day in days:
            sent_at = days_from_today(day, 6, self.chance.randrange(60), self.chance.randrange(60))
            yield Step(
                sent_at,
                partial(
                    actions.submit_opt_in,
                    self.world,
                    self.chance,
                    who,
                    next(self.opt_in_sources),
                    next(self.channels),
                    self.reference("sub"),
                ),
            )

    def calls(self, start: int, days: list[int]) -> Iterator[PlannedAppointment]:
        """A call on each of the days, booked in a morning after the past call before it; once somebody has paid, they are coached."""
        past, before, has_paid = sum(day < 0 for day in days), start - 1, False
        for index, day in enumerate(days):
            fate = next(self.fates[position_of(index, past, len(days))])
            booked_on = max(before + 1, min(day, 0) - self.chance.randint(1, 5))
            yield self.planned(booked_on, day, fate, self.customer_type() if has_paid else self.any_type())
            has_paid = has_paid or fate in PAID_ROLES
            before = day if day < 0 else before

    def any_type(self) -> tuple[AppointmentSource, EventType]:
        """The next source, and something that can be booked there."""
        source = next(self.call_sources)
        return source, self.chance.choice(
            self.world.types_of(None if source == AppointmentSource.MANUAL else source.value)
        )

    def customer_type(self) -> tuple[AppointmentSource, EventType]:
        """Coaching."""
        coaching = [one for one in self.world.event_types if one.call_category == CallCategory.COACHING_CALL]
        chosen = self.chance.choice(coaching)
        return AppointmentSource(chosen.provider or AppointmentSource.MANUAL), chosen

    def planned(
        self, booked_on: int, day: int, fate: Fate | None, booked: tuple[AppointmentSource, EventType]
    ) -> PlannedAppointment:
        """One call; every sixth is first booked for a day later."""
        schedule_time = days_from_today(day, self.chance.randint(13, 20), self.chance.choice([0, 30]))
        reference = self.reference("call")
        is_moved = self.references % 6 == 0 and fate != Fate.CANCELED
        return PlannedAppointment(
            reference=reference,
            source=booked[0],
            event_type=booked[1],
            booked_at=days_from_today(
                booked_on, self.chance.randint(7, 11), self.chance.randrange(60), self.chance.randrange(60)
            ),
            first_time=schedule_time + timedelta(days=1) if is_moved else schedule_time,
            schedule_time=schedule_time,
            host=self.chance.choice(self.world.team(Role.CLOSER)),
            setter=self.maybe(Role.SETTER),
            triager=self.maybe(Role.SALES_OPS),
            fate=fate,
        )

    def call(self, who: Person, call: PlannedAppointment, *, is_past: bool) -> Iterator[Step]:
        """What happens with a call, from its booking on."""
        yield Step(call.booked_at, partial(actions.book_appointment, self.world, who, call, next(self.wishes)))
        if call.first_time != call.schedule_time:
            yield Step(
                call.booked_at + timedelta(minutes=20), partial(actions.reschedule_appointment, self.world, call)
            )
        if call.fate == Fate.CANCELED:
            yield Step(
                call.booked_at + timedelta(minutes=30), partial(actions.cancel_planned_appointment, self.world, call)
            )
            return
        yield Step(
            call.booked_at + timedelta(minutes=35), partial(actions.fill_in_appointment, self.world, self.chance, call)
        )
        if is_past and call.fate:
            yield Step(
                call.schedule_time + timedelta(minutes=50),
                partial(actions.record_outcome, self.world, self.chance, call, call.fate),
            )

    def maybe(self, role: Role) -> Membership | None:
        """Mostly somebody of this role."""
        return self.chance.choice(self.world.team(role)) if self.chance.random() < 0.7 else None

    def reference(self, kind: str) -> str:
        """An external reference that nobody has."""
        self.references += 1
        return f"demo-{kind}-{self.references:04d}"
