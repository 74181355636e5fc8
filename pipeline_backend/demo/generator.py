"""Simulates leads in memory and writes only the resulting rows, so that hundreds of thousands of them take minutes.

The rows follow the rules of `leads.services` and `appointments.services`:

- Histories contain every change of a status.
- A lead with a paid status is never moved automatically.
- A canceled appointment has no meeting URL.
- An appointment has the lead's sources and UTM fields as they were at its booking.
- The lead's next touch point is its earliest upcoming appointment.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from uuid_utils import uuid7

from appointments.models import AppointmentSource, EventType
from leads.models import TouchPointType
from optins.models import TRAFFIC_FIELDS, UTM_FIELDS, OptInSource
from pipeline_backend.demo.actions import OUTCOME_NOTES, OUTCOMES_AFTER_MEETING, RATIONALES
from pipeline_backend.demo.bulk_copy import (
    AnalysisRow,
    AnswerRow,
    AppointmentRow,
    Batch,
    LeadRow,
    LeadStatusChangeRow,
    LeadUpdateRow,
    NoteRow,
    OptInRow,
    OutcomeChangeRow,
)
from pipeline_backend.demo.campaigns import FORMS, TRAFFIC_SOURCES, random_answers, random_traffic
from pipeline_backend.demo.people import random_person
from pipeline_backend.demo.snapshot import ActorColumns, Host, OrganizationSnapshot
from statuses.models import PAID_ROLES, StatusRole

LONG_RANGE = timedelta(days=730)
SHORT_RANGE = timedelta(days=14)
LONG_RANGE_SHARE = 0.15  # of appointments are booked up to LONG_RANGE ahead, the others up to SHORT_RANGE
CANCELED_SHARE = 0.12
# No appointment started less than this long ago: it would not have an outcome yet.
OUTCOME_DELAY = timedelta(hours=2)


@dataclass
class SimulatedAppointment:
    """An appointment of a simulated lead, in its state at the current point of the simulation."""

    id: str
    source: str
    event_type: EventType
    host: Host
    setter_id: str | None
    booked_at: datetime
    schedule_time: datetime
    updated_at: datetime
    role: StatusRole = StatusRole.APPOINTMENT_BOOKED
    status_id: str | None = None
    source_ids: tuple[str, str] = ("", "")
    utm: list[str | None] = field(default_factory=list)


# The time, the method to call with it, and the method's second argument.
SimulationStep = tuple[datetime, Callable[[datetime, Any], None], SimulatedAppointment | None]


@dataclass
class LeadSimulation:
    """A lead in its state at the time `since`. An existing lead starts with its stored values."""

    snapshot: OrganizationSnapshot
    batch: Batch
    id: str
    since: datetime
    role: str = StatusRole.NEW_LEAD
    status_id: str | None = None  # None for a new lead
    first_source: str = ""
    last_source: str = ""
    stored_touch_point: tuple[datetime | None, str | None] = (None, None)
    utm: list[str | None] = field(default_factory=lambda: [None] * len(UTM_FIELDS))
    upcoming: dict[str, datetime] = field(default_factory=dict)  # schedule times by appointment id

    def run(self, opt_ins: int, appointments: int) -> None:
        """Simulate this many opt-ins and appointments from `since` until now, and add their rows to the batch."""
        snapshot = self.snapshot
        planned = [self.plan_appointment() for _ in range(appointments)]
        steps: list[SimulationStep] = [
            (snapshot.random_time(self.since, snapshot.now), self.submit_opt_in, None) for _ in range(opt_ins)
        ]
        if self.status_id is None:
            # A new lead is created by its first opt-in or, without any, by its first booking.
            self.change_status(self.since, StatusRole.NEW_LEAD, snapshot.integration)
            if steps:
                steps[0] = (self.since, self.submit_opt_in, None)
            else:
                planned[0].booked_at = self.since
        for appointment in planned:
            steps += self.appointment_steps(appointment)
        for time, action, appointment_or_none in sorted(steps, key=itemgetter(0)):
            self.since = time
            action(time, appointment_or_none)
        for appointment in planned:
            self.add_appointment_row(appointment)

    def plan_appointment(self) -> SimulatedAppointment:
        """Return an appointment that is not booked yet, with random values."""
        snapshot, rng = self.snapshot, self.snapshot.rng
        source = rng.choice(AppointmentSource.values)
        booked_at = snapshot.random_time(self.since, snapshot.now)
        latest = booked_at + (LONG_RANGE if rng.random() < LONG_RANGE_SHARE else SHORT_RANGE)
        schedule_time = snapshot.random_time(booked_at, latest).replace(
            hour=rng.randint(8, 20), minute=rng.choice((0, 30)), second=0, microsecond=0
        )
        while schedule_time <= booked_at or snapshot.now - OUTCOME_DELAY < schedule_time <= snapshot.now:
            schedule_time += timedelta(days=1)
        setter = rng.choice(snapshot.setters) if rng.random() < 0.7 else None
        event_type, host = rng.choice(snapshot.event_types[source]), rng.choice(snapshot.hosts)
        return SimulatedAppointment(str(uuid7()), source, event_type, host, setter, booked_at, schedule_time, booked_at)

    def appointment_steps(self, appointment: SimulatedAppointment) -> list[SimulationStep]:
        """Return what happens to an appointment until now: booking, and cancellation or outcome."""
        snapshot = self.snapshot
        booking = (appointment.booked_at, self.book, appointment)
        if snapshot.rng.random() < CANCELED_SHARE:
            canceled_at = snapshot.random_time(appointment.booked_at, min(appointment.schedule_time, snapshot.now))
            return [booking, (canceled_at, self.cancel, appointment)]
        if appointment.schedule_time < snapshot.now:
            return [booking, (appointment.schedule_time + timedelta(minutes=50), self.record_outcome, appointment)]
        return [booking]

    # Steps

    def submit_opt_in(self, time: datetime, _: None) -> None:
        """Submit a form with two answers."""
        snapshot, id = self.snapshot, str(uuid7())
        traffic = random_traffic(snapshot.rng, snapshot.rng.choice(TRAFFIC_SOURCES))
        source = snapshot.rng.choice(list(OptInSource))
        columns: list[Any] = [traffic.get(name) for name in TRAFFIC_FIELDS]
        form_id, form_name = FORMS.get(source, (None, None))
        reference = f"sub-{id[19:]}"
        self.batch.add(
            OptInRow(id, snapshot.organization_id, time, self.id, source.value, form_id, form_name, reference, *columns)
        )
        for answer in random_answers(snapshot.rng, 2):
            self.batch.add(AnswerRow(str(uuid7()), snapshot.organization_id, time, id, **answer))
        self.set_source(snapshot.sources[traffic["utm_source"]])
        self.utm = columns[: len(UTM_FIELDS)]

    def book(self, time: datetime, appointment: SimulatedAppointment) -> None:
        """Book the appointment; the lead's source and status follow."""
        self.set_source(self.snapshot.sources[appointment.source])
        appointment.source_ids, appointment.utm = (self.first_source, self.last_source), self.utm
        self.upcoming[appointment.id] = appointment.schedule_time
        self.change_outcome(time, appointment, StatusRole.APPOINTMENT_BOOKED, self.booking_actor(appointment))
        self.change_status(time, StatusRole.APPOINTMENT_BOOKED, self.booking_actor(appointment))

    def cancel(self, time: datetime, appointment: SimulatedAppointment) -> None:
        """Cancel the appointment. The lead keeps its status if it has another upcoming one."""
        del self.upcoming[appointment.id]
        self.change_outcome(time, appointment, StatusRole.CANCELED, self.booking_actor(appointment))
        if not self.upcoming:
            self.change_status(time, StatusRole.CANCELED, self.booking_actor(appointment))

    def record_outcome(self, time: datetime, appointment: SimulatedAppointment) -> None:
        """Record how the appointment went: its outcome, the lead's status and, for some, a note."""
        del self.upcoming[appointment.id]
        role, actor = self.snapshot.random_outcome(), appointment.host.actor
        self.change_outcome(time, appointment, role, actor)
        self.change_status(time, role, actor)
        if self.snapshot.rng.random() < 0.4 and role in OUTCOME_NOTES:
            note = OUTCOME_NOTES[role]
            self.batch.add(NoteRow(str(uuid7()), self.snapshot.organization_id, time, *actor, appointment.id, note))

    def booking_actor(self, appointment: SimulatedAppointment) -> ActorColumns:
        """Return who books and cancels the appointment: the API key or, for a scheduler's, the system."""
        is_manual = appointment.source == AppointmentSource.MANUAL
        return self.snapshot.integration if is_manual else self.snapshot.system

    def set_source(self, source_id: str) -> None:
        """Set the last source and, if there is none, the first source."""
        self.first_source = self.first_source or source_id
        self.last_source = source_id

    def change_outcome(
        self, time: datetime, appointment: SimulatedAppointment, role: StatusRole, actor: ActorColumns
    ) -> None:
        """Set the appointment's outcome, with a row of its history."""
        status_id, organization_id = self.snapshot.appointment_statuses[role], self.snapshot.organization_id
        self.batch.add(
            OutcomeChangeRow(
                str(uuid7()), organization_id, time, *actor, appointment.status_id, status_id, appointment.id
            )
        )
        appointment.role, appointment.status_id, appointment.updated_at = role, status_id, time

    def change_status(self, time: datetime, role: StatusRole, actor: ActorColumns) -> None:
        """Set the lead's status, with a row of its history, if the services would do so."""
        status_id, organization_id = self.snapshot.lead_statuses.get(role), self.snapshot.organization_id
        if status_id is None or self.status_id == status_id or self.role in PAID_ROLES:
            return
        self.batch.add(
            LeadStatusChangeRow(str(uuid7()), organization_id, time, *actor, self.status_id, status_id, self.id)
        )
        self.role, self.status_id = role, status_id

    # Rows of the final state

    def add_appointment_row(self, appointment: SimulatedAppointment) -> None:
        """Add the appointment's row, with a recording and an analysis for some."""
        snapshot, rng = self.snapshot, self.snapshot.rng
        is_recorded = appointment.role in OUTCOMES_AFTER_MEETING and rng.random() < 0.5
        meeting_url = f"https://meet.northwind.example/{appointment.id[19:]}"
        recording_url = f"https://recordings.northwind.example/{appointment.id}"
        self.batch.add(
            AppointmentRow(
                id=appointment.id,
                organization_id=snapshot.organization_id,
                created_at=appointment.booked_at,
                lead_id=self.id,
                event_type_id=str(appointment.event_type.pk),
                schedule_time=appointment.schedule_time,
                call_category=appointment.event_type.call_category,
                host_id=appointment.host.id,
                setter_id=appointment.setter_id,
                triager_id=rng.choice(snapshot.setters) if rng.random() < 0.2 else None,
                meeting_url=None if appointment.role == StatusRole.CANCELED else meeting_url,
                recording_url=recording_url if is_recorded else None,
                outcome_id=str(appointment.status_id),
                no_show=appointment.role == StatusRole.NO_SHOW,
                source=appointment.source,
                external_reference=f"call-{appointment.id[19:]}",
                first_source_id=appointment.source_ids[0],
                last_source_id=appointment.source_ids[1],
                custom_values=rng.choice(snapshot.appointment_custom_values),
                invitation_sequence=int(appointment.role == StatusRole.CANCELED),
                updated_at=appointment.updated_at,
                **dict(zip(UTM_FIELDS, appointment.utm, strict=True)),
            )
        )
        if is_recorded and rng.random() < 0.5:
            self.add_analysis_row(appointment)

    def add_analysis_row(self, appointment: SimulatedAppointment) -> None:
        """Add a call analysis of the appointment."""
        snapshot = self.snapshot
        self.batch.add(
            AnalysisRow(
                id=str(uuid7()),
                organization_id=snapshot.organization_id,
                created_at=appointment.updated_at,
                appointment_id=appointment.id,
                call_analysis_call_id=f"call_{appointment.id[19:]}",
                ai_generated_title=f"{appointment.event_type.name} on {appointment.schedule_time:%d %b %Y}",
                ai_rationale=RATIONALES[appointment.role],
                ai_suggested_outcome=snapshot.status_names[appointment.role],
                ai_confidence_score=round(snapshot.rng.uniform(0.55, 0.99), 2),
            )
        )

    def touch_point(self) -> tuple[datetime | None, str | None]:
        """Return the lead's next touch point, as `leads.services.set_next_touch_point` would set it."""
        next_appointment_at = min(self.upcoming.values(), default=None)
        stored_at, stored_type = self.stored_touch_point
        set_by_staff = stored_at if stored_type != TouchPointType.APPOINTMENT else None
        if set_by_staff and (next_appointment_at is None or self.snapshot.now < set_by_staff < next_appointment_at):
            return self.stored_touch_point
        return next_appointment_at, TouchPointType.APPOINTMENT.value if next_appointment_at else None

    def add_new_lead_row(self, created_at: datetime) -> None:
        """Add the row of a new lead."""
        snapshot, rng = self.snapshot, self.snapshot.rng
        person = random_person(rng, suffix=self.id[24:])
        touch_point_at, touch_point_type = self.touch_point()
        self.batch.add(
            LeadRow(
                id=self.id,
                organization_id=snapshot.organization_id,
                created_at=created_at,
                email=person.email,
                first_name=person.first_name,
                last_name=person.last_name,
                phone_e164=person.phone or None,
                phone_country=person.country or None,
                status_id=str(self.status_id),
                setter_id=rng.choice(snapshot.setters) if rng.random() < 0.6 else None,
                first_source_id=self.first_source,
                last_source_id=self.last_source,
                next_touch_point_at=touch_point_at,
                next_touch_point_type=touch_point_type,
                custom_values=rng.choice(snapshot.lead_custom_values),
                updated_at=self.since,
            )
        )

    def add_lead_update_row(self) -> None:
        """Add the changed values of an existing lead."""
        self.batch.add(LeadUpdateRow(self.id, str(self.status_id), self.last_source, *self.touch_point(), self.since))
