"""Booking as one would write it first: look, or create; save; one row after the other. The same rows as ours."""

from datetime import datetime
from typing import Any

from django.db.models import Q

from appointments.models import Appointment, EventType, Note, OutcomeChange
from appointments.notifications import notification_context
from benchmarks.ordinary.serializers import AppointmentDetailSerializer, LeadDetailSerializer
from benchmarks.ordinary.telling import notify, record
from leads.models import CustomField, Lead, LeadStatusChange, Source
from notifications.models import Kind
from optins.models import UTM_FIELDS
from organizations.actors import Actor, actor_columns
from organizations.models import Membership, Organization
from pipeline_backend.db.timestamps import now
from statuses.models import Status


def book(
    organization: Organization, actor: Actor, *, external_reference: str, schedule_time: datetime, **wanted: Any
) -> Appointment:
    """A new booking; references are new here."""
    if Appointment.objects.of(organization).filter(source="MANUAL", external_reference=external_reference).exists():
        raise ValueError(external_reference)
    people = {
        role: member(organization, wanted[f"{role}_email"])
        for role in ("host", "setter", "triager")
        if wanted.get(f"{role}_email")
    }
    statuses = Status.objects.of(organization).filter(role="APPOINTMENT_BOOKED")
    source = source_named(organization, "MANUAL")
    lead = lead_of(organization, actor, wanted, source, statuses.get(is_lead_default=True))
    event_type = EventType.objects.of(organization).with_name(wanted["event_type_name"]).first()
    if event_type is None:
        event_type = EventType.objects.create(organization=organization, name=wanted["event_type_name"])
    latest = lead.opt_ins.order_by("-created_at").first()
    appointment = Appointment.objects.create(
        organization=organization,
        lead=lead,
        event_type=event_type,
        call_category=event_type.call_category,
        schedule_time=schedule_time,
        external_reference=external_reference,
        meeting_url=wanted.get("meeting_url"),
        outcome=statuses.get(is_appointment_default=True),
        first_source=lead.first_source,
        last_source=lead.last_source,
        **people,
        **({name: getattr(latest, name) for name in UTM_FIELDS} if latest else {}),
    )
    OutcomeChange.objects.create(
        organization=organization, appointment=appointment, to_status=appointment.outcome, **actor_columns(actor)
    )
    if wanted.get("notes"):
        Note.objects.create(
            organization=organization, appointment=appointment, note=wanted["notes"], **actor_columns(actor)
        )
    upcoming = Appointment.objects.of(organization).filter(lead=lead).upcoming().order_by("schedule_time").first()
    lead.next_touch_point_at, lead.next_touch_point_type = (
        (upcoming.schedule_time, "APPOINTMENT") if upcoming else (None, None)
    )
    lead.updated_at = now()
    lead.save()
    context = {
        "custom_fields": list(
            CustomField.objects.of(organization).filter(entity="APPOINTMENT").order_by("position", "key")
        )
    }
    record("appointment.created", appointment, AppointmentDetailSerializer(appointment, context=context).data, actor)
    notify(
        Kind.CALL_BOOKED,
        organization,
        recipients(organization, appointment),
        notification_context(appointment, wanted.get("notes", "")),
    )
    return appointment


def member(organization: Organization, email: str) -> Membership:
    """The active member."""
    found: Membership = (
        Membership.objects.of(organization)
        .select_related("user")
        .get(user__email__iexact=email, is_active=True, user__is_active=True)
    )
    return found


def source_named(organization: Organization, name: str) -> Source:
    """The source, made if new."""
    source: Source | None = Source.objects.of(organization).with_name(name).first()
    return source or Source.objects.create(organization=organization, name=name)


def lead_of(organization: Organization, actor: Actor, wanted: dict[str, Any], source: Source, status: Status) -> Lead:
    """The lead, made if new, with its history and event."""
    lead: Lead | None = Lead.objects.of(organization).with_email(organization.pk, wanted["lead_email"]).first()
    if lead is None:
        first_name = wanted.get("lead_first_name") or wanted["lead_email"].partition("@")[0]
        fresh = {"email": wanted["lead_email"], "first_name": first_name, "last_name": wanted.get("lead_last_name", "")}
        lead = Lead.objects.create(
            organization=organization, status=status, first_source=source, last_source=source, **fresh
        )
        LeadStatusChange.objects.create(organization=organization, lead=lead, to_status=status, **actor_columns(actor))
        announce(lead, actor)
    lead.last_source = source
    lead.save()
    return lead


def announce(lead: Lead, actor: Actor) -> None:
    """The event of a new lead."""
    context = {
        "custom_fields": list(
            CustomField.objects.of(lead.organization).filter(entity="LEAD").order_by("position", "key")
        )
    }
    record("lead.created", lead, LeadDetailSerializer(lead, context=context).data, actor)


def recipients(organization: Organization, appointment: Appointment) -> list[Membership]:
    """The call's people, or the owners."""
    ids = [appointment.host_id, appointment.setter_id, appointment.triager_id]
    members = (
        Membership.objects.of(organization)
        .select_related("user", "mail_preference")
        .filter(is_active=True, user__is_active=True)
    )
    involved = list(members.filter(Q(pk__in=[id for id in ids if id])))
    return involved or list(members.filter(role="OWNER"))
