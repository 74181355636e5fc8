"""The iCalendar address of a member, which calendars subscribe to: their own calls, read-only (RFC 5545).

Only the hash of the address's secret is stored. The address works while the member and the organization are active.
"""

import time
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import conditional_page, require_safe

from appointments.models import LONG_COLUMNS, Appointment
from foundation.api.exceptions import RETRY_AFTER_SECONDS
from foundation.api.rate_limits import Usage, count_slow_seconds, hit
from foundation.db.timestamps import now
from foundation.metrics.definitions import LIMITS_EXCEEDED
from notifications.mail import single_line
from organizations.isolation import bypass_rls
from organizations.isolation.row_level_security import tenant_scope
from organizations.models import Membership, Organization
from organizations.services import find_by_calendar_secret

PAST, FUTURE = timedelta(days=30), timedelta(days=365)
MAX_CALLS = 1_000
# Of a member. Calendars ask every quarter of an hour at most, and a thousand calls take seconds to write.
REQUESTS_PER_MINUTE = 10


def calendar_address(member: Membership, secret: str) -> str:
    return f"{settings.BASE_URL}{reverse('calendar_feed', args=[member.organization_id, secret])}"


@require_safe
@conditional_page
def show_calendar(request: HttpRequest, organization_id: UUID, secret: str) -> HttpResponse:
    """Return the calls of the member whose secret it is; 404 for any other. Unchanged calls are a 304."""
    # No session says whose request this is, but the address does: it sees that organization's rows only.
    with bypass_rls(tenant_scope(organization_id)):
        if Organization.objects.filter(pk=organization_id).exclude(move="").exists():
            headers, text = {"Retry-After": str(RETRY_AFTER_SECONDS)}, "The organization is being moved. Try again.\n"
            return HttpResponse(text, status=503, content_type="text/plain", headers=headers)
        member = find_by_calendar_secret(organization_id=organization_id, secret=secret)
        if member is None:
            return HttpResponse("This calendar address is not valid.\n", status=404, content_type="text/plain")
        return show_calls(request, member)


def show_calls(request: HttpRequest, member: Membership) -> HttpResponse:
    def count() -> Usage:
        return hit(request, group="calendar", key=str(member.pk), limit=REQUESTS_PER_MINUTE)

    usage, started = count(), time.monotonic()
    if usage.exceeded:
        LIMITS_EXCEEDED.labels("calendar").inc()
        headers, text = {"Retry-After": str(usage.reset_after)}, "This calendar was requested too often.\n"
        return HttpResponse(text, status=429, content_type="text/plain", headers=headers)
    calendar = build_calendar(member)
    count_slow_seconds(started, count)
    headers = {
        "Cache-Control": "private, max-age=300",
        "Referrer-Policy": "no-referrer",
        "X-Robots-Tag": "noindex",
    }
    return HttpResponse(calendar, content_type="text/calendar; charset=utf-8", headers=headers)


def build_calendar(member: Membership) -> bytes:
    from icalendar import Calendar, Event  # noqa: PLC0415  # takes 2 MB

    at = now()
    rows = (
        Appointment.objects.of(member.organization)
        .filter(host=member, is_called_off=False, schedule_time__gt=at - PAST, schedule_time__lt=at + FUTURE)
        .select_related("lead", "event_type")
        .defer(*LONG_COLUMNS)
    )
    # Of too many, those that are still to come.
    upcoming = list(rows.filter(schedule_time__gte=at).order_by("schedule_time", "id")[:MAX_CALLS])
    past = rows.filter(schedule_time__lt=at).order_by("-schedule_time", "-id")[: MAX_CALLS - len(upcoming)]
    calendar = Calendar()
    calendar.add("prodid", "-//Pipeline Backend//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", single_line(f"{member.organization}: {member}"))
    calendar.add("refresh-interval;value=duration", "PT15M")
    for row in [*reversed(past), *upcoming]:
        calendar.add_component(Event.new(**event_fields(row)))
    return calendar.to_ical()


def event_fields(row: Appointment) -> dict[str, Any]:
    link = f"{settings.BASE_URL}{reverse('admin:appointments_appointment_change', args=[row.pk])}"
    facts = {"E-mail": row.lead.email, "Phone": row.lead.phone_e164, "Meeting": row.meeting_url, "Appointment": link}
    return {
        # As in invitations, so that calendars show one entry for both.
        "uid": f"{row.pk}@{row.calendar_domain}",
        "sequence": row.invitation_sequence,
        "stamp": row.updated_at,
        "start": row.schedule_time,
        "end": row.ends_at,
        "summary": f"{single_line(str(row.event_type or 'Appointment'))} with {single_line(str(row.lead))}",
        "description": "\n".join(f"{name}: {value}" for name, value in facts.items() if value),
        "location": row.meeting_url or None,
        "url": row.meeting_url or None,
    }
