"""The entries about appointments, their e-mails and webhooks in the timelines of leads and of appointments."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.http import HttpRequest
from django.utils.html import format_html

from appointments.models import Appointment, AppointmentChange, Note, OutcomeChange
from foundation.outbox import State
from leads.models import Lead
from notifications.models import Notification
from optins.models import UTM_FIELDS
from organizations.permissions import PERMISSIONS, Area, has_role
from organizations.versions import VersionedModel
from staff.configuration.statuses import status_label
from staff.leads.record import note_entry
from staff.leads.source_labels import source_label, source_of
from staff.toolkit import timeline
from staff.toolkit.actions import row_url
from webhooks.models import Delivery, Event

LONG = ("custom_values", *UTM_FIELDS)  # columns that the timeline doesn't need
MAX_APPOINTMENTS = 500  # of a lead: only the messages of the latest are found
MAX_PINNED = 10  # notes of the lead, and notes of its appointments
# Changes that have entries of their own.
MOVED, OUTCOME = "schedule_time", ("outcome", "no_show")


def appointments_of(row: VersionedModel) -> QuerySet[Appointment]:
    """Return the appointments of a lead; for an appointment only itself."""
    rows: QuerySet[Appointment] = Appointment.objects.of(row.organization)
    return rows.filter(lead=row) if isinstance(row, Lead) else rows.filter(pk=row.pk)


def may_view_messages(request: HttpRequest, row: VersionedModel) -> bool:
    return has_role(request, PERMISSIONS[Area.MESSAGES].view, row.organization_id)


def bookings(row: VersionedModel, cursor: timeline.Cursor | None) -> Iterator[timeline.TimelineEntry]:
    first = OutcomeChange.objects.of(row.organization).filter(appointment=OuterRef("pk"), from_status=None)
    actors = first.order_by("created_at").values("actor_name")[:1]
    rows = appointments_of(row).defer(*LONG).annotate(booked_by=Subquery(actors), source_label=source_label())
    for appointment in timeline.newest(rows.select_related("event_type", "host__user"), cursor):
        at = appointment.first_booked_for or appointment.booked_for or appointment.schedule_time
        values = {"Host": appointment.host, "Source": source_of(appointment)}
        details = [timeline.Detail(label, str(value)) for label, value in values.items() if value]
        text = f"Booked: {appointment.event_type or 'appointment'}, {timeline.full_time(at)}"
        by, url = appointment.booked_by or "", row_url(appointment)
        yield timeline.entry_of(appointment, "appointments", text, actor_name=by, details=details, url=url)


def moves(row: VersionedModel, cursor: timeline.Cursor | None) -> Iterator[timeline.TimelineEntry]:
    rows = rows_of_appointments(AppointmentChange, row).filter(fields__has_key=MOVED)
    for change in timeline.newest_changes(rows, cursor):
        text = f"Rescheduled: {change.appointment.event_type or 'appointment'}"
        entry = timeline.change_entry(change, Appointment, "appointments", text=text, without=OUTCOME)
        yield entry._replace(url=row_url(change.appointment))


def outcomes(row: VersionedModel, cursor: timeline.Cursor | None) -> Iterator[timeline.TimelineEntry]:
    # The first one belongs to the booking.
    is_later = Q(created_at__gt=F("appointment__created_at") + Value(timedelta(seconds=1)))
    rows = rows_of_appointments(OutcomeChange, row).filter(Q(from_status__isnull=False) | is_later)
    for change in timeline.newest(rows.select_related("from_status", "to_status"), cursor):
        labels = status_label(change.from_status), status_label(change.to_status)
        text = format_html("Outcome of {}: {} → {}", name_of(change.appointment), *labels)
        url = row_url(change.appointment)
        # The note with it, and the status that it has given the lead.
        parts = [("note", change.appointment_id), ("status", change.to_status.role)]
        yield timeline.entry_of(change, "appointments", text, url=url, part_keys=parts)


def changes(row: VersionedModel, cursor: timeline.Cursor | None) -> Iterator[timeline.TimelineEntry]:
    rows = rows_of_appointments(AppointmentChange, row).exclude(fields__has_key=MOVED)
    rows = rows.alias(others=timeline.fields_without(*OUTCOME)).exclude(others={})
    # A cancellation also clears the meeting URL, which needs no entry.
    ended = Q(fields__has_key="outcome", fields__meeting_url__1=None, without_meeting={})
    rows = rows.alias(without_meeting=timeline.fields_without(*OUTCOME, "meeting_url")).exclude(ended)
    for change in timeline.newest_changes(rows, cursor):
        entry = timeline.change_entry(change, Appointment, without=OUTCOME)
        yield entry._replace(text=f"{name_of(change.appointment)}: {entry.text}", url=row_url(change.appointment))


def notes(row: VersionedModel, cursor: timeline.Cursor | None) -> Iterator[timeline.TimelineEntry]:
    yield from map(appointment_note_entry, timeline.newest(rows_of_appointments(Note, row), cursor))


def appointment_note_entry(note: Note) -> timeline.TimelineEntry:
    text, url = f"Note: {name_of(note.appointment)}", row_url(note.appointment)
    key = ("note", note.appointment_id)
    return timeline.entry_of(note, "notes", text, body=note.note, url=url, note=note, key=key)


def mails(row: VersionedModel, cursor: timeline.Cursor | None) -> Iterator[timeline.TimelineEntry]:
    rows = Notification.objects.of(row.organization).filter(subject_id__in=subjects_of(row))
    for notification in timeline.newest(rows.select_related("recipient__user").defer("context"), cursor):
        kind, recipient = notification.get_kind_display().capitalize(), notification.recipient
        text = f"{notification.get_medium_display()}: {kind}{f' to {recipient}' if recipient else ''}"
        text += f" ({notification.get_state_display().lower()})"
        yield timeline.TimelineEntry(notification.created_at, notification.pk, "mails", text, url=row_url(notification))


def webhooks(row: VersionedModel, cursor: timeline.Cursor | None) -> Iterator[timeline.TimelineEntry]:
    deliveries = Delivery.objects.of(row.organization).filter(event=OuterRef("pk"))
    rows = Event.objects.of(row.organization).filter(Exists(deliveries), subject_id__in=subjects_of(row)).defer("body")
    for event in timeline.newest(rows.prefetch_related("deliveries"), cursor):
        states = Counter(delivery.state for delivery in event.deliveries.all())
        summary = ", ".join(f"{states[state]} {State(state).label.lower()}" for state in State.values if states[state])
        text = f"Webhook {event.type}: {summary}"
        yield timeline.entry_of(event, "webhooks", text, url=row_url(event))


def subjects_of(row: VersionedModel) -> list[UUID]:
    """Return the ids of the row and of its latest appointments."""
    latest = appointments_of(row).order_by("-schedule_time").values_list("pk", flat=True)
    return [row.pk, *latest[:MAX_APPOINTMENTS]]


def pinned_notes(row: Any) -> Iterator[timeline.TimelineEntry]:
    """Yield the pinned notes of the lead and of its appointments, also on the page of one of these."""
    lead: Lead = row if isinstance(row, Lead) else row.lead
    for note in lead.notes.filter(is_pinned=True)[:MAX_PINNED]:
        yield note_entry(note)
    for note in rows_of_appointments(Note, lead).filter(is_pinned=True)[:MAX_PINNED]:
        yield appointment_note_entry(note)


def name_of(appointment: Appointment) -> str:
    return f"{appointment.event_type or 'appointment'}, {timeline.full_time(appointment.schedule_time)}"


def rows_of_appointments(model: type[Any], row: VersionedModel) -> QuerySet[Any]:
    rows: QuerySet[Any] = model.objects.of(row.organization).filter(appointment__in=appointments_of(row))
    long = [f"appointment__{name}" for name in LONG]
    return rows.select_related("appointment__event_type", "appointment__lead").defer(
        *long, "appointment__lead__custom_values"
    )


APPOINTMENT_SOURCES = [
    timeline.TimelineSource("appointments", "Appointments", bookings),
    timeline.TimelineSource("appointments", "Appointments", moves),
    timeline.TimelineSource("appointments", "Appointments", outcomes),
    timeline.TimelineSource("notes", "Notes", notes),
    timeline.TimelineSource("changes", "Changes", changes),
    timeline.TimelineSource("mails", "E-mails", mails, may_view_messages),
    timeline.TimelineSource("webhooks", "Connections", webhooks, may_view_messages, on_request=True),
]
