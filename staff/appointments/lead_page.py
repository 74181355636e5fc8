"""The parts of a lead's page about appointments."""

from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from leads.models import Lead
from organizations.permissions import PERMISSIONS, Area, has_role
from staff.appointments.timeline import appointments_of
from staff.toolkit.actions import row_url
from staff.toolkit.record import Card, Fact, RecordAdmin, RecordButton
from staff.toolkit.timeline import full_time

MAX_LISTED = 5  # appointments beside the timeline


def booking_link(request: HttpRequest, lead: Lead) -> RecordButton | None:
    if lead.is_erased or not has_role(request, PERMISSIONS[Area.WORK].add, lead.organization_id):
        return None
    parameters = urlencode({"organization": lead.organization_id, "lead": lead.pk})
    return RecordButton("Book", f"{reverse('admin:appointments_appointment_add')}?{parameters}", "b")


def appointments_card(page: RecordAdmin, request: HttpRequest, lead: Lead) -> Card:
    latest = appointments_of(lead).select_related("event_type", "host__user", "outcome").order_by("-schedule_time")
    rows = list(latest[: MAX_LISTED + 1])
    facts = [
        Fact(
            " · ".join(str(part) for part in (row.event_type, row.host, row.outcome) if part),
            full_time(row.schedule_time),
            row_url(row),
        )
        for row in rows[:MAX_LISTED]
    ]
    if len(rows) > MAX_LISTED:
        url = f"{reverse('admin:appointments_appointment_changelist')}?view=all&lead__id__exact={lead.pk}"
        facts.append(Fact("", "All appointments", url))
    can_book = has_role(request, PERMISSIONS[Area.WORK].add, lead.organization_id)
    return Card("Appointments", facts or [Fact("None yet", "Book one above." if can_book else "")])
