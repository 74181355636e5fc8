"""What the timelines of leads and appointments tell about appointments, and the mails and webhooks about them."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any, TypeAlias

from django.contrib import admin
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.http import HttpRequest
from django.utils.html import format_html

from appointments.models import Appointment, AppointmentChange, Note, OutcomeChange
from foundation.outbox import State
from leads.models import Lead
from notifications.models import Notification
from optins.models import UTM_FIELDS
from organizations.versions import VersionedModel
from staff.configuration.statuses import status_label
from staff.toolkit.actions import row_url
from staff.toolkit.record import RecordAdmin
from staff.toolkit.timeline import (
    Cursor,
    Detail,
    TimelineEntry,
    change_entry,
    fields_without,
    newest,
    newest_changes,
    when,
)
from webhooks.models import Delivery, Event

LONG = ("custom_values", *UTM_FIELDS)  # columns that the timeline doesn't need
MAX_APPOINTMENTS = 500  # of a lead, whose webhooks are looked for
# Changes that other entries tell.
MOVED, OUTCOME = "schedule_time", ("outcome", "no_show")
Scope: TypeAlias = Callable[[Any], QuerySet[Appointment]]


def of_lead(lead: Lead) -> QuerySet[Appointment]:
    """Return the appointments of the lead whose page it is."""
    rows: QuerySet[Appointment] = Appointment.objects.of(lead.organization).filter(lead=lead)
    return rows


def itself(appointment: Appointment) -> QuerySet[Appointment]:
    """Return the appointment whose page it is, alone."""
    rows: QuerySet[Appointment] = Appointment.objects.of(appointment.organization).filter(pk=appointment.pk)
    return rows


def name_of(appointment: Appointment) -> str:
    """Return what an entry calls the appointment."""
    return f"{appointment.event_type or 'appointment'}, {when(appointment.schedule_time)}"


def bookings(scope: Scope, request: HttpRequest, row: VersionedModel, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    """Yield when appointments were booked, and for when."""
    first = OutcomeChange.objects.of(row.organization).filter(appointment=OuterRef("pk"), from_status=None)
    actors = first.order_by("created_at").values("actor_name")[:1]
    rows = scope(row).select_related("event_type", "host__user").defer(*LONG).annotate(booked_by=Subquery(actors))
    for appointment in newest(rows, cursor):
        at = appointment.booked_for or appointment.schedule_time
        text = f"Booked: {appointment.event_type or 'appointment'}, {when(at)}"
        values = {"Host": appointment.host, "Source": appointment.get_source_display()}
        details = [Detail(label, str(value)) for label, value in values.items() if value]
        yield TimelineEntry(
            appointment.created_at,
            appointment.pk,
            "appointments",
            text,
            actor_name=appointment.booked_by or "",
            details=details,
            url=row_url(appointment),
        )


def moves(scope: Scope, request: HttpRequest, row: VersionedModel, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    """Yield the changes of appointments' times."""
    rows = appointment_rows(AppointmentChange, scope, row).filter(fields__has_key=MOVED)
    for change in newest_changes(rows, cursor):
        entry = change_entry(
            "appointments",
            change,
            Appointment,
            text=f"Rescheduled: {change.appointment.event_type or 'appointment'}",
            without=OUTCOME,
        )
        yield entry._replace(url=row_url(change.appointment))


def outcomes(scope: Scope, request: HttpRequest, row: VersionedModel, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    """Yield the changes of appointments' outcomes."""
    # The first one belongs to the booking.
    is_later = Q(created_at__gt=F("appointment__created_at") + Value(timedelta(seconds=1)))
    rows = appointment_rows(OutcomeChange, scope, row).filter(Q(from_status__isnull=False) | is_later)
    for change in newest(rows.select_related("from_status", "to_status"), cursor):
        text = format_html(
            "Outcome of {}: {} → {}",
            name_of(change.appointment),
            status_label(change.from_status),
            status_label(change.to_status),
        )
        yield TimelineEntry(
            change.created_at,
            change.pk,
            "appointments",
            text,
            actor_name=change.actor_name,
            url=row_url(change.appointment),
        )


def changes(scope: Scope, request: HttpRequest, row: VersionedModel, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    """Yield the changes of appointments' other fields."""
    rows = appointment_rows(AppointmentChange, scope, row).exclude(fields__has_key=MOVED)
    rows = rows.alias(others=fields_without(*OUTCOME)).exclude(others={})
    for change in newest_changes(rows, cursor):
        entry = change_entry("changes", change, Appointment, without=OUTCOME)
        yield entry._replace(text=f"{name_of(change.appointment)}: {entry.text}", url=row_url(change.appointment))


def notes(scope: Scope, request: HttpRequest, row: VersionedModel, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    """Yield the notes of appointments."""
    for note in newest(appointment_rows(Note, scope, row), cursor):
        yield TimelineEntry(
            note.created_at,
            note.pk,
            "notes",
            f"Note: {name_of(note.appointment)}",
            actor_name=note.actor_name,
            body=note.note,
            url=row_url(note.appointment),
        )


def mails(scope: Scope, request: HttpRequest, row: VersionedModel, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    """Yield the notifications about appointments, and whether they were delivered."""
    rows = Notification.objects.of(row.organization).filter(subject_id__in=scope(row).values("pk"))
    for notification in newest(rows.select_related("recipient__user").defer("context"), cursor):
        kind, recipient = notification.get_kind_display().capitalize(), notification.recipient
        text = f"{notification.get_medium_display()}: {kind}{f' to {recipient}' if recipient else ''}"
        text += f" ({notification.get_state_display().lower()})"
        yield TimelineEntry(notification.created_at, notification.pk, "mails", text, url=row_url(notification))


def webhooks(scope: Scope, request: HttpRequest, row: VersionedModel, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    """Yield the events of the row and its appointments that endpoints were to receive, and what became of them."""
    subjects = [row.pk, *scope(row).order_by("-schedule_time").values_list("pk", flat=True)[:MAX_APPOINTMENTS]]
    deliveries = Delivery.objects.of(row.organization).filter(event=OuterRef("pk"))
    rows = Event.objects.of(row.organization).filter(Exists(deliveries), subject_id__in=subjects).defer("body")
    for event in newest(rows.prefetch_related("deliveries"), cursor):
        states = Counter(delivery.state for delivery in event.deliveries.all())
        summary = ", ".join(f"{states[state]} {State(state).label.lower()}" for state in State.values if states[state])
        yield TimelineEntry(
            event.created_at,
            event.pk,
            "webhooks",
            f"Webhook {event.type}: {summary}",
            event.actor_name,
            url=row_url(event),
        )


def appointment_rows(model: type[Any], scope: Scope, row: VersionedModel) -> QuerySet[Any]:
    """Return the rows of a model that belong to the appointments, with what an appointment's name is made of."""
    rows: QuerySet[Any] = model.objects.of(row.organization).filter(appointment__in=scope(row))
    long = [f"appointment__{name}" for name in LONG]
    return rows.select_related("appointment__event_type", "appointment__lead").defer(
        *long, "appointment__lead__custom_values"
    )


def may_view(model: type[Any], request: HttpRequest, row: VersionedModel) -> bool:
    """Return whether the user may view the rows of a model in the record's organization."""
    return bool(admin.site.get_model_admin(model).has_view_permission(request, row))


def register_timeline(page: type[RecordAdmin], scope: Scope) -> None:
    """Show what is about the appointments in `scope(row)` in the timeline of a record's page."""
    page.register_source("appointments", "Appointments", partial(bookings, scope))
    page.register_source("appointments", "Appointments", partial(moves, scope))
    page.register_source("appointments", "Appointments", partial(outcomes, scope))
    page.register_source("notes", "Notes", partial(notes, scope))
    page.register_source("changes", "Changes", partial(changes, scope))
    page.register_source("mails", "E-mails", partial(mails, scope), is_allowed=partial(may_view, Notification))
    page.register_source("webhooks", "Webhooks", partial(webhooks, scope), is_allowed=partial(may_view, Event))
