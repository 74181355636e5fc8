"""The scenario: the plan of what happens to each lead, and when.

The whole plan is made first. Then `run_steps` runs its steps in the order of time, since the steps of different leads
alternate.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import partial
from itertools import cycle

from appointments.models import AppointmentSource, CallCategory, EventType
from optins.models import OptInSource
from organizations.models import MemberRole, Membership
from pipeline_backend.db.timestamps import now
from pipeline_backend.demo import actions
from pipeline_backend.demo.actions import PlannedAppointment
from pipeline_backend.demo.campaigns import TRAFFIC_SOURCES
from pipeline_backend.demo.clock import fake_now
from pipeline_backend.demo.organization_setup import OrganizationData
from pipeline_backend.demo.people import Person, random_person
from statuses.models import PAID_ROLES, StatusRole

WEEKS = 8
# The pattern of ten leads, repeated: 15 opt-ins and 20 appointments, of which 7 are upcoming. The tenth has no opt-in.
OPT_INS = [1, 2, 1, 2, 1, 2, 1, 3, 2, 0]
APPOINTMENTS = [3, 2, 0, 2, 1, 4, 2, 3, 1, 2]
UPCOMING = [1, 0, 0, 1, 1, 1, 0, 1, 0, 2]

# The outcomes of a lead's appointments: of the last one if none is upcoming, ...
FINAL_OUTCOMES = [
    StatusRole.WON,
    StatusRole.NO_SHOW,
    StatusRole.UNQUALIFIED,
    StatusRole.LOST,
    StatusRole.RESCHEDULED,
    StatusRole.PARTIAL_PAYMENT,
    StatusRole.FOLLOW_UP,
]
# ... of the last past one before upcoming ones, of the earlier ones, ...
LAST_PAST_OUTCOMES = [StatusRole.WON, StatusRole.FOLLOW_UP, StatusRole.PARTIAL_PAYMENT, StatusRole.LOST]
EARLIER_OUTCOMES = [
    StatusRole.NO_SHOW,
    StatusRole.FOLLOW_UP,
    StatusRole.RESCHEDULED,
    StatusRole.CANCELED,
    StatusRole.NEW_LEAD,
]
# ... and of upcoming ones, where None means that the appointment stays booked.
UPCOMING_OUTCOMES = [None, None, None, StatusRole.CANCELED, None, None]
BOOKING_NOTES = [
    "Prefers to talk in the morning.",
    "Found us through a friend.",
    "",
    "Wants to know about payment in installments.",
    "",
]


@dataclass(frozen=True)
class Step:
    """One action of the plan, and the time at which it happens."""

    time: datetime
    run: Callable[[], None]


def run_steps(steps: Iterable[Step]) -> None:
    """Run the steps in the order of time, each with the clock at its time."""
    for step in sorted(steps, key=lambda step: step.time):
        with fake_now(step.time):
            step.run()


def organization_created_at() -> datetime:
    """Return when the organization was created: a week before its first lead."""
    return days_from_today(-7 * WEEKS - 7, 8)


def days_from_today(days: int, hour: int, minute: int = 0, second: int = 0) -> datetime:
    """Return the UTC time on the day that is this number of days from today."""
    return datetime.combine(now().date() + timedelta(days=days), time(hour, minute, second), UTC)


def position_of(index: int, past: int, total: int) -> str:
    """Return which list of outcomes applies to a lead's appointment."""
    if index >= past:
        return "upcoming"
    if index < past - 1:
        return "earlier"
    return "final" if past == total else "last_past"


class Scenario:
    """The plan for one organization. The same seed makes the same plan."""

    def __init__(self, data: OrganizationData, seed: str) -> None:
        self.data = data
        self.rng = random.Random(seed)  # noqa: S311  # sample data, not security
        self.opt_in_sources = cycle(OptInSource)
        self.traffic_sources = cycle(TRAFFIC_SOURCES)
        self.appointment_sources = cycle(AppointmentSource)
        self.booking_notes = cycle(BOOKING_NOTES)
        self.outcomes: dict[str, Iterator[StatusRole | None]] = {
            "final": cycle(FINAL_OUTCOMES),
            "last_past": cycle(LAST_PAST_OUTCOMES),
            "earlier": cycle(EARLIER_OUTCOMES),
            "upcoming": cycle(UPCOMING_OUTCOMES),
        }
        self.reference_count = 0

    def steps(self, leads: int) -> Iterator[Step]:
        """Yield the steps of this number of leads."""
        for index in range(leads):
            yield from self.lead_steps(index, random_person(self.rng))

    def lead_steps(self, index: int, person: Person) -> Iterator[Step]:
        """Yield the steps of one lead: opt-ins, appointments, and what staff enter."""
        pattern = index % len(APPOINTMENTS)
        past, upcoming = APPOINTMENTS[pattern] - UPCOMING[pattern], UPCOMING[pattern]
        # The first day of the lead: far enough in the past for its past appointments, spread over the weeks.
        start = -(past + 3) - (index * 11) % (7 * WEEKS - past - 3)
        days = [
            *sorted(self.rng.sample(range(start + 1, -1), past)),
            *sorted(self.rng.sample(range(1, 28), upcoming)),
        ]
        appointments = list(self.appointments(start, days))
        yield from self.opt_in_steps(person, start, OPT_INS[pattern])
        for planned, day in zip(appointments, days, strict=True):
            yield from self.appointment_steps(person, planned, is_past=day < 0)
        if index % 3:
            first_contact = (
                days_from_today(start, 12, 50)
                if OPT_INS[pattern]
                else appointments[0].booked_at + timedelta(minutes=40)
            )
            yield Step(first_contact, partial(actions.fill_in_lead, self.data, self.rng, person))

    def opt_in_steps(self, person: Person, start: int, count: int) -> Iterator[Step]:
        """Yield the opt-ins: the first on the lead's first day, before anything else, the others later."""
        days = [start, *self.rng.sample(range(start + 1, 0), count - 1)] if count else []
        for day in days:
            submitted_at = days_from_today(day, 6, self.rng.randrange(60), self.rng.randrange(60))
            source, traffic_source = next(self.opt_in_sources), next(self.traffic_sources)
            reference = self.next_reference("sub")
            yield Step(
                submitted_at,
                partial(actions.submit_opt_in, self.data, self.rng, person, source, traffic_source, reference),
            )

    def appointments(self, start: int, days: list[int]) -> Iterator[PlannedAppointment]:
        """Yield an appointment on each of the days, booked after the previous past one. Paying leads get coaching."""
        past, previous_day, has_paid = sum(day < 0 for day in days), start - 1, False
        for index, day in enumerate(days):
            outcome = next(self.outcomes[position_of(index, past, len(days))])
            booked_on = max(previous_day + 1, min(day, 0) - self.rng.randint(1, 5))
            source, event_type = self.coaching_event_type() if has_paid else self.any_event_type()
            yield self.plan_appointment(booked_on, day, outcome, source, event_type)
            has_paid = has_paid or outcome in PAID_ROLES
            previous_day = day if day < 0 else previous_day

    def any_event_type(self) -> tuple[AppointmentSource, EventType]:
        """Return the next source and a random event type of it."""
        source = next(self.appointment_sources)
        provider = None if source == AppointmentSource.MANUAL else source.value
        return source, self.rng.choice(self.data.event_types_of(provider))

    def coaching_event_type(self) -> tuple[AppointmentSource, EventType]:
        """Return a random coaching event type and its source."""
        coaching = [row for row in self.data.event_types if row.call_category == CallCategory.COACHING_CALL]
        event_type = self.rng.choice(coaching)
        return AppointmentSource(event_type.provider or AppointmentSource.MANUAL), event_type

    def plan_appointment(
        self, booked_on: int, day: int, outcome: StatusRole | None, source: AppointmentSource, event_type: EventType
    ) -> PlannedAppointment:
        """Return a new appointment. Every sixth reference is first booked for the day after, unless it is canceled."""
        schedule_time = days_from_today(day, self.rng.randint(13, 20), self.rng.choice([0, 30]))
        reference = self.next_reference("call")
        is_rescheduled = self.reference_count % 6 == 0 and outcome != StatusRole.CANCELED
        return PlannedAppointment(
            reference=reference,
            source=source,
            event_type=event_type,
            # In a morning, while appointments are in an afternoon, so that it is after the previous one.
            booked_at=days_from_today(
                booked_on, self.rng.randint(7, 11), self.rng.randrange(60), self.rng.randrange(60)
            ),
            first_schedule_time=schedule_time + timedelta(days=1) if is_rescheduled else schedule_time,
            schedule_time=schedule_time,
            host=self.rng.choice(self.data.members_with_role(MemberRole.CLOSER)),
            setter=self.maybe_member(MemberRole.SETTER),
            triager=self.maybe_member(MemberRole.SALES_OPS),
            outcome=outcome,
        )

    def appointment_steps(self, person: Person, planned: PlannedAppointment, *, is_past: bool) -> Iterator[Step]:
        """Yield the steps of one appointment, from its booking to its outcome."""
        booked_at, notes = planned.booked_at, next(self.booking_notes)
        yield Step(booked_at, partial(actions.book_appointment, self.data, person, planned, notes))
        if planned.first_schedule_time != planned.schedule_time:
            yield Step(booked_at + timedelta(minutes=20), partial(actions.reschedule_appointment, self.data, planned))
        if planned.outcome == StatusRole.CANCELED:
            cancel = partial(actions.cancel_planned_appointment, self.data, planned)
            yield Step(booked_at + timedelta(minutes=30), cancel)
            return
        fill_in = partial(actions.fill_in_appointment, self.data, self.rng, planned)
        yield Step(booked_at + timedelta(minutes=35), fill_in)
        if is_past and planned.outcome:
            record_outcome = partial(actions.record_outcome, self.data, self.rng, planned, planned.outcome)
            yield Step(planned.schedule_time + timedelta(minutes=50), record_outcome)

    def maybe_member(self, role: MemberRole) -> Membership | None:
        """Return a random member with this role, or None in three of ten cases."""
        return self.rng.choice(self.data.members_with_role(role)) if self.rng.random() < 0.7 else None

    def next_reference(self, kind: str) -> str:
        """Return an unused external reference."""
        self.reference_count += 1
        return f"demo-{kind}-{self.reference_count:04d}"
