"""The views of the lists of appointments, leads and opt-ins: the tabs above them (docs/staff.md)."""

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest

from appointments import reports
from appointments.admin.filters import day_of, own_memberships, status_ids
from appointments.models import Appointment
from leads.admin.leads import LeadAdmin
from optins.admin import OptInAdmin
from organizations.admin.views import View
from pipeline_backend.db.timestamps import now
from statuses.models import StatusRole

NEXT_FIRST, LATEST_FIRST = ("schedule_time", "id"), ("-schedule_time", "-id")


def today(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the appointments of the present day, in the user's time zone."""
    return rows.filter(day_of(now()).contains("schedule_time"))


def upcoming(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the appointments that have not ended and are not canceled."""
    return reports.still_to_come(rows, now())


def without_outcome(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the appointments that have ended, and whose outcome nobody has entered."""
    return reports.without_outcome(rows, status_ids(request, *reports.BOOKED_ROLES), now())


def past(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the appointments that have begun."""
    return rows.filter(schedule_time__lte=now())


def mine(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the appointments from today on of which the user is host, setter or triager."""
    own = rows.filter(reports.takes_part(own_memberships(request)))
    return own.filter(schedule_time__gte=day_of(now()).start)


def mine_to_work(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the user's leads that are to be contacted by the end of today."""
    due = reports.follow_up_due(status_ids(request, StatusRole.FOLLOW_UP), day_of(now()).end)
    return rows.filter(due).filter(reports.is_followed_by(own_memberships(request)))


def new_leads(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the leads with a status for new leads."""
    return rows.filter(status__in=status_ids(request, StatusRole.NEW_LEAD))


def not_booked(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the opt-ins whose lead has never had an appointment."""
    return rows.filter(~Exists(Appointment.unscoped.filter(lead=OuterRef("lead"))))


APPOINTMENT_VIEWS = (
    View("today", "Today", today, NEXT_FIRST, "No appointments today."),
    View("upcoming", "Upcoming", upcoming, NEXT_FIRST, "No appointments are coming up."),
    View("without_outcome", "Without outcome", without_outcome, LATEST_FIRST, "Every past appointment has an outcome."),
    View("past", "Past", past, LATEST_FIRST, "No appointment has taken place yet."),
    View("mine", "Mine", mine, NEXT_FIRST, "You have no appointments from today on."),
)

LeadAdmin.register_view(
    View(
        "mine_to_work",
        "Mine to work",
        mine_to_work,
        ("next_touch_point_at", "-updated_at", "-id"),
        "None of your leads is to be contacted today.",
    ),
    View("new", "New", new_leads, ("-created_at", "-id"), "No lead has the status of new leads."),
)
OptInAdmin.register_view(View("not_booked", "Not booked yet", not_booked, empty="Everybody who opted in has booked."))
