"""Filters of the lists of appointments, leads and opt-ins, by the conditions that the home page counts with."""

from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.admin import ModelAdmin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import DropdownFilter

from appointments import conditions, reports
from foundation.db.timestamps import now
from leads.models import LeadStatusChange
from organizations.models import Membership
from organizations.permissions import ALL_ROLES, current_user, filter_by_role
from staff.leads.leads import LeadAdmin
from staff.optins import OptInAdmin
from staff.toolkit.filters import parse_day
from statuses.models import Status, StatusRole


class ChoiceFilter(DropdownFilter):
    """A filter by one of the words in `options`."""

    options: list[tuple[str, str]]

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        """Return the values and their labels."""
        return self.options

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the chosen word. Raises IncorrectLookupParameters for another one."""
        word = self.value()
        if not word:
            return queryset
        if word not in dict(self.lookup_choices):
            raise IncorrectLookupParameters
        return self.filtered(request, queryset, word)

    def filtered(self, request: HttpRequest, rows: QuerySet[Any], word: str) -> QuerySet[Any]:
        """Return the rows of a valid word."""
        raise NotImplementedError


class MineFilter(ChoiceFilter):
    """Base of the filters by the rows of the user's own."""

    title, parameter_name = "person", "whose"
    options = [("me", "Mine")]

    def filtered(self, request: HttpRequest, rows: QuerySet[Any], word: str) -> QuerySet[Any]:
        """Return the rows of the user's memberships."""
        return rows.filter(self.belongs_to(own_memberships(request)))

    def belongs_to(self, members: list[UUID]) -> Q:
        """Return the condition that a row is one of the members'."""
        raise NotImplementedError


class MyAppointmentsFilter(MineFilter):
    """The appointments of which the user is host, setter or triager."""

    def belongs_to(self, members: list[UUID]) -> Q:
        return conditions.takes_part(members)


class MyLeadsFilter(MineFilter):
    """The leads of which the user is the setter, or has an appointment."""

    def belongs_to(self, members: list[UUID]) -> Q:
        return conditions.is_followed_by(members)


class MyOptInsFilter(MineFilter):
    """The opt-ins of leads of which the user is the setter, or nobody."""

    options = [("me", "Mine and unassigned")]

    def belongs_to(self, members: list[UUID]) -> Q:
        return conditions.is_called_by(members)


class AppointmentWorkFilter(ChoiceFilter):
    """The appointments that somebody has to hold, or to enter the outcome of."""

    title, parameter_name = "to do", "work"
    options = [
        ("today", "Today, not over yet"),
        ("tomorrow", "Tomorrow"),
        ("upcoming", "Upcoming"),
        ("without_outcome", "Over, without outcome"),
    ]

    def filtered(self, request: HttpRequest, rows: QuerySet[Any], word: str) -> QuerySet[Any]:
        """Return the appointments of today, tomorrow, from now on, or those without outcome."""
        at = now()
        if word == "without_outcome":
            return conditions.without_outcome(rows, status_ids(request, *conditions.BOOKED_ROLES), at)
        if word == "upcoming":
            return conditions.still_to_come(rows, at)
        return conditions.still_to_come(rows.filter(day_of(at, word).contains("schedule_time")), at)


class ResultFilter(ChoiceFilter):
    """The appointments with a result, as the home page counts them."""

    title, parameter_name, options = "result", "result", conditions.Result.choices

    def filtered(self, request: HttpRequest, rows: QuerySet[Any], word: str) -> QuerySet[Any]:
        """Return the appointments that have the result now."""
        return rows.filter(conditions.has_result(word, now()))


class LeadWorkFilter(ChoiceFilter):
    """The leads that somebody has to contact."""

    title, parameter_name, options = "to do", "work", [("follow_up", "Follow-up due")]

    def filtered(self, request: HttpRequest, rows: QuerySet[Any], word: str) -> QuerySet[Any]:
        """Return the leads whose follow-up is due today."""
        return rows.filter(conditions.follow_up_due(status_ids(request, StatusRole.FOLLOW_UP), day_of(now()).end))


class LeftStatusFilter(ChoiceFilter):
    """The leads that left a status, by default at any time; only the latest count, as in the median time."""

    title, parameter_name = "status left", "left_status"
    days = ("left_from", "left_to")

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: ModelAdmin
    ) -> None:
        super().__init__(request, params, model, model_admin)
        self.used_parameters |= {name: params.pop(name)[-1] for name in self.days if name in params}

    def expected_parameters(self) -> list[str | None]:
        """Return the names of the parameters of which a link may consist."""
        return [self.parameter_name, *self.days]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return all statuses: one that isn't on the lead board any more can have been left, too."""
        statuses = filter_by_role(request, ALL_ROLES, Status.unscoped.all())
        return [(str(status.pk), str(status)) for status in statuses]

    def filtered(self, request: HttpRequest, rows: QuerySet[Any], word: str) -> QuerySet[Any]:
        """Return the leads that left the status, as `reports.times_in_status` counts them."""
        moves = LeadStatusChange.unscoped.filter(from_status=UUID(word))
        first, last = (self.used_parameters.get(name) for name in self.days)
        if first and last:
            period = reports.Period(parse_day(first), parse_day(last), timezone.get_current_timezone())
            moves = moves.filter(period.contains("created_at"))
        return rows.filter(pk__in=moves.order_by("-created_at", "-id").values("lead")[: reports.LATEST_MOVES])


class StageFilter(ChoiceFilter):
    """The opt-ins that have come to a stage of the funnel."""

    title, parameter_name, options = "stage", "stage", conditions.Stage.choices

    def filtered(self, request: HttpRequest, rows: QuerySet[Any], word: str) -> QuerySet[Any]:
        """Return the opt-ins that are in the stage now."""
        if word == conditions.Stage.NOT_CALLED:
            return rows.filter(conditions.not_called(status_ids(request, StatusRole.NEW_LEAD)))
        return rows.filter(conditions.in_stage(word, now()))


def own_memberships(request: HttpRequest) -> list[UUID]:
    """Return the ids of the user's memberships. By ids there are indexes; a subquery would read the whole table."""
    return list(Membership.unscoped.filter(user=current_user(request)).values_list("pk", flat=True))


def status_ids(request: HttpRequest, *roles: StatusRole) -> list[UUID]:
    """Return the ids of the statuses with one of the roles, of the user's organizations."""
    statuses = filter_by_role(request, ALL_ROLES, Status.unscoped.filter(role__in=roles))
    return list(statuses.values_list("pk", flat=True))


def day_of(at: datetime, word: str = "today") -> reports.Period:
    """Return today or tomorrow, in the current time zone."""
    day: date = timezone.localdate(at) + timedelta(days=word == "tomorrow")
    return reports.Period(day, day, timezone.get_current_timezone())


LeadAdmin.register_filter(LeadWorkFilter, MyLeadsFilter, LeftStatusFilter)
OptInAdmin.register_filter(StageFilter, MyOptInsFilter)
