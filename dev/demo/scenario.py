"""The demo's scenario, played through the services.

First each step is planned with its time, then the steps of the past run in the order of time, with the clock set to it.
Times are relative to today, so that there are always calls today and tomorrow, calls without an outcome, follow-ups for
today and the next days, and opt-ins that no one has called yet.
"""

import random
from collections.abc import Callable
from datetime import datetime, time, timedelta
from functools import partial
from itertools import count, cycle
from operator import itemgetter
from typing import NamedTuple
from unittest import mock
from zoneinfo import ZoneInfo

from appointments import services
from appointments.models import Appointment, AppointmentSource, CallAnalysis, CallCategory, EventType, Provider
from dev.demo.organization import CUSTOM_FIELDS
from dev.demo.people import (
    FORM_NAMES,
    TRAFFIC_SOURCES,
    Person,
    random_answers,
    random_person,
    random_traffic,
    same_person,
)
from foundation.db.timestamps import now
from leads.duplicates import search_batch
from leads.models import CustomField, Lead
from leads.phones import parse_phone
from leads.services import change_status, edit_lead
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


class Call(NamedTuple):
    person: Person
    reference: str
    event_type: EventType
    schedule_time: datetime
    host: Membership
    is_last: bool


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
        self.steps: list[tuple[datetime, Callable[[], object]]] = []
        today = now().astimezone(TIME_ZONE).date()
        days = [today + timedelta(days=number) for number in range(FIRST_DAY, LAST_DAY)]
        # Today and tomorrow count as working days even at a weekend: they are what people look at first.
        self.days = [day for day in days if day.weekday() < 5 or 0 <= (day - today).days <= 1]
        self.today = self.days.index(today)

    def play(self, leads: int) -> None:
        for index in range(leads):
            self.plan_lead(index)
        started_at = now()
        for step_at, run in sorted(self.steps, key=itemgetter(0)):
            if step_at <= started_at:
                with fake_now(step_at):
                    run()
        while services.refresh_touch_points(organization=self.organization):
            pass
        while search_batch(organization=self.organization):
            pass

    def plan_lead(self, index: int) -> None:
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
            self.plan_call(person, booked_on, day, outcome, has_paid=has_paid, is_last=number == len(appointments))
            first_day = booked_on if number == 1 else first_day
            previous_day = day if day < 0 else previous_day
            has_paid = has_paid or outcome in PAID_ROLES
        for number in range(opt_ins):
            submitted_at = self.at(first_day, 7) if number == 0 else self.at(self.rng.randint(first_day, -1), 8)
            submitted_at = min(submitted_at, now() - timedelta(hours=2))
            self.steps.append((submitted_at, partial(self.submit_opt_in, person)))

    def at(self, day: int, hour: int) -> datetime:
        """Return a time within this hour of the day, which is a number of working days from today."""
        minute, second = self.rng.randrange(60), self.rng.randrange(60)
        return datetime.combine(self.days[self.today + day], time(hour, minute, second), TIME_ZONE)

    def plan_call(
        self, person: Person, booked_on: int, day: int, outcome: str | None, *, has_paid: bool, is_last: bool
    ) -> None:
        """Plan an appointment from its booking to its outcome. Those who have paid get coaching."""
        source = self.rng.choice(list(AppointmentSource))
        provider = None if source == AppointmentSource.MANUAL else source.value
        event_types = [row for row in self.event_types if row.provider == provider]
        if has_paid:
            event_types = [row for row in self.event_types if row.call_category == CallCategory.COACHING_CALL]
        event_type = self.rng.choice(event_types)
        schedule_time = self.at(day, self.rng.randint(9, 16)).replace(minute=self.rng.choice([0, 30]), second=0)
        number = next(self.numbers)
        host = self.member(MemberRole.CLOSER)
        call = Call(person, f"demo-call-{number:04d}", event_type, schedule_time, host, is_last)
        booked_at = self.at(booked_on, self.rng.randint(9, 11))
        # Every sixth is first booked for the day after.
        is_moved = number % 6 == 0 and outcome != StatusRole.CANCELED
        self.steps.append((booked_at, partial(self.book, call, schedule_time + timedelta(days=is_moved))))
        if is_moved:
            self.steps.append((booked_at + timedelta(minutes=20), partial(self.reschedule, call)))
        if outcome == StatusRole.CANCELED:
            self.steps.append((booked_at + timedelta(minutes=30), partial(self.cancel, call)))
        elif outcome:
            self.steps.append((schedule_time + timedelta(minutes=50), partial(self.record_outcome, call, outcome)))

    def member(self, role: str) -> Membership:
        """Return a random member with this role, or any member if there is none."""
        members = [membership for membership in self.memberships if membership.role == role]
        return self.rng.choice(members or self.memberships)

    def custom_values(self, entity: CustomField.Entity) -> dict[str, object]:
        """Return random values by custom field id. Some fields have no value."""
        samples = {key: values for _, key, _, _, values in CUSTOM_FIELDS}
        fields = [field for field in self.custom_fields if field.entity == entity and self.rng.random() < 0.85]
        return {str(field.pk): self.rng.choice(samples[field.key]) for field in fields}

    def submit_opt_in(self, person: Person) -> None:
        """Submit a form, and fill in what it does not ask for. A quarter of the people come by a setter's link."""
        source, organization = next(self.opt_in_sources), self.organization
        form = FORM_NAMES.get(source)
        setter = self.member(MemberRole.SETTER)
        submit(
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
            **({"provider_form_id": f"frm_{source.lower()}", "provider_form_name": form} if form else {}),
        )
        lead: Lead = Lead.objects.of(organization).with_email(organization.pk, person.email).get()
        edit_lead(
            organization=organization,
            actor=staff_actor(self.member(MemberRole.SALES_OPS).user),
            lead=lead,
            custom_values=self.custom_values(CustomField.Entity.LEAD),
            setter=lead.setter or self.rng.choice([None, setter]),
        )

    def book(self, call: Call, schedule_time: datetime) -> None:
        data = services.BookingData(
            lead_email=call.person.email,
            lead_first_name=call.person.first_name,
            lead_last_name=call.person.last_name,
            lead_phone=call.person.phone,
            event_type_id=call.event_type.pk,
            meeting_url=f"https://meet.northwind.example/{call.reference}",
            notes=next(self.booking_notes),
            host_email=call.host.user.email,
            setter_email=self.rng.choice([self.member(MemberRole.SETTER).user.email, ""]),
            triager_email=self.rng.choice([self.member(MemberRole.SALES_OPS).user.email, ""]),
        )
        if call.event_type.provider:
            self.import_call(call, schedule_time, StatusRole.APPOINTMENT_BOOKED, data)
        else:
            services.book(
                organization=self.organization,
                actor=self.integration,
                external_reference=call.reference,
                schedule_time=schedule_time,
                **data,
            )
        services.edit_appointment(
            organization=self.organization,
            actor=staff_actor(call.host.user),
            appointment=self.appointment(call),
            custom_values=self.custom_values(CustomField.Entity.APPOINTMENT),
        )

    def import_call(self, call: Call, schedule_time: datetime, outcome: StatusRole, data: services.BookingData) -> None:
        services.import_appointment(
            organization=self.organization,
            actor=SYSTEM,
            provider=Provider(str(call.event_type.provider)),
            external_reference=call.reference,
            schedule_time=schedule_time,
            outcome=outcome,
            **data,
        )

    def appointment(self, call: Call) -> Appointment:
        return Appointment.objects.of(self.organization).get(external_reference=call.reference)

    def reschedule(self, call: Call) -> None:
        """Move the appointment to its final time, as its host or at its provider."""
        if call.event_type.provider:
            self.import_call(call, call.schedule_time, StatusRole.APPOINTMENT_BOOKED, {})
            return
        appointment, actor = self.appointment(call), staff_actor(call.host.user)
        services.reschedule(organization=self.organization, actor=actor, appointment=appointment, to=call.schedule_time)

    def cancel(self, call: Call) -> None:
        """Cancel the appointment through the API or at its provider."""
        reference, notes = call.reference, "Lead asked to cancel by e-mail."
        if call.event_type.provider:
            self.import_call(call, call.schedule_time, StatusRole.CANCELED, {"notes": notes})
            return
        services.cancel_by_reference(
            organization=self.organization, actor=self.integration, external_reference=reference, notes=notes
        )

    def record_outcome(self, call: Call, role: str) -> None:
        organization, actor, status = self.organization, staff_actor(call.host.user), self.statuses[role]
        appointment = self.appointment(call)
        services.change_outcome(organization=organization, actor=actor, appointment=appointment, status_id=status.pk)
        mentions = [self.member(MemberRole.MANAGER)] if self.rng.random() < 0.3 else []
        text, rationale = OUTCOME_TEXTS[role]
        services.create_note(
            organization=organization, actor=actor, appointment=appointment, text=text, mentions=mentions
        )
        if rationale:
            self.add_recording(appointment, status, rationale)
        # Later appointments of a paying customer are coaching, whose outcome says nothing about the sale.
        if appointment.lead.status.role in PAID_ROLES:
            return
        change_status(organization=organization, actor=actor, lead_id=appointment.lead_id, status_id=status.pk)
        if role == StatusRole.FOLLOW_UP and call.is_last:
            due_at = self.at(next(self.follow_up_days), self.rng.randint(9, 16))
            follow_up = {"next_touch_point_at": due_at, "next_touch_point_type": "FOLLOW_UP"}
            edit_lead(organization=organization, actor=actor, lead=appointment.lead, **follow_up)

    def add_recording(self, appointment: Appointment, outcome: Status, rationale: str) -> None:
        """Add a recording and, for four of five, a call analysis."""
        organization, url = self.organization, f"https://recordings.northwind.example/{appointment.pk}"
        services.edit_appointment(organization=organization, actor=SYSTEM, appointment=appointment, recording_url=url)
        if self.rng.random() < 0.2:
            return
        analysis = CallAnalysis(
            appointment=appointment,
            call_analysis_call_id=f"call_{appointment.pk.hex[-12:]}",
            ai_generated_title=f"{appointment.event_type} with {appointment.lead.first_name}",
            ai_rationale=rationale,
            ai_suggested_outcome=outcome.name,
            ai_confidence_score=round(self.rng.uniform(0.55, 0.99), 2),
        )
        services.save_analysis(organization=organization, actor=SYSTEM, analysis=analysis)
