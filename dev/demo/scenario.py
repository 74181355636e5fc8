"""The demo's scenario, played through the services.

Each opt-in and each appointment is a generator of steps. The steps of the past are done in the order of time, with the
clock set to it. Times are relative to today, so that there are always calls today and tomorrow, calls without an
outcome, follow-ups for today and the next days, and opt-ins that no one has called yet.
"""

import random
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from heapq import heapify, heappop, heappush
from itertools import chain, count, cycle
from typing import Any
from unittest import mock
from zoneinfo import ZoneInfo

from uuid_utils.compat import uuid7

from appointments import services
from appointments.models import Appointment, CallAnalysis, CallCategory, EventType, Provider
from dev.demo.organization import CUSTOM_FIELDS
from dev.demo.people import FORMS, TRAFFIC_SOURCES, Person, random_answers, random_person, random_traffic, same_person
from foundation.db.timestamps import now
from leads.duplicates import search_batch
from leads.models import CustomField, Lead
from leads.phones import parse_phone
from leads.services import edit_lead
from optins.models import OptInSource
from optins.services import submit
from organizations.actors import SYSTEM, api_key_actor, staff_actor
from organizations.models import ApiKey, MemberRole, Membership, Organization
from statuses.models import PAID_ROLES, Status, StatusRole

# A lead's number of opt-ins, and its appointments: each with its day, in working days from today, and its outcome,
# None if the appointment is upcoming or its outcome was forgotten.
STORIES: list[tuple[int, list[tuple[int, str | None]]]] = [
    (1, [(-12, "NO_SHOW"), (-6, "WON"), (3, None)]),
    (2, [(-9, "RESCHEDULED"), (-7, "NO_SHOW")]),
    (1, []),
    (2, [(-5, "FOLLOW_UP"), (1, None)]),
    (1, [(0, None)]),
    (2, [(-20, "NO_SHOW"), (-15, "FOLLOW_UP"), (-8, "PARTIAL_PAYMENT"), (2, None)]),
    (1, [(-16, "CANCELED"), (-11, "LOST")]),
    (3, [(-14, "NEW_LEAD"), (-7, "FOLLOW_UP"), (4, "CANCELED")]),
    (2, [(-4, "FOLLOW_UP")]),
    (0, [(1, None), (6, None)]),
    (1, [(-3, "UNQUALIFIED")]),
    (2, [(-22, "WON"), (-13, "WON"), (-5, "NO_SHOW"), (0, None)]),
    (1, [(-8, "NEW_LEAD")]),
    (2, [(-6, "NO_SHOW"), (0, "LOST")]),
    (1, [(-1, None)]),
    (1, []),
    (2, [(-18, "NO_SHOW"), (-10, "RESCHEDULED")]),
    (2, [(-9, "FOLLOW_UP"), (-1, None)]),
    (1, [(-17, "PARTIAL_PAYMENT"), (-10, "WON"), (9, None)]),
    (2, [(-19, "FOLLOW_UP"), (-12, "LOST"), (1, None), (12, "CANCELED")]),
]
# Leads who are an earlier lead, by number, and what the two have in common. All of them only opted in.
DUPLICATES = {15: (1, "mailbox"), 22: (3, "phone"), 35: (8, "name")}
# Working days to shift events more than a day away when the stories repeat.
SHIFT_PAST, SHIFT_UPCOMING = -16, 4
FIRST_DAY, LAST_DAY = -70, 40  # calendar days from today; enough for all working days above
TIME_ZONE = ZoneInfo("America/New_York")

# The host's note about each outcome and, if there was a meeting to record, the reason in its analysis.
OUTCOME_TEXTS = {
    "WON": ("Signed for the Growth program, the invoice is out.", "The lead accepted the price at once."),
    "LOST": ("Chose a cheaper offer; ask again in half a year.", "The lead named a competitor."),
    "FOLLOW_UP": ("Wants to talk to the business partner first.", "The lead is interested, but can't decide alone."),
    "PARTIAL_PAYMENT": ("Paid the deposit, two installments follow.", "The lead agreed to start with a deposit."),
    "UNQUALIFIED": ("Has no business yet. Sent the starter guide.", "The lead's revenue is below the minimum."),
    "NO_SHOW": ("Waited ten minutes, then wrote an e-mail.", None),
    "RESCHEDULED": ("Asked for another day; new link is out.", None),
    "NEW_LEAD": ("Triage only; back to the start until the form is filled in.", None),
}
BOOKING_NOTES = ["Prefers to talk in the morning.", "Found us through a friend.", "", "Asks for installments.", ""]


# Yields the time of each step before it is done.
Steps = Iterator[datetime]


def fake_now(value: datetime) -> "mock._patch[mock.MagicMock]":
    """Return a context in which services see this time. The process must have one thread."""
    return mock.patch("django.utils.timezone.now", return_value=value)


class Scenario:
    """The plan for one organization. The same organization gets the same people, sources and outcomes."""

    def __init__(self, organization: Organization, api_key: ApiKey | None) -> None:
        self.organization = organization
        self.integration = api_key_actor(api_key) if api_key else SYSTEM
        self.rng = random.Random(organization.name)  # sample data, not security
        self.memberships = list(Membership.objects.of(organization).select_related("user").order_by("user__email"))
        self.event_types = list(EventType.objects.of(organization).order_by("name"))
        self.custom_fields = list(CustomField.objects.of(organization).order_by("entity", "position"))
        statuses = Status.objects.of(organization).filter(is_appointment_default=True)
        self.statuses = {status.role: status for status in statuses}
        self.opt_in_sources, self.traffic_sources = cycle(OptInSource), cycle(TRAFFIC_SOURCES)
        self.booking_notes, self.follow_up_days = cycle(BOOKING_NOTES), cycle([1, 0, 2])
        self.numbers = count(1)
        self.people: list[Person] = []
        today = now().astimezone(TIME_ZONE).date()
        days = [today + timedelta(days=number) for number in range(FIRST_DAY, LAST_DAY)]
        # Today and tomorrow count as working days even at a weekend: they are what people look at first.
        self.days = [day for day in days if day.weekday() < 5 or 0 <= (day - today).days <= 1]
        self.today = self.days.index(today)

    def play(self, leads: int) -> None:
        """Do all steps of the past in the order of time, with the clock set to each."""
        started_at = now()
        subjects = chain.from_iterable(self.plan_lead(index) for index in range(leads))
        # The number decides between steps of the same time.
        queue = [(next(steps), number, steps) for number, steps in enumerate(subjects)]
        heapify(queue)
        while queue and queue[0][0] <= started_at:
            step_at, number, steps = heappop(queue)
            with fake_now(step_at):
                next_at = next(steps, None)
            if next_at:
                heappush(queue, (next_at, number, steps))
        while services.refresh_touch_points(organization=self.organization):
            pass
        while search_batch(organization=self.organization):
            pass

    def plan_lead(self, index: int) -> Iterator[Steps]:
        repetition, story = divmod(index, len(STORIES))
        opt_ins, appointments = STORIES[story]
        person = random_person(self.rng)
        if index in DUPLICATES:
            earlier, same = DUPLICATES[index]
            person = same_person(self.people[earlier], same)
        self.people.append(person)
        first_day, previous_day, has_paid = -repetition, FIRST_DAY, False
        for number, (planned_day, outcome) in enumerate(appointments, 1):
            shift = SHIFT_PAST if planned_day < -1 else SHIFT_UPCOMING if planned_day > 1 else 0
            day = planned_day + repetition * shift
            # After the previous appointment, and before today.
            booked_on = min(-1, max(day - self.rng.randint(1, 5), previous_day + 1))
            yield self.appointment(person, booked_on, day, outcome, has_paid, is_last=number == len(appointments))
            first_day = booked_on if number == 1 else first_day
            previous_day = day if day < 0 else previous_day
            has_paid = has_paid or outcome in PAID_ROLES
        for number in range(opt_ins):
            submitted_at = self.at(first_day, 7) if number == 0 else self.at(self.rng.randint(first_day, -1), 8)
            yield self.opt_in(person, min(submitted_at, now() - timedelta(hours=2)))

    def at(self, day: int, hour: int) -> datetime:
        """Return a time within this hour of the day, which is a number of working days from today."""
        minute, second = self.rng.randrange(60), self.rng.randrange(60)
        return datetime.combine(self.days[self.today + day], time(hour, minute, second), TIME_ZONE)

    def member(self, role: str) -> Membership:
        """Return a random member with this role, or any member if there is none."""
        members = [membership for membership in self.memberships if membership.role == role]
        return self.rng.choice(members or self.memberships)

    def custom_values(self, entity: CustomField.Entity) -> dict[str, object]:
        samples = {key: values for _, key, _, _, values in CUSTOM_FIELDS}
        fields = [field for field in self.custom_fields if field.entity == entity and self.rng.random() < 0.85]
        return {str(field.pk): self.rng.choice(samples[field.key]) for field in fields}

    def opt_in(self, person: Person, submitted_at: datetime) -> Steps:
        """Submit a form, and fill in what it does not ask for. A quarter of the people come by a setter's link."""
        yield submitted_at
        organization, source, setter = self.organization, next(self.opt_in_sources), self.member(MemberRole.SETTER)
        _, lead_id, _ = submit(
            organization=organization,
            actor=self.integration,
            email=person.email,
            first_name=person.first_name,
            last_name=person.last_name,
            source=source.value,
            phone=parse_phone(person.phone, person.country) if person.phone else None,
            external_reference=f"demo-sub-{next(self.numbers):04d}",
            traffic=random_traffic(self.rng, next(self.traffic_sources), self.rng.choice([setter.user_id, "", "", ""])),
            questions_answers=random_answers(self.rng, self.rng.randint(2, 4)),
            **FORMS.get(source, {}),
        )
        lead = Lead.objects.of(organization).get(pk=lead_id)
        edit_lead(
            organization=organization,
            actor=staff_actor(self.member(MemberRole.SALES_OPS).user),
            lead=lead,
            custom_values=self.custom_values(CustomField.Entity.LEAD),
            setter=lead.setter or self.rng.choice([None, setter]),
        )

    def appointment(
        self, person: Person, booked_on: int, day: int, outcome: str | None, has_paid: bool, *, is_last: bool
    ) -> Steps:
        """Book an appointment, and move or cancel it or record its outcome. Those who have paid get coaching."""
        coaching = CallCategory.COACHING_CALL
        event_type = self.rng.choice([row for row in self.event_types if has_paid == (row.call_category == coaching)])
        schedule_time = self.at(day, self.rng.randint(9, 16)).replace(minute=self.rng.choice([0, 30]), second=0)
        booked_at, number = self.at(booked_on, self.rng.randint(9, 11)), next(self.numbers)
        # Every sixth is first booked for the day after.
        is_moved = number % 6 == 0 and outcome != StatusRole.CANCELED
        host = self.member(MemberRole.CLOSER)

        yield booked_at
        booking: services.BookingData = {
            "external_reference": f"demo-call-{number:04d}",
            "schedule_time": schedule_time + timedelta(days=is_moved),
            "lead_email": person.email,
            "lead_first_name": person.first_name,
            "lead_last_name": person.last_name,
            "lead_phone": person.phone,
            "event_type_id": event_type.pk,
            "meeting_url": f"https://meet.northwind.example/{number}",
            "notes": next(self.booking_notes),
            "host_email": host.user.email,
            "setter_email": self.rng.choice([self.member(MemberRole.SETTER).user.email, ""]),
            "triager_email": self.rng.choice([self.member(MemberRole.SALES_OPS).user.email, ""]),
        }
        organization, host_actor = self.organization, staff_actor(host.user)
        if event_type.provider:
            provider = Provider(event_type.provider)
            booked = services.import_appointment(organization=organization, actor=SYSTEM, provider=provider, **booking)
        else:
            booked = services.book(organization=organization, actor=self.integration, **booking)
        appointment = Appointment.objects.of(organization).get(pk=booked.id)
        change: dict[str, Any] = {"organization": organization, "actor": host_actor, "appointment": appointment}
        services.edit_appointment(**change, custom_values=self.custom_values(CustomField.Entity.APPOINTMENT))
        if is_moved:
            yield booked_at + timedelta(minutes=20)
            services.reschedule(**change, to=schedule_time)
        if outcome == StatusRole.CANCELED:
            yield booked_at + timedelta(minutes=30)
            services.cancel_appointment(**change, notes="Lead asked to cancel by e-mail.")
        elif outcome:
            yield schedule_time + timedelta(minutes=50)
            self.record_outcome(outcome, change)
            if outcome == StatusRole.FOLLOW_UP and is_last:
                due_at = self.at(next(self.follow_up_days), self.rng.randint(9, 16))
                step: dict[str, Any] = {"at": due_at, "type": "FOLLOW_UP", "owner": host}
                services.set_next_step(organization=organization, actor=host_actor, lead_id=appointment.lead_id, **step)

    def record_outcome(self, role: str, change: dict[str, Any]) -> None:
        """Record an outcome with a note and, if there was a meeting, a recording; four of five get a call analysis."""
        status, (text, rationale) = self.statuses[role], OUTCOME_TEXTS[role]
        # Other outcomes move the lead by themselves.
        lead_status_id = status.pk if status.role == StatusRole.RESCHEDULED else None
        services.edit_appointment(**change, status_id=status.pk, lead_status_id=lead_status_id)
        mentions = [self.member(MemberRole.MANAGER)] if self.rng.random() < 0.3 else []
        services.create_note(**change, text=text, id=uuid7(), mentions=mentions)
        if rationale is None:
            return
        appointment: Appointment = change["appointment"]
        services.edit_appointment(**change, recording_url=f"https://recordings.northwind.example/{appointment.pk}")
        if self.rng.random() < 0.8:
            analysis = CallAnalysis(
                appointment=appointment,
                call_analysis_call_id=f"call_{appointment.pk.hex[-12:]}",
                ai_generated_title=f"{appointment.event_type} with {appointment.lead.first_name}",
                ai_rationale=rationale,
                ai_suggested_outcome=status.name,
                ai_confidence_score=round(self.rng.uniform(0.55, 0.99), 2),
            )
            services.save_analysis(organization=self.organization, actor=SYSTEM, analysis=analysis)
