"""What a form shows beside a day and a time: local times, a warning, overlaps, and the host's free times to click."""

from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.formats import date_format

from accounts.time_zone import describe_zone, known_zone
from appointments.free_times import first_free_times
from appointments.lead_notifications import find_message, reason_for_no_mail
from appointments.models import Appointment, EventType
from foundation.api.emails import parse_email
from foundation.db.timestamps import get_zone, now
from leads.models import Lead
from leads.phones import time_zones_by_country
from notifications.models import Kind
from organizations.models import CAN_BE_ASSIGNED, Membership, Organization
from organizations.permissions import current_user
from organizations.working_hours import format_week
from staff.appointments.record_forms import describe_lead
from staff.appointments.schedule import other_appointments
from staff.toolkit.actions import AnyPage
from staff.toolkit.lists import to_uuid
from staff.toolkit.times import DayField, TimestampField, is_unambiguous, zone_of_page

MAX_MINUTES = 24 * 60
SHORT = "D j M, H:i"


@dataclass
class Draft:
    """What a form is about, as far as it is filled in. The appointment is stored, or a new one; nothing saves it."""

    appointment: Appointment
    day: date | None
    is_booking: bool  # otherwise a change or a next step

    @property
    def at(self) -> datetime | None:
        return self.appointment.schedule_time

    def local_times(self) -> Iterator[tuple[str, str]]:
        """Yield the host's time if their clock is another one, and the lead's by the country of the phone."""
        at, host, lead = self.at, self.appointment.host, getattr(self.appointment, "lead", None)
        if at is None:
            return
        if host and offset(at, host.user.time_zone) != timezone.localtime(at).utcoffset():
            yield str(host), clock(at, host.user.time_zone)
        zones = time_zones_by_country().get(lead.phone_country or "", []) if lead else []
        names = sorted(filter(None, map(known_zone, zones)), key=lambda name: offset(at, name))
        if names and offset(at, names[0]) == offset(at, names[-1]):
            yield str(lead), clock(at, names[0])
        elif names:
            first, last = (date_format(at.astimezone(get_zone(name)), SHORT) for name in (names[0], names[-1]))
            yield str(lead), f"between {first} and {last}, by the country of the phone"

    def lead_notice(self) -> str:
        """Return which e-mail the lead of a new booking gets; other forms say it in their question."""
        if not self.is_booking:
            return ""
        booking, lead = copy(self.appointment), getattr(self.appointment, "lead", None)
        booking.schedule_time = self.at or now()
        booking.lead = lead or Lead(organization=booking.organization)
        message = find_message(Kind.CALL_BOOKED, booking)
        return describe_lead(message, lead, reason_for_no_mail(booking.organization_id, lead) if message else "")

    def warning(self) -> str:
        at, host = self.at, self.appointment.host
        if not at or not host or host.working_week.includes(at, self.appointment.ends_at):
            return ""
        week = host.working_week
        if week.is_off(at.astimezone(week.zone).date()):
            return f"{host} is off that day."
        hours = format_week(week.hours) or "none"
        return f"Outside {host}’s working hours: {hours}, {describe_zone(host.user.time_zone, at)}."

    def free_times(self) -> list[datetime]:
        """Return the host's free times on the day, or on the next day that has some."""
        host = self.appointment.host
        if host is None or not Membership.objects.of(host.organization).filter(CAN_BE_ASSIGNED, pk=host.pk).exists():
            return []
        today = timezone.localdate()
        times = first_free_times(
            host,
            max(self.day or today, today),
            timezone.get_current_timezone(),
            duration=timedelta(minutes=self.appointment.duration_minutes),
            now=now(),
            without=self.appointment.pk,
        )
        return [timezone.localtime(at) for at in times if is_unambiguous(at)]


def offset(at: datetime, zone: str) -> timedelta:
    return at.astimezone(get_zone(zone)).utcoffset() or timedelta()


def clock(at: datetime, zone: str) -> str:
    return f"{date_format(at.astimezone(get_zone(zone)), SHORT)}, {describe_zone(zone, at)}"


def show_times(request: HttpRequest, page: AnyPage) -> HttpResponse:
    """Answer the control of a form that is being filled in. Raises Http404 for rows that the user may not see."""
    if request.method != "POST":
        return redirect("admin:index")
    # In the zone of the page: a free time fills in its control.
    with timezone.override(zone_of_page(typed_texts(request))):
        draft = read_draft(page, request)
        others = other_appointments(draft.appointment)
        context = {
            "draft": draft,
            "overlapping": [row for row, overlaps in others if overlaps],
            "others": [row for row, overlaps in others if not overlaps],
            "free": draft.free_times(),
        }
        return render(request, "staff/times.html", context)


def typed_texts(request: HttpRequest) -> list[str]:
    values = request.POST
    return [values.get(f"{values.get('field')}_{part}", "")[:40] for part in ("0", "1", "zone")]


def read_draft(page: AnyPage, request: HttpRequest) -> Draft:
    values = request.POST
    organization = find(page, request, Organization, "organization")
    if organization is None:
        raise Http404
    rows: dict[str, Any] = {"organization": organization}
    stored = find(page, request, Appointment, "appointment", **rows)
    appointment: Appointment = stored or Appointment(organization=organization)
    for name, model in {"lead": Lead, "event_type": EventType, "host": Membership}.items():
        if name in values and (name != "lead" or values[name]):
            setattr(appointment, name, find(page, request, model, name, **rows))
    with suppress(ValueError):
        email = parse_email(values.get("lead_email", "").strip())
        appointment.lead = Lead.objects.of(organization).with_email(organization.pk, email).first()
    if stored is None and "host" not in values:  # a next step, which is the user's own without another owner
        own = Membership.objects.of(organization).filter(user=current_user(request))
        appointment.host = find(page, request, Membership, "owner", **rows) or own.first()
    # The length first: a call of years would be looked at day by day, and Python refuses to read thousands of digits.
    minutes = values.get("minutes", "")
    if minutes.isdecimal() and len(minutes) <= len(str(MAX_MINUTES)) and 0 < int(minutes) <= MAX_MINUTES:
        appointment.own_duration_minutes = int(minutes)
    texts = typed_texts(request)
    appointment.schedule_time = at = cleaned(TimestampField(required=False), texts)
    day = timezone.localdate(at) if at else cleaned(DayField(required=False), texts[0])
    return Draft(appointment, day, is_booking=stored is None and "host" in values)


def find(page: AnyPage, request: HttpRequest, model: type[Model], name: str, **rows: Any) -> Any:
    """Return the row that the form names, or None if it names none that the user may see."""
    return page.visible_rows(request, model).filter(pk=to_uuid(request.POST.get(name, "")), **rows).first()


def cleaned(field: forms.Field, value: object) -> Any:
    """Return the field's value, or None for a text that it refuses: the form itself says so when it is sent."""
    try:
        return field.clean(value)
    except ValidationError:
        return None
