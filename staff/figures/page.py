"""A page of figures: the organization, the period and the filters of its address, and the lists that it links to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from typing import TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import BadRequest
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date

from appointments.conditions import takes_part
from appointments.models import Appointment
from appointments.reports import LONGEST_BY_DAY, Period, add_months
from foundation.api.fields import YEARS
from foundation.db.timestamps import now
from organizations.models import MemberRole, Membership, Organization
from organizations.permissions import PERMISSIONS, Area, current_user, organizations_with_role
from staff.toolkit.tenant import has_several_organizations
from staff.toolkit.views import Link

T = TypeVar("T")
D = TypeVar("D")

MAX_ORGANIZATIONS = 500  # to choose from
DAYS = [7, 30, 90]
DEFAULT_DAYS = 30
# The calendar's periods: label, length in months, and how many such periods ago.
CALENDAR = {
    f"{when}_{unit}": (f"{when} {unit}".capitalize(), months, ago)
    for unit, months in (("month", 1), ("quarter", 3), ("year", 12))
    for when, ago in (("this", 0), ("last", 1))
}
BY = {"host": "Closer", "setter": "Setter", "triager": "Triager", "last_source": "Source", "event_type": "Event type"}
BY_TITLES = {
    "host": "Who holds the call",
    "setter": "Who brings the lead to a booking",
    "triager": "Who talks to the lead before the call, to see whether it fits",
    "event_type": "The kind of call, as your team or scheduler calls it",
}


@dataclass(frozen=True)
class Figure:
    text: str
    url: str = ""  # of the list with its rows
    rows: int = 0  # of the list
    value: float | None = None
    is_rate: bool = False
    change: str = ""  # since the period before, where the page compares


@dataclass(frozen=True)
class FiguresPage:
    request: HttpRequest
    organization: Organization
    organizations: list[Organization]
    member: Membership | None
    is_mine: bool
    period: Period
    by: str
    narrowing: dict[str, UUID] = field(default_factory=dict)
    problem: str = ""
    at: datetime = field(default_factory=now)

    @property
    def member_id(self) -> UUID | None:
        """The user's membership if the page shows the user's own rows only."""
        return self.member.pk if self.member and self.is_mine else None

    @property
    def today(self) -> Period:
        day = timezone.localdate(self.at)
        return Period(day, day, self.period.zone)

    def appointments(self, **values: UUID) -> QuerySet[Appointment]:
        """Return the organization's appointments with these values, or the user's own if the page shows only those."""
        rows: QuerySet[Appointment] = Appointment.objects.of(self.organization).filter(**values)
        return rows.filter(takes_part([self.member_id])) if self.member_id else rows

    def list_url(self, model: type[Model], **parameters: object) -> str:
        if has_several_organizations(self.request):
            parameters["organization__id__exact"] = self.organization.pk
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        return f"{url}?{urlencode(parameters)}"

    def add_url(self, model: type[Model]) -> str:
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
        return f"{url}?{urlencode({'organization': self.organization.pk})}"

    @property
    def mine(self) -> dict[str, str]:
        return {"whose": "me"} if self.member_id else {}

    def rows_url(self, model: type[Model], **parameters: object) -> str:
        """Return the address of the list with the counted rows: of appointments, the page's selection."""
        if model is Appointment:
            narrowing = {f"{name}__id__exact": id for name, id in self.narrowing.items()}
            parameters = {**self.mine, **narrowing, **parameters}
        return self.list_url(model, **parameters)

    def url(self, **changes: object) -> str:
        """Return the page's address with these parameters changed; None removes one."""
        parameters = {name: value for name, value in self.request.GET.items() if value} | changes
        return "?" + urlencode({name: value for name, value in parameters.items() if value is not None})

    @property
    def whose(self) -> list[Link]:
        return [
            Link("Mine", self.url(who="mine"), is_active=self.is_mine),
            Link("Team", self.url(who="team"), is_active=not self.is_mine),
        ]


def read_page(
    request: HttpRequest, by: Mapping[str, str] = BY, *, max_days: int = LONGEST_BY_DAY
) -> FiguresPage | None:
    """Return what the address asks for, or None without an organization. Raises BadRequest for unknown values.

    A chosen period has at most `max_days`, so that the page's numbers take only as long as they may.
    """
    organizations = list(
        organizations_with_role(request, PERMISSIONS[Area.WORK].view).order_by("name")[:MAX_ORGANIZATIONS]
    )
    if not organizations:
        return None
    ids = {str(organization.pk): organization for organization in organizations}
    organization = read_choice(request, "organization", ids, organizations[0])
    member = Membership.objects.of(organization).filter(user=current_user(request), is_active=True).first()
    is_seller = member is not None and member.role in (MemberRole.CLOSER, MemberRole.SETTER)
    is_mine = read_choice(request, "who", {"mine": True, "team": False}, is_seller) and member is not None
    period, problem = read_period(request, max_days)
    return FiguresPage(
        request=request,
        organization=organization,
        organizations=organizations,
        member=member,
        is_mine=is_mine,
        period=period,
        by=read_choice(request, "by", {name: name for name in by}, "host"),
        narrowing={name: id for name in BY if (id := read_id(request, name))},
        problem=problem,
    )


def read_choice(request: HttpRequest, name: str, choices: Mapping[str, T], default: D) -> T | D:
    """Return the choice that a parameter names. Raises BadRequest for an unknown one."""
    value = request.GET.get(name)
    if not value:
        return default
    if value not in choices:
        raise BadRequest(f"The page has no such {name}.")
    return choices[value]


def read_id(request: HttpRequest, name: str) -> UUID | None:
    """Return the id in a parameter, or None if it isn't set. Raises BadRequest for an invalid one."""
    try:
        return UUID(request.GET[name]) if request.GET.get(name) else None
    except ValueError:
        raise BadRequest(f"The parameter {name} has an invalid value.") from None


def read_period(request: HttpRequest, max_days: int) -> tuple[Period, str]:
    """Return the chosen period, and a sentence if the chosen days can't be one: then it is the default."""
    zone, today = timezone.get_current_timezone(), timezone.localdate()
    days = read_choice(request, "days", {str(number): number for number in DAYS}, DEFAULT_DAYS)
    period = Period(today - timedelta(days=days - 1), today, zone)
    texts = [request.GET.get("from", ""), request.GET.get("to", "")]
    if not any(texts):
        calendar = read_choice(request, "period", CALENDAR, None)
        return (calendar_period(today, zone, *calendar[1:]) if calendar else period), ""
    first, last = map(read_day, texts)
    if first is None or last is None:
        return period, "Enter the first and the last day."
    if not timedelta() <= last - first < timedelta(days=max_days):
        longest = f"{max_days} days" if max_days == LONGEST_BY_DAY else "three years"
        return period, f"Choose at most {longest}, the first before the last."
    return Period(first, last, zone), ""


def calendar_period(today: date, zone: tzinfo, months: int, ago: int) -> Period:
    """Return the calendar month, quarter or year of today, until today, or a whole one before it."""
    month = today.month - 1
    first = add_months(date(today.year, month - month % months + 1, 1), -ago * months)
    return Period(first, min(today, add_months(first, months) - timedelta(days=1)), zone, months)


def read_day(text: str) -> date | None:
    try:
        day = parse_date(text)
    except ValueError:
        return None
    return day if day and day.year in YEARS else None
