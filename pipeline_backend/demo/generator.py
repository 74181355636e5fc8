"""Leads and calls by the hundred thousand: each lead lives its life in memory, by the rules of the services, and only its rows are written.

The rules are those of `leads.services` and `appointments.services`: the histories tell every move, a paid lead is never moved by a
step that nobody chose, a canceled call has no meeting URL, sources and campaign are as they were at the booking, and the lead's next
touch point is its earliest call to come.
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
from pipeline_backend.demo.campaigns import CHANNELS, FORMS, random_answers, random_traffic
from pipeline_backend.demo.people import random_person
from pipeline_backend.demo.snapshot import ActorColumns, Host, OrganizationSnapshot
from statuses.models import PAID_ROLES, Role

LONG_RANGE = timedelta(days=730)
SHORT_RANGE = timedelta(days=14)
LONG_RANGE_SHARE = 0.15
CANCELED_SHARE = 0.12
# A call that was just held has no outcome yet; there are none of these.
OUTCOME_DELAY = timedelta(hours=2)


@dataclass
class SimulatedAppointment:
    """A call on its way through a life."""

    id: str
    source: str
    event_type: EventType
    host: Host
    setter_id: str | None
    booked_at: datetime
    schedule_time: datetime
    updated_at: datetime
    role: Role = Role.APPOINTMENT_BOOKED
    status_id: str | None = None
    sources: tuple[str, str] = ("", "")
    utm: list[str | None] = field(default_factory=list)


SimulationStep = tuple[datetime, Callable[[datetime, Any], None], SimulatedAppointment | None]


@dataclass
class LeadSimulation:
    """A lead: a new one, or one that has a status already and goes on from `since`."""

    stage: OrganizationSnapshot
    batch: Batch
    id: str
    since: datetime
    role: str = Role.NEW_LEAD
    status_id: str | None = None
    first_source: str = ""
    last_source: str = ""
    touch: tuple[datetime | None, str | None] = (None, None)
    utm: list[str | None] = field(default_factory=lambda: [None] * len(UTM_FIELDS))
    coming: dict[str, datetime] = field(default_factory=dict)

    def live(self, opt_ins: int, calls: int) -> None:
        """Everything in its order, up to now."""
        planned = [self.plan() for _ in range(calls)]
        deeds: list[SimulationStep] = [
            (self.stage.between(self.since, self.stage.now), self.opt_in, None) for _ in range(opt_ins)
        ]
        if self.status_id is None:
            deeds = self.begin(deeds, planned)
        for call in planned:
            deeds += self.deeds_of(call)
        for moment, deed, about in sorted(deeds, key=itemgetter(0)):
            self.since = moment
            deed(moment, about)
        for call in planned:
            self.write_call(call)

    def begin(self, deeds: list[SimulationStep], planned: list[SimulatedAppointment]) -> list[SimulationStep]:
        """A new lead comes into being with its first form or, without any, with its first call."""
        self.move(self.since, Role.NEW_LEAD, self.stage.integration)
        if deeds:
            return [(self.since, self.opt_in, None), *deeds[1:]]
        planned[0].booked_at = self.since
        return []

    def plan(self) -> SimulatedAppointment:
        """A call that will be booked: mostly for the next days, sometimes far ahead."""
        stage, chance = self.stage, self.stage.chance
        source = chance.choice(AppointmentSource.values)
        booked_at = stage.between(self.since, stage.now)
        ahead = stage.between(
            booked_at, booked_at + (LONG_RANGE if chance.random() < LONG_RANGE_SHARE else SHORT_RANGE)
        )
        schedule_time = ahead.replace(
            hour=chance.randint(8, 20), minute=chance.choice((0, 30)), second=0, microsecond=0
        )
        while schedule_time <= booked_at or stage.now - OUTCOME_DELAY < schedule_time <= stage.now:
            schedule_time += timedelta(days=1)
        setter = chance.choice(stage.setters) if chance.random() < 0.7 else None
        event_type, host = chance.choice(stage.types[source]), chance.choice(stage.hosts)
        return SimulatedAppointment(str(uuid7()), source, event_type, host, setter, booked_at, schedule_time, booked_at)

    def deeds_of(self, call: SimulatedAppointment) -> list[SimulationStep]:
        """What happens with a call, and when."""
        stage, booked = self.stage, (call.booked_at, self.book, call)
        if stage.chance.random() < CANCELED_SHARE:
            return [booked, (stage.between(call.booked_at, min(call.schedule_time, stage.now)), self.cancel, call)]
        if call.schedule_time < stage.now:
            return [booked, (call.schedule_time + timedelta(minutes=50), self.finish, call)]
        return [booked]

    def opt_in(self, moment: datetime, _: None) -> None:
        """A form is sent in."""
        stage, id = self.stage, str(uuid7())
        seen, source = (
            random_traffic(stage.chance, stage.chance.choice(CHANNELS)),
            stage.chance.choice(list(OptInSource)),
        )
        traffic: list[Any] = [seen.get(name) for name in TRAFFIC_FIELDS]
        form_id, form_name = FORMS.get(source, (None, None))
        self.batch.add(
            OptInRow(
                id, stage.organization_id, moment, self.id, source.value, form_id, form_name, f"sub-{id[19:]}", *traffic
            )
        )
        for answer in random_answers(stage.chance, 2):
            self.batch.add(AnswerRow(str(uuid7()), stage.organization_id, moment, id, **answer))
        self.come_from(stage.sources[seen["utm_source"]])
        self.utm = traffic[: len(UTM_FIELDS)]

    def book(self, moment: datetime, call: SimulatedAppointment) -> None:
        """A call is booked, and the lead with it."""
        self.come_from(self.stage.sources[call.source])
        call.sources, call.utm = (self.first_source, self.last_source), self.utm
        self.coming[call.id] = call.schedule_time
        self.decide(moment, call, Role.APPOINTMENT_BOOKED, self.booker(call))
        self.move(moment, Role.APPOINTMENT_BOOKED, self.booker(call))

    def cancel(self, moment: datetime, call: SimulatedAppointment) -> None:
        """A call is called off; a lead with another one to come stays booked."""
        del self.coming[call.id]
        self.decide(moment, call, Role.CANCELED, self.booker(call))
        if not self.coming:
            self.move(moment, Role.CANCELED, self.booker(call))

    def finish(self, moment: datetime, call: SimulatedAppointment) -> None:
        """After a call: its outcome, the lead's status, sometimes a note."""
        del self.coming[call.id]
        role, by = self.stage.fate(), call.host.by
        self.decide(moment, call, role, by)
        self.move(moment, role, by)
        if self.stage.chance.random() < 0.4 and role in OUTCOME_NOTES:
            self.batch.add(NoteRow(str(uuid7()), self.stage.organization_id, moment, *by, call.id, OUTCOME_NOTES[role]))

    def booker(self, call: SimulatedAppointment) -> ActorColumns:
        """Who books and cancels it."""
        return self.stage.integration if call.source == AppointmentSource.MANUAL else self.stage.system

    def come_from(self, source_id: str) -> None:
        """The first source stays, the last one follows."""
        self.first_source = self.first_source or source_id
        self.last_source = source_id

    def decide(self, moment: datetime, call: SimulatedAppointment, role: Role, by: ActorColumns) -> None:
        """A step on the appointments' board."""
        to = self.stage.call_statuses[role]
        self.batch.add(
            OutcomeChangeRow(str(uuid7()), self.stage.organization_id, moment, *by, call.status_id, to, call.id)
        )
        call.role, call.status_id, call.updated_at = role, to, moment

    def move(self, moment: datetime, role: Role, by: ActorColumns) -> None:
        """A step on the leads' board, if it has this status; not out of a paid one."""
        to = self.stage.lead_statuses.get(role)
        if to is None or self.status_id == to or self.role in PAID_ROLES:
            return
        self.batch.add(
            LeadStatusChangeRow(str(uuid7()), self.stage.organization_id, moment, *by, self.status_id, to, self.id)
        )
        self.role, self.status_id = role, to

    def write_call(self, call: SimulatedAppointment) -> None:
        """The appointment's row as its life has left it, and what the analysis platform made of it."""
        stage, chance = self.stage, self.stage.chance
        meeting, is_recorded = (
            f"https://meet.northwind.example/{call.id[19:]}",
            call.role in OUTCOMES_AFTER_MEETING and chance.random() < 0.5,
        )
        self.batch.add(
            AppointmentRow(
                id=call.id,
                organization_id=stage.organization_id,
                created_at=call.booked_at,
                lead_id=self.id,
                event_type_id=str(call.event_type.pk),
                schedule_time=call.schedule_time,
                call_category=call.event_type.call_category,
                host_id=call.host.id,
                setter_id=call.setter_id,
                triager_id=chance.choice(stage.setters) if chance.random() < 0.2 else None,
                meeting_url=None if call.role == Role.CANCELED else meeting,
                recording_url=f"https://recordings.northwind.example/{call.id}" if is_recorded else None,
                outcome_id=str(call.status_id),
                no_show=call.role == Role.NO_SHOW,
                source=call.source,
                external_reference=f"call-{call.id[19:]}",
                first_source_id=call.sources[0],
                last_source_id=call.sources[1],
                custom_values=chance.choice(stage.call_values),
                invitation_sequence=int(call.role == Role.CANCELED),
                updated_at=call.updated_at,
                **dict(zip(UTM_FIELDS, call.utm, strict=True)),
            )
        )
        if is_recorded and chance.random() < 0.5:
            self.write_analysis(call)

    def write_analysis(self, call: SimulatedAppointment) -> None:
        """What the analysis platform made of the call."""
        stage, title = self.stage, f"{call.event_type.name} on {call.schedule_time:%d %b %Y}"
        confidence = round(stage.chance.uniform(0.55, 0.99), 2)
        about = (
            call.updated_at,
            call.id,
            f"call_{call.id[19:]}",
            title,
            RATIONALES[call.role],
            stage.status_names[call.role],
            confidence,
        )
        self.batch.add(AnalysisRow(str(uuid7()), stage.organization_id, *about))

    def touch_point(self) -> tuple[datetime | None, str | None]:
        """The earliest call to come, unless staff set something earlier (decision 16)."""
        first, (by_hand_at, kind) = min(self.coming.values(), default=None), self.touch
        is_by_hand = by_hand_at is not None and kind != TouchPointType.APPOINTMENT
        if is_by_hand and by_hand_at and (first is None or self.stage.now < by_hand_at < first):
            return self.touch
        return first, TouchPointType.APPOINTMENT.value if first else None

    def write_new(self, created_at: datetime) -> None:
        """The row of a lead that was not there."""
        stage, who = self.stage, random_person(self.stage.chance, mark=self.id[24:])
        touch_point_at, touch_point_type = self.touch_point()
        self.batch.add(
            LeadRow(
                id=self.id,
                organization_id=stage.organization_id,
                created_at=created_at,
                email=who.email,
                first_name=who.first_name,
                last_name=who.last_name,
                phone_e164=who.phone or None,
                phone_country=who.country or None,
                status_id=str(self.status_id),
                setter_id=stage.chance.choice(stage.setters) if stage.chance.random() < 0.6 else None,
                first_source_id=self.first_source,
                last_source_id=self.last_source,
                next_touch_point_at=touch_point_at,
                next_touch_point_type=touch_point_type,
                custom_values=stage.chance.choice(stage.lead_values),
                updated_at=self.since,
            )
        )

    def write_grown(self) -> None:
        """What has changed of a lead that was there."""
        self.batch.add(LeadUpdateRow(self.id, str(self.status_id), self.last_source, *self.touch_point(), self.since))
