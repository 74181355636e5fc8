"""How things happen in the demo: through the services, at the moment that the clock shows."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from appointments.models import Appointment, AppointmentSource, CallAnalysis, EventType
from appointments.services import (
    book,
    cancel,
    cancel_appointment,
    change_outcome,
    create_note,
    edit_appointment,
    reschedule,
    save_analysis,
)
from appointments.services._shared import build_outcome_change, next_schedule_time
from appointments.services.booking import last_touch_utm
from appointments.topics import CREATED
from leads.models import CustomField, Lead, TouchPointType
from leads.phones import Phone, parse_phone
from leads.services import (
    build_lead,
    change_status,
    edit_lead,
    get_or_create_lead,
    get_or_create_source,
    initial_status_change,
    merge_submission,
    record_lead_created,
    save_lead,
    set_next_touch_point,
    set_status_automatically,
)
from optins.models import OptInSource
from optins.services import submit
from organizations.actors import SYSTEM, Actor, api_key_actor, staff_actor
from organizations.models import Membership
from pipeline_backend.db.timestamps import now
from pipeline_backend.db.writes import insert_all
from pipeline_backend.demo.campaigns import FORMS, Channel, random_answers, random_traffic
from pipeline_backend.demo.organization_setup import CUSTOM_FIELDS, DemoOrganization
from pipeline_backend.demo.people import Person
from statuses.models import PAID_ROLES, Role
from webhooks.services import record_event

OUTCOMES_AFTER_MEETING = [Role.WON, Role.LOST, Role.FOLLOW_UP, Role.PARTIAL_PAYMENT, Role.UNQUALIFIED]
OUTCOME_NOTES = {
    Role.WON: "Signed for the Growth program, first invoice is out.",
    Role.LOST: "Went with somebody cheaper; ask again in half a year.",
    Role.FOLLOW_UP: "Wants to talk to the business partner first.",
    Role.PARTIAL_PAYMENT: "Paid the deposit, the rest follows in two instalments.",
    Role.UNQUALIFIED: "Has no business yet. Sent the starter guide.",
    Role.NO_SHOW: "Waited ten minutes, then wrote an e-mail.",
    Role.RESCHEDULED: "Asked for another day; new link is out.",
    Role.NEW_LEAD: "Triage only; back to the start until the form is filled in.",
}
RATIONALES = {
    Role.WON: "The lead accepted the price and asked for the contract twice.",
    Role.LOST: "The lead named a competitor and ended the call early.",
    Role.FOLLOW_UP: "The lead was interested, but could not decide alone.",
    Role.PARTIAL_PAYMENT: "The lead agreed to start with a deposit.",
    Role.UNQUALIFIED: "The lead's revenue is below the program's minimum.",
}
MANUAL_TOUCH_POINTS = [
    TouchPointType.CALL,
    TouchPointType.EMAIL,
    TouchPointType.SMS,
    TouchPointType.FOLLOW_UP,
    TouchPointType.OTHER,
]


@dataclass
class PlannedAppointment:
    """A call in a story; `id` is known once it is booked."""

    reference: str
    source: AppointmentSource
    event_type: EventType
    booked_at: datetime
    first_time: datetime
    schedule_time: datetime
    host: Membership
    setter: Membership | None
    triager: Membership | None
    fate: Role | None
    id: UUID | None = None


def integration_actor(world: DemoOrganization) -> Actor:
    """Who books and submits from outside: the demo's API key, where there is one."""
    return api_key_actor(world.key) if world.key else SYSTEM


def person_phone(person: Person) -> Phone | None:
    """The number as the services take it."""
    return parse_phone(person.phone, person.country) if person.phone else None


def submit_opt_in(
    world: DemoOrganization,
    chance: random.Random,
    person: Person,
    source: OptInSource,
    channel: Channel,
    reference: str,
) -> None:
    """The person sends a form in; some of them came by a setter's link."""
    form_id, form_name = FORMS.get(source, ("", ""))
    form = {"provider_form_id": form_id, "provider_form_name": form_name} if form_id else {}
    setter = chance.choice(world.team("SETTER")).user_id if chance.random() < 0.25 else ""
    submit(
        organization=world.organization,
        actor=integration_actor(world),
        email=person.email,
        first_name=person.first_name,
        last_name=person.last_name,
        source=source.value,
        phone=person_phone(person),
        external_reference=reference,
        traffic=random_traffic(chance, channel, setter),
        questions_answers=random_answers(chance, chance.randint(2, 4)),
        **form,
    )


def get_lead(world: DemoOrganization, person: Person) -> Lead:
    """The person's lead."""
    lead: Lead = Lead.objects.of(world.organization).with_email(world.organization.pk, person.email).get()
    lead.organization = world.organization
    return lead


def fill_in_lead(world: DemoOrganization, chance: random.Random, person: Person) -> None:
    """Staff note what they know of the lead."""
    values = random_custom_values(world, chance, CustomField.Entity.LEAD)
    lead = get_lead(world, person)
    setter = lead.setter or chance.choice([None, *world.team("SETTER")])
    by = staff_actor(chance.choice(world.team("SALES_OPS")).user)
    edit_lead(organization=world.organization, actor=by, lead=lead, custom_values=values, setter=setter)


def random_custom_values(world: DemoOrganization, chance: random.Random, entity: CustomField.Entity) -> dict[str, Any]:
    """Values of custom fields by their ids; now and then one is unknown."""
    choices = {key: values for key, _, _, values in CUSTOM_FIELDS[entity]}
    known = [field for field in world.fields_of(entity) if field.key in choices and chance.random() < 0.85]
    return {str(field.pk): chance.choice(choices[field.key]) for field in known}


def book_appointment(world: DemoOrganization, person: Person, call: PlannedAppointment, notes: str) -> None:
    """The call is booked: through the interface, or at a provider."""
    if call.source != AppointmentSource.MANUAL:
        call.id = book_at_provider(world, person, call)
        return
    people = {
        f"{role}_email": member.user.email for role in ("host", "setter", "triager") if (member := getattr(call, role))
    }
    booking = book(
        organization=world.organization,
        actor=integration_actor(world),
        external_reference=call.reference,
        schedule_time=call.first_time,
        lead_email=person.email,
        lead_first_name=person.first_name,
        lead_last_name=person.last_name,
        lead_phone=person.phone,
        event_type_id=call.event_type.pk,
        meeting_url=f"https://meet.northwind.example/{call.reference}",
        notes=notes,
        **people,
    )
    call.id = booking.id


def book_at_provider(world: DemoOrganization, person: Person, call: PlannedAppointment) -> UUID:
    """What a scheduler's integration does, which is no part of this service: the steps of `appointments.services.book`."""
    organization, booked = world.organization, world.statuses[Role.APPOINTMENT_BOOKED]
    source = get_or_create_source(organization=organization, name=call.source.value)
    lead, is_new = get_or_create_lead(
        build_lead(
            organization=organization, email=person.email, status=booked, source=source, first_name=person.first_name
        )
    )
    merge_submission(lead, source=source, phone=person_phone(person), last_name=person.last_name)
    appointment: Appointment = Appointment.objects.create(
        organization=organization,
        lead=lead,
        event_type=call.event_type,
        call_category=call.event_type.call_category,
        schedule_time=call.first_time,
        source=call.source,
        external_reference=call.reference,
        meeting_url=f"https://meet.northwind.example/{call.reference}",
        outcome=booked,
        first_source=lead.first_source,
        last_source=source,
        host=call.host,
        setter=call.setter,
        triager=call.triager,
        **last_touch_utm(lead),
    )
    insert_all(
        build_outcome_change(appointment, None, booked, SYSTEM),
        *([initial_status_change(lead, actor=SYSTEM)] if is_new else []),
    )
    set_next_touch_point(lead, next_schedule_time(lead))
    if is_new:
        save_lead(lead)
        record_lead_created(lead, actor=SYSTEM)
    set_status_automatically(lead, booked, actor=SYSTEM)
    record_event(CREATED, appointment, actor=SYSTEM)
    return appointment.pk


def get_appointment(world: DemoOrganization, call: PlannedAppointment) -> Appointment:
    """The booked call as it is now."""
    stored: Appointment = Appointment.objects.of(world.organization).select_related("lead", "outcome").get(pk=call.id)
    return stored


def reschedule_appointment(world: DemoOrganization, call: PlannedAppointment) -> None:
    """The host moves the call to another time."""
    reschedule(
        organization=world.organization,
        actor=staff_actor(call.host.user),
        appointment=get_appointment(world, call),
        to=call.schedule_time,
    )


def cancel_planned_appointment(world: DemoOrganization, call: PlannedAppointment) -> None:
    """The call is canceled where it was booked."""
    if call.source == AppointmentSource.MANUAL:
        cancel(
            organization=world.organization,
            actor=integration_actor(world),
            external_reference=call.reference,
            notes="Lead asked to cancel by e-mail.",
        )
        return
    cancel_appointment(
        organization=world.organization,
        actor=SYSTEM,
        appointment=get_appointment(world, call),
        notes=f"Canceled in {call.source.label}.",
    )


def fill_in_appointment(world: DemoOrganization, chance: random.Random, call: PlannedAppointment) -> None:
    """The closer writes down what the call is about."""
    values = random_custom_values(world, chance, CustomField.Entity.APPOINTMENT)
    edit_appointment(
        organization=world.organization,
        actor=staff_actor(call.host.user),
        appointment=get_appointment(world, call),
        custom_values=values,
    )


def record_outcome(world: DemoOrganization, chance: random.Random, call: PlannedAppointment, role: Role) -> None:
    """After the call: its outcome, a note, the lead's status, and what the analysis makes of it."""
    organization, by, status = world.organization, staff_actor(call.host.user), world.statuses[role]
    appointment = change_outcome(
        organization=organization, actor=by, appointment=get_appointment(world, call), status_id=status.pk
    )
    mentions = [chance.choice(world.team("MANAGER"))] if chance.random() < 0.3 else []
    create_note(
        organization=organization, actor=by, appointment=appointment, text=OUTCOME_NOTES[role], mentions=mentions
    )
    if role in OUTCOMES_AFTER_MEETING:
        add_recording(world, chance, appointment, role)
    lead = appointment.lead
    if lead.status.role in PAID_ROLES:
        return
    change_status(organization=organization, actor=by, lead_id=lead.pk, status_id=status.pk)
    if role == Role.FOLLOW_UP:
        later = now() + timedelta(days=chance.randint(5, 40))
        edit_lead(
            organization=organization,
            actor=by,
            lead=lead,
            next_touch_point_at=later,
            next_touch_point_type=chance.choice(MANUAL_TOUCH_POINTS).value,
        )


def add_recording(world: DemoOrganization, chance: random.Random, appointment: Appointment, role: Role) -> None:
    """A recording, and for most of them an analysis."""
    url = f"https://recordings.northwind.example/{appointment.pk}"
    edit_appointment(organization=world.organization, actor=SYSTEM, appointment=appointment, recording_url=url)
    if chance.random() < 0.2:
        return
    analysis = CallAnalysis(
        appointment=appointment,
        call_analysis_call_id=f"call_{uuid7().hex[-12:]}",
        ai_generated_title=f"{appointment.event_type} with {appointment.lead.first_name}",
        ai_rationale=RATIONALES[role],
        ai_suggested_outcome=world.statuses[role].name,
        ai_confidence_score=round(chance.uniform(0.55, 0.99), 2),
    )
    save_analysis(organization=world.organization, analysis=analysis)
