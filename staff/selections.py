"""Views and filters of the lists of appointments, leads and opt-ins, by the conditions that the home page counts with.

A view is a tab above the list (docs/staff.md). Links of the home page and of reports have the filters' parameters.
"""

from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import ValidationError
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.forms import CharField, Form, IntegerField
from django.http import HttpRequest
from django.utils import timezone
from django.utils.text import capfirst
from unfold.widgets import UnfoldAdminTextInputWidget

from appointments import conditions, reports
from appointments.models import Appointment
from foundation.db.timestamps import now
from leads.models import Lead, LeadStatusChange, NextStep
from optins.models import OptIn
from organizations.models import Membership
from organizations.permissions import ALL_ROLES, current_user, filter_by_role
from staff.toolkit.filters import FormFilter
from staff.toolkit.lists import ChoiceFilter, choice_filter, describe_days, parse_day, typed
from staff.toolkit.views import ALL, View
from statuses.models import Status, StatusRole

NEXT_FIRST, LATEST_FIRST = ("schedule_time", "id"), ("-schedule_time", "-id")
MAX_DAYS = 36_500
DAYS_TO_BOOK = 90  # that an opt-in without appointment is listed
HAS_APPOINTMENT = Exists(Appointment.unscoped.filter(lead=OuterRef("lead")))


def own_memberships(request: HttpRequest) -> list[UUID]:
    """Return the ids of the user's memberships. By ids there are indexes; a subquery would read the whole table."""
    return list(Membership.unscoped.filter(user=current_user(request)).values_list("pk", flat=True))


def status_ids(request: HttpRequest, *roles: StatusRole) -> list[UUID]:
    return list(filter_by_role(request, ALL_ROLES, Status.unscoped.filter(role__in=roles)).values_list("pk", flat=True))


def day_of(at: datetime, word: str = "today") -> reports.Period:
    day = timezone.localdate(at) + timedelta(days=word == "tomorrow")
    return reports.Period(day, day, timezone.get_current_timezone())


def mine_filter(belongs_to: Callable[[list[UUID]], Q], label: str = "Mine") -> type[ChoiceFilter]:
    """Return the filter for the user's own rows; `belongs_to` is the condition that a row is one of these members'."""
    return choice_filter(
        "person",
        "whose",
        [("me", label)],
        lambda request, rows, option: rows.filter(belongs_to(own_memberships(request))),
    )


def work_to_do(request: HttpRequest, rows: QuerySet[Any], option: str) -> QuerySet[Any]:
    if option == "without_outcome":
        return without_outcome(request, rows)
    if option == "upcoming":
        return upcoming(request, rows)
    at = now()
    day = day_of(at, option)
    return conditions.to_come_on(rows, day.start, day.end, at)


MyAppointmentsFilter = mine_filter(conditions.takes_part)
AppointmentWorkFilter = choice_filter(
    "to do",
    "work",
    [
        ("today", "Today, not over yet"),
        ("tomorrow", "Tomorrow"),
        ("upcoming", "Upcoming"),
        ("without_outcome", "Over, without outcome"),
    ],
    work_to_do,
)
ResultFilter = choice_filter(
    "result",
    "result",
    conditions.Result.choices,
    lambda request, rows, option: rows.filter(conditions.has_result(option, now())),
)


def today(request: HttpRequest, rows: QuerySet[Appointment]) -> QuerySet[Appointment]:
    return rows.filter(day_of(now()).contains("schedule_time"))


def upcoming(request: HttpRequest, rows: QuerySet[Appointment]) -> QuerySet[Appointment]:
    return conditions.still_to_come(rows, now())


def without_outcome(request: HttpRequest, rows: QuerySet[Appointment]) -> QuerySet[Appointment]:
    return conditions.without_outcome(rows, status_ids(request, *conditions.NO_OUTCOME_ROLES), now())


def past(request: HttpRequest, rows: QuerySet[Appointment]) -> QuerySet[Appointment]:
    return rows.filter(schedule_time__lte=now())


def mine(request: HttpRequest, rows: QuerySet[Appointment]) -> QuerySet[Appointment]:
    return rows.filter(conditions.takes_part(own_memberships(request))).filter(schedule_time__gte=day_of(now()).start)


APPOINTMENT_VIEWS = (
    View("today", "Today", today, NEXT_FIRST, "No appointments today."),
    View("upcoming", "Upcoming", upcoming, NEXT_FIRST, "No appointments are coming up."),
    View(
        "without_outcome",
        "Without outcome",
        without_outcome,
        LATEST_FIRST,
        "No past appointment is waiting for its outcome.",
    ),
    View("past", "Past", past, LATEST_FIRST, "No appointment has taken place yet."),
    View("mine", "Mine", mine, NEXT_FIRST, "You have no appointments from today on."),
    ALL,
)


MyLeadsFilter = mine_filter(conditions.is_followed_by)
LeadWorkFilter = choice_filter(
    "to do",
    "work",
    [("follow_up", "Next step due"), ("my_step", "My next step due")],
    lambda request, rows, option: rows.filter(own_step_due(request) if option == "my_step" else step_due(request)),
)


class LeftStatusFilter(ChoiceFilter):
    """Leads that left a status, by default at any time; only the latest count, as in the median time."""

    title, parameter_name = "status left", "left_status"
    days = ("left_from", "left_to")

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: admin.ModelAdmin
    ) -> None:
        super().__init__(request, params, model, model_admin)
        # Not in `used_parameters`: the form of the filters has no fields for them, and keeps all others.
        self.given = {name: params.pop(name)[-1] for name in self.days if name in params}
        for text in filter(None, self.given.values()):
            parse_day(text)

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name, *self.days]

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(str(status.pk), str(status)) for status in filter_by_role(request, ALL_ROLES, Status.unscoped.all())]

    def filtered(self, request: HttpRequest, rows: QuerySet[Any], option: str) -> QuerySet[Any]:
        """Return the leads that left the status, as `reports.times_in_status` counts them."""
        moves = LeadStatusChange.unscoped.filter(from_status=UUID(option), is_undone=False)
        first, last = (self.given.get(name) for name in self.days)
        if first and last:
            period = reports.Period(parse_day(first), parse_day(last), timezone.get_current_timezone())
            moves = moves.filter(period.contains("created_at"))
        return rows.filter(pk__in=moves.order_by("-created_at", "-id").values("lead")[: reports.LATEST_MOVES])

    def describe(self) -> str:
        status, days = super().describe(), describe_days(*(self.given.get(name) for name in self.days))
        return f"{status} {days}".strip() if status else ""


class SinceFilter(FormFilter):
    """Rows by how long they have had their status: some days or more, or since a day between two."""

    names = ("since_days", "since_from", "since_to")
    column: str  # since when a row has its status

    def label(self, name: str) -> str:
        ends = ("for at least (days)", "since, from", "since, to")
        return capfirst(f"{self.title} {ends[self.names.index(name)]}")

    def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
        form = Form({name: self.text(name) for name in self.names})
        number, day = {"inputmode": "numeric"}, {"type": "date"}
        for name, attributes in zip(self.names, (number, day, day), strict=True):
            widget = UnfoldAdminTextInputWidget(attributes)
            form.fields[name] = CharField(label=self.label(name), required=False, widget=widget)
        yield {"form": form}

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of these days. Raises Unreadable."""
        for name in self.names:
            if text := self.text(name):
                with typed(name, self.label(name), text):
                    rows = rows.filter(self.condition(name, text))
        return rows

    def condition(self, name: str, text: str) -> Q:
        if name == "since_days":
            return Q(**{f"{self.column}__lt": now() - timedelta(days=parse_days(text))})
        if name == "since_to":
            return Q(**{f"{self.column}__lt": start_of(parse_day(text) + timedelta(days=1))})
        return Q(**{f"{self.column}__gte": start_of(parse_day(text))})

    def describe(self) -> str:
        days, first, last = (self.text(name) for name in self.names)
        return ", ".join(filter(None, [days and f"for {parse_days(days)} days or more", describe_days(first, last)]))


def parse_days(text: str) -> int:
    try:
        days: int = IntegerField(min_value=1, max_value=MAX_DAYS).clean(text.removesuffix("days"))
    except ValidationError:
        advice = f"Enter a whole number of days from 1 to {MAX_DAYS:,}, such as 10."
        raise IncorrectLookupParameters(advice) from None
    return days


def start_of(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


class StatusSinceFilter(SinceFilter):
    title, column = "in this status", "status_since"


class OutcomeSinceFilter(SinceFilter):
    title, column = "with this outcome", "outcome_since"


PhoneFilter = choice_filter(
    "phone",
    "phone",
    [("none", "No phone"), ("any", "Has one")],
    lambda request, rows, option: rows.filter(phone_e164__isnull=option == "none"),
)


def step_due(request: HttpRequest) -> Q:
    return conditions.step_due(status_ids(request, StatusRole.FOLLOW_UP), day_of(now()).end)


def own_step_due(request: HttpRequest) -> Q:
    follow_ups = status_ids(request, StatusRole.FOLLOW_UP)
    end = day_of(now()).end
    return conditions.own_step_due(NextStep.unscoped.all(), own_memberships(request), follow_ups, end)


def mine_to_work(request: HttpRequest, rows: QuerySet[Lead]) -> QuerySet[Lead]:
    return rows.filter(own_step_due(request))


def new_leads(request: HttpRequest, rows: QuerySet[Lead]) -> QuerySet[Lead]:
    return rows.filter(status__in=status_ids(request, StatusRole.NEW_LEAD))


LEAD_VIEWS = (
    View(
        "mine_to_work",
        "Mine to work",
        mine_to_work,
        ("next_step_at", "next_touch_point_at", "-updated_at", "-id"),
        "You have no next step today.",
    ),
    View("new", "New", new_leads, ("-created_at", "-id"), "No lead has the status of new leads."),
    ALL,
)


def in_stage(request: HttpRequest, rows: QuerySet[Any], option: str) -> QuerySet[Any]:
    if option == conditions.Stage.NOT_CALLED:
        return rows.filter(conditions.not_called(status_ids(request, StatusRole.NEW_LEAD)))
    return rows.filter(conditions.in_stage(option, now()))


MyOptInsFilter = mine_filter(conditions.is_called_by, "Mine and unassigned")
StageFilter = choice_filter("stage", "stage", conditions.Stage.choices, in_stage)


def not_booked(request: HttpRequest, rows: QuerySet[OptIn]) -> QuerySet[OptIn]:
    return rows.filter(~HAS_APPOINTMENT, created_at__gte=day_of(now()).start - timedelta(days=DAYS_TO_BOOK))


OPT_IN_VIEWS = (View("not_booked", "Not booked yet", not_booked, empty="Everyone who opted in lately has booked."), ALL)
