"""The actions of the scenario: each calls services, as of the time that the clock shows."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from uuid_utils.compat import uuid7

from appointments.models import Appointment, AppointmentSource, CallAnalysis, EventType, Provider
from appointments.services import (
    BookingData,
    book,
    cancel_appointment,
    cancel_by_reference,
    change_outcome,
    create_note,
    edit_appointment,
    import_appointment,
    reschedule,
    save_analysis,
)
from leads.models import CustomField, Lead, TouchPointType
from leads.phones import Phone, parse_phone
from leads.services import change_status, edit_lead
from optins.models import OptInSource
from optins.services import submit
from organizations.actors import SYSTEM, Actor, api_key_actor, staff_actor
from organizations.models import Membership
from pipeline_backend.db.timestamps import now
from pipeline_backend.demo.campaigns import FORMS, TrafficSource, random_answers, random_traffic
from pipeline_backend.demo.organization_setup import CUSTOM_FIELDS, OrganizationData
from pipeline_backend.demo.people import Person
from statuses.models import PAID_ROLES, StatusRole

# Outcomes of a meeting that took place, so that there can be a recording of it.
OUTCOMES_AFTER_MEETING = [
    StatusRole.WON,
    StatusRole.LOST,
    StatusRole.FOLLOW_UP,
    StatusRole.PARTIAL_PAYMENT,
    StatusRole.UNQUALIFIED,
]
OUTCOME_NOTES = {
    StatusRole.WON: "Signed for the Growth program, first invoice is out.",
    StatusRole.LOST: "Went with somebody cheaper; ask again in half a year.",
    StatusRole.FOLLOW_UP: "Wants to talk to the business partner first.",
    StatusRole.PARTIAL_PAYMENT: "Paid the deposit, the rest follows in two installments.",
    StatusRole.UNQUALIFIED: "Has no business yet. Sent the starter guide.",
    StatusRole.NO_SHOW: "Waited ten minutes, then wrote an e-mail.",
    StatusRole.RESCHEDULED: "Asked for another day; new link is out.",
    StatusRole.NEW_LEAD: "Triage only; back to the start until the form is filled in.",
}
RATIONALES = {
    StatusRole.WON: "The lead accepted the price and asked for the contract twice.",
    StatusRole.LOST: "The lead named a competitor and ended the call early.",
    StatusRole.FOLLOW_UP: "The lead was interested, but could not decide alone.",
    StatusRole.PARTIAL_PAYMENT: "The lead agreed to start with a deposit.",
    StatusRole.UNQUALIFIED: "The lead's revenue is below the program's minimum.",
}
# Touch points that staff set; APPOINTMENT is set by the services.
MANUAL_TOUCH_POINTS = [
    TouchPointType.CALL,
    TouchPointType.EMAIL,
    TouchPointType.SMS,
    TouchPointType.FOLLOW_UP,
    TouchPointType.OTHER,
]


@dataclass
class PlannedAppointment:
    """An appointment of the scenario. `id` is set when it is booked."""

    reference: str
    source: AppointmentSource
    event_type: EventType
    booked_at: datetime
    first_schedule_time: datetime
    schedule_time: datetime
    host: Membership
    setter: Membership | None
    triager: Membership | None
    outcome: StatusRole | None
    id: UUID | None = None

    @property
    def meeting_url(self) -> str:
        """The URL of the video meeting."""
        return f"https://meet.northwind.example/{self.reference}"


def integration_actor(data: OrganizationData) -> Actor:
    """Return the actor of API requests: the demo's API key, or the system if there is none."""
    return api_key_actor(data.api_key) if data.api_key else SYSTEM


def person_phone(person: Person) -> Phone | None:
    """Return the person's phone number as the services take it."""
    return parse_phone(person.phone, person.country) if person.phone else None


def submit_opt_in(
    data: OrganizationData,
    rng: random.Random,
    person: Person,
    source: OptInSource,
    traffic_source: TrafficSource,
    reference: str,
) -> None:
    """Submit a form. A quarter of the people come by a setter's link."""
    form_id, form_name = FORMS.get(source, ("", ""))
    form = {"provider_form_id": form_id, "provider_form_name": form_name} if form_id else {}
    setter_user_id = rng.choice(data.members_with_role("SETTER")).user_id if rng.random() < 0.25 else ""
    submit(
        organization=data.organization,
        actor=integration_actor(data),
        email=person.email,
        first_name=person.first_name,
        last_name=person.last_name,
        source=source.value,
        phone=person_phone(person),
        external_reference=reference,
        traffic=random_traffic(rng, traffic_source, setter_user_id),
        questions_answers=random_answers(rng, rng.randint(2, 4)),
        **form,
    )


def get_lead(data: OrganizationData, person: Person) -> Lead:
    """Return the lead that has the person's e-mail."""
    lead: Lead = Lead.objects.of(data.organization).with_email(data.organization.pk, person.email).get()
    lead.organization = data.organization
    return lead


def fill_in_lead(data: OrganizationData, rng: random.Random, person: Person) -> None:
    """Set the lead's custom values and, if it has none, a setter."""
    values = random_custom_values(data, rng, CustomField.Entity.LEAD)
    lead = get_lead(data, person)
    setter = lead.setter or rng.choice([None, *data.members_with_role("SETTER")])
    actor = staff_actor(rng.choice(data.members_with_role("SALES_OPS")).user)
    edit_lead(organization=data.organization, actor=actor, lead=lead, custom_values=values, setter=setter)


def random_custom_values(data: OrganizationData, rng: random.Random, entity: CustomField.Entity) -> dict[str, object]:
    """Return random values by custom field id. Some fields have no value."""
    samples = {key: values for key, _, _, values in CUSTOM_FIELDS[entity]}
    fields = [field for field in data.custom_fields_of(entity) if field.key in samples and rng.random() < 0.85]
    return {str(field.pk): rng.choice(samples[field.key]) for field in fields}


def book_appointment(data: OrganizationData, person: Person, planned: PlannedAppointment, notes: str) -> None:
    """Book the appointment through the API's service, or import it as a scheduler's integration would do it."""
    booking = BookingData(
        lead_email=person.email,
        lead_first_name=person.first_name,
        lead_last_name=person.last_name,
        lead_phone=person.phone,
        event_type_id=planned.event_type.pk,
        meeting_url=planned.meeting_url,
        notes=notes,
        host_email=planned.host.user.email,
        setter_email=planned.setter.user.email if planned.setter else "",
        triager_email=planned.triager.user.email if planned.triager else "",
    )
    reference, schedule_time = planned.reference, planned.first_schedule_time
    if planned.source == AppointmentSource.MANUAL:
        planned.id = book(
            organization=data.organization,
            actor=integration_actor(data),
            external_reference=reference,
            schedule_time=schedule_time,
            **booking,
        ).id
    else:
        planned.id = import_appointment(
            organization=data.organization,
            actor=SYSTEM,
            provider=Provider(planned.source),
            external_reference=reference,
            schedule_time=schedule_time,
            **booking,
        ).id


def get_appointment(data: OrganizationData, planned: PlannedAppointment) -> Appointment:
    """Return the booked appointment as it is stored now."""
    appointments = Appointment.objects.of(data.organization).select_related("lead", "outcome")
    appointment: Appointment = appointments.get(pk=planned.id)
    return appointment


def reschedule_appointment(data: OrganizationData, planned: PlannedAppointment) -> None:
    """Move the appointment to its final time, as its host."""
    reschedule(
        organization=data.organization,
        actor=staff_actor(planned.host.user),
        appointment=get_appointment(data, planned),
        to=planned.schedule_time,
    )


def cancel_planned_appointment(data: OrganizationData, planned: PlannedAppointment) -> None:
    """Cancel the appointment through the API's service, or as a scheduler's integration would do it."""
    if planned.source == AppointmentSource.MANUAL:
        cancel_by_reference(
            organization=data.organization,
            actor=integration_actor(data),
            external_reference=planned.reference,
            notes="Lead asked to cancel by e-mail.",
        )
        return
    cancel_appointment(
        organization=data.organization,
        actor=SYSTEM,
        appointment=get_appointment(data, planned),
        notes=f"Canceled in {planned.source.label}.",
    )


def fill_in_appointment(data: OrganizationData, rng: random.Random, planned: PlannedAppointment) -> None:
    """Set the appointment's custom values, as its host."""
    values = random_custom_values(data, rng, CustomField.Entity.APPOINTMENT)
    edit_appointment(
        organization=data.organization,
        actor=staff_actor(planned.host.user),
        appointment=get_appointment(data, planned),
        custom_values=values,
    )


def record_outcome(data: OrganizationData, rng: random.Random, planned: PlannedAppointment, role: StatusRole) -> None:
    """Record how the appointment went: outcome, note, recording, and the lead's status and touch point."""
    organization, actor, status = data.organization, staff_actor(planned.host.user), data.statuses[role]
    appointment = change_outcome(
        organization=organization, actor=actor, appointment=get_appointment(data, planned), status_id=status.pk
    )
    mentions = [rng.choice(data.members_with_role("MANAGER"))] if rng.random() < 0.3 else []
    create_note(
        organization=organization, actor=actor, appointment=appointment, text=OUTCOME_NOTES[role], mentions=mentions
    )
    if role in OUTCOMES_AFTER_MEETING:
        add_recording(data, rng, appointment, role)
    lead = appointment.lead
    # Later appointments of a paying customer are coaching, whose outcome says nothing about the sale.
    if lead.status.role in PAID_ROLES:
        return
    change_status(organization=organization, actor=actor, lead_id=lead.pk, status_id=status.pk)
    if role == StatusRole.FOLLOW_UP:
        edit_lead(
            organization=organization,
            actor=actor,
            lead=lead,
            next_touch_point_at=now() + timedelta(days=rng.randint(5, 40)),
            next_touch_point_type=rng.choice(MANUAL_TOUCH_POINTS).value,
        )


def add_recording(data: OrganizationData, rng: random.Random, appointment: Appointment, role: StatusRole) -> None:
    """Add a recording and, for four of five, a call analysis."""
    url = f"https://recordings.northwind.example/{appointment.pk}"
    edit_appointment(organization=data.organization, actor=SYSTEM, appointment=appointment, recording_url=url)
    if rng.random() < 0.2:
        return
    analysis = CallAnalysis(
        appointment=appointment,
        call_analysis_call_id=f"call_{uuid7().hex[-12:]}",
        ai_generated_title=f"{appointment.event_type} with {appointment.lead.first_name}",
        ai_rationale=RATIONALES[role],
        ai_suggested_outcome=data.statuses[role].name,
        ai_confidence_score=round(rng.uniform(0.55, 0.99), 2),
    )
    save_analysis(organization=data.organization, analysis=analysis)
