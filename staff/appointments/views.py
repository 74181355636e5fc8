"""The views of the lists of appointments, leads and opt-ins: the tabs above them (docs/staff.md)."""

from datetime import timedelta

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from appointments import conditions
from appointments.models import Appointment
from foundation.db.timestamps import now
from leads.models import Lead
from optins.models import OptIn
from staff.appointments.filters import day_of, own_memberships, status_ids
from staff.leads.leads import LeadAdmin
from staff.optins import OptInAdmin
from staff.toolkit.views import View
from statuses.models import StatusRole

NEXT_FIRST, LATEST_FIRST = ("schedule_time", "id"), ("-schedule_time", "-id")

DAYS_TO_BOOK = 90  # for which an opt-in without appointment is listed
HAS_APPOINTMENT = Exists(Appointment.unscoped.filter(lead=OuterRef("lead")))


def today(request: HttpRequest, rows: QuerySet[Appointment]) -> QuerySet[Appointment]:
    """Return the appointments of the present day, in the user's time zone."""
    return rows.filter(day_of(now()).contains("schedule_time"))


def upcoming(request: HttpRequest, rows: QuerySet[Appointment]) -> QuerySet[Appointment]:
    """Return the appointments that have not ended and are not canceled."""
    return conditions.still_to_come(rows, now())


def without_outcome(request: HttpRequest, rows: QuerySet[Appointment]) -> QuerySet[Appointment]:
    """Return the appointments that have ended, and whose outcome nobody has entered."""
    return conditions.without_outcome(rows, status_ids(request, *conditions.BOOKED_ROLES), now())


def past(request: HttpRequest, rows: QuerySet[Appointment]) -> QuerySet[Appointment]:
    """Return the appointments that have begun."""
    return rows.filter(schedule_time__lte=now())


def mine(request: HttpRequest, rows: QuerySet[Appointment]) -> QuerySet[Appointment]:
    """Return the appointments from today on of which the user is host, setter or triager."""
    own = rows.filter(conditions.takes_part(own_memberships(request)))
    return own.filter(schedule_time__gte=day_of(now()).start)


def mine_to_work(request: HttpRequest, rows: QuerySet[Lead]) -> QuerySet[Lead]:
    """Return the user's leads that are to be contacted, or have a step to be done, by the end of today."""
    end = day_of(now()).end
    due = conditions.follow_up_due(status_ids(request, StatusRole.FOLLOW_UP), end)
    return rows.filter(due | Q(next_step_at__lt=end)).filter(conditions.is_followed_by(own_memberships(request)))


def new_leads(request: HttpRequest, rows: QuerySet[Lead]) -> QuerySet[Lead]:
    """Return the leads with a status for new leads."""
    return rows.filter(status__in=status_ids(request, StatusRole.NEW_LEAD))


def not_booked(request: HttpRequest, rows: QuerySet[OptIn]) -> QuerySet[OptIn]:
    """Return the opt-ins of the last weeks whose lead has never had an appointment."""
    start = day_of(now()).start - timedelta(days=DAYS_TO_BOOK)
    return rows.filter(~HAS_APPOINTMENT, created_at__gte=start)


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
        ("next_step_at", "next_touch_point_at", "-updated_at", "-id"),
        "None of your leads is to be contacted today.",
    ),
    View("new", "New", new_leads, ("-created_at", "-id"), "No lead has the status of new leads."),
)


@admin.display(description="Booked?", boolean=True)
def is_booked(opt_in: OptIn) -> bool:
    """Return whether the lead has ever had an appointment."""
    return bool(opt_in.is_booked)  # type: ignore[attr-defined]  # annotated


OptInAdmin.register_column(is_booked, is_booked=HAS_APPOINTMENT)
OptInAdmin.register_view(
    View("not_booked", "Not booked yet", not_booked, empty="Everybody who opted in lately has booked.")
)
