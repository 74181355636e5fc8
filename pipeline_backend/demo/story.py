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
from pipeline_backend.demo import acts
from pipeline_backend.demo.acts import Call
from pipeline_backend.demo.campaigns import CHANNELS
from pipeline_backend.demo.clock import at
from pipeline_backend.demo.opening import World
from pipeline_backend.demo.people import Person, person
from statuses.models import PAID_ROLES
from statuses.models import Role as Fate

WEEKS = 8
# For every ten leads: 15 opt-ins and 20 calls, of which 7 are still to come. The tenth lead never sent a form in.
OPT_INS = [1, 2, 1, 2, 1, 2, 1, 3, 2, 0]
CALLS = [3, 2, 0, 2, 1, 4, 2, 3, 1, 2]
COMING = [1, 0, 0, 1, 1, 1, 0, 1, 0, 2]
# What becomes of a lead's calls: of the last one, if nothing is to come; of the last past one before those to come; of earlier ones;
# and of those to come (None: it stays booked).
FINAL = [Fate.WON, Fate.NO_SHOW, Fate.UNQUALIFIED, Fate.LOST, Fate.RESCHEDULED, Fate.PARTIAL_PAYMENT, Fate.FOLLOW_UP]
MIDDLE = [Fate.WON, Fate.FOLLOW_UP, Fate.PARTIAL_PAYMENT, Fate.LOST]
EARLIER = [Fate.NO_SHOW, Fate.FOLLOW_UP, Fate.RESCHEDULED, Fate.CANCELED, Fate.NEW_LEAD]
COMING_UP = [None, None, None, Fate.CANCELED, None, None]
WISHES = [
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


def live(steps: Iterable[Step]) -> None:
    """Let it all happen, each thing at its moment."""
    for step in sorted(steps, key=lambda step: step.at):
        with at(step.at):
            step.act()


def opening_day() -> datetime:
    """When the organization began, a week before its first lead."""
    return moment(-7 * WEEKS - 7, 8)


def moment(day: int, hour: int, minute: int = 0, second: int = 0) -> datetime:
    """So many days from today, in UTC."""
    return datetime.combine(now().date() + timedelta(days=day), time(hour, minute, second), UTC)


def kind_of(index: int, past: int, calls: int) -> str:
    """Where among a lead's calls this one stands."""
    if index >= past:
        return "coming"
    if index < past - 1:
        return "earlier"
    return "final" if past == calls else "middle"


class Plot:
    """The plan for one organization; the same seed makes the same one."""

    def __init__(self, world: World, seed: str) -> None:
        self.world = world
        self.chance = random.Random(seed)  # noqa: S311  # invents people, guards nothing
        self.opt_in_sources = cycle(OptInSource)
        self.channels = cycle(CHANNELS)
        self.call_sources = cycle(AppointmentSource)
        self.wishes = cycle(WISHES)
        self.fates: dict[str, Iterator[Fate | None]] = {
            "final": cycle(FINAL),
            "middle": cycle(MIDDLE),
            "earlier": cycle(EARLIER),
            "coming": cycle(COMING_UP),
        }
        self.references = 0

    def steps(self, leads: int) -> Iterator[Step]:
        """Everything that happens to so many leads."""
        for index in range(leads):
            yield from self.lead(index, person(self.chance))

    def lead(self, index: int, who: Person) -> Iterator[Step]:
        """One lead: opt-ins, calls, and what staff note."""
        kind = index % 10
        past, coming = CALLS[kind] - COMING[kind], COMING[kind]
        start = -(past + 3) - (index * 11) % (7 * WEEKS - past - 3)
        days = sorted(self.chance.sample(range(start + 1, -1), past)) + sorted(self.chance.sample(range(1, 28), coming))
        calls = list(self.calls(start, days))
        yield from self.opt_ins(who, start, OPT_INS[kind])
        for call, day in zip(calls, days, strict=True):
            yield from self.call(who, call, is_past=day < 0)
        first = moment(start, 12, 50) if OPT_INS[kind] else calls[0].booked_at + timedelta(minutes=40)
        if index % 3:
            yield Step(first, partial(acts.describe, self.world, self.chance, who))

    def opt_ins(self, who: Person, start: int, count: int) -> Iterator[Step]:
        """The first on the lead's first day, before anything else; the others later."""
        days = [start, *self.chance.sample(range(start + 1, 0), count - 1)] if count else []
        for day in days:
            sent_at = moment(day, 6, self.chance.randrange(60), self.chance.randrange(60))
            yield Step(
                sent_at,
                partial(
                    acts.opt_in,
                    self.world,
                    self.chance,
                    who,
                    next(self.opt_in_sources),
                    next(self.channels),
                    self.reference("sub"),
                ),
            )

    def calls(self, start: int, days: list[int]) -> Iterator[Call]:
        """A call on each of the days, booked in a morning after the past call before it; once somebody has paid, they are coached."""
        past, before, has_paid = sum(day < 0 for day in days), start - 1, False
        for index, day in enumerate(days):
            fate = next(self.fates[kind_of(index, past, len(days))])
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

    def planned(self, booked_on: int, day: int, fate: Fate | None, booked: tuple[AppointmentSource, EventType]) -> Call:
        """One call; every sixth is first booked for a day later."""
        schedule_time = moment(day, self.chance.randint(13, 20), self.chance.choice([0, 30]))
        reference = self.reference("call")
        is_moved = self.references % 6 == 0 and fate != Fate.CANCELED
        return Call(
            reference=reference,
            source=booked[0],
            event_type=booked[1],
            booked_at=moment(
                booked_on, self.chance.randint(7, 11), self.chance.randrange(60), self.chance.randrange(60)
            ),
            first_time=schedule_time + timedelta(days=1) if is_moved else schedule_time,
            schedule_time=schedule_time,
            host=self.chance.choice(self.world.team(Role.CLOSER)),
            setter=self.maybe(Role.SETTER),
            triager=self.maybe(Role.SALES_OPS),
            fate=fate,
        )

    def call(self, who: Person, call: Call, *, is_past: bool) -> Iterator[Step]:
        """What happens with a call, from its booking on."""
        yield Step(call.booked_at, partial(acts.book_call, self.world, who, call, next(self.wishes)))
        if call.first_time != call.schedule_time:
            yield Step(call.booked_at + timedelta(minutes=20), partial(acts.move_call, self.world, call))
        if call.fate == Fate.CANCELED:
            yield Step(call.booked_at + timedelta(minutes=30), partial(acts.cancel_call, self.world, call))
            return
        yield Step(call.booked_at + timedelta(minutes=35), partial(acts.prepare_call, self.world, self.chance, call))
        if is_past and call.fate:
            yield Step(
                call.schedule_time + timedelta(minutes=50),
                partial(acts.finish_call, self.world, self.chance, call, call.fate),
            )

    def maybe(self, role: Role) -> Membership | None:
        """Mostly somebody of this role."""
        return self.chance.choice(self.world.team(role)) if self.chance.random() < 0.7 else None

    def reference(self, kind: str) -> str:
        """An external reference that nobody has."""
        self.references += 1
        return f"demo-{kind}-{self.references:04d}"
