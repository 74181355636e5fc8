"""The calendar: the layout of the appointments list that shows a day or a week by host, with the free times.

It shows all appointments of its hosts, because each of them takes time; those that the list's filters leave out are
muted. Past and canceled appointments leave no free time that could be booked, and a canceled one takes none.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from math import ceil
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import RowNumber, TruncDate
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from appointments.conditions import ENDS_AT, LONGEST
from appointments.free_times import free_spans, next_quarter
from appointments.models import LONG_COLUMNS, Appointment
from foundation.db.expressions import is_any_of
from foundation.db.timestamps import isoformat_z, now
from organizations.models import CAN_BE_ASSIGNED, IS_ACTIVE_MEMBER, MemberRole, Membership
from organizations.permissions import PERMISSIONS, current_user, has_role, organizations_with_role
from organizations.working_hours import Span
from staff.appointments.record import place
from staff.calendar.grid import (
    COLORS,
    SHORTEST_GAP,
    Column,
    Day,
    Slot,
    blocks_of,
    build_grid,
    day_span,
    hourly,
    lay_out,
)
from staff.toolkit.actions import AnyPage
from staff.toolkit.filters import NONE
from staff.toolkit.lists import parse_day, typed
from staff.toolkit.views import ALL, Layout, ViewChangeList, layout_response

HOSTS_PER_PAGE = 8
# Appointments of a host's day. Together they bound a page: 8 hosts have 1,536 in a week, or 384 in a day.
MAX_IN_ROW, MAX_IN_COLUMN = 24, 48
MAX_CHOICES = 500  # of hosts and of organizations
# The calendar replaces these views; the value is the number of days to show.
VIEWS_BY_TIME = {"today": "1", "upcoming": "7", "past": "7"}
HOST, ORGANIZATION = "host__id__exact", "organization__id__exact"  # the list's own filters


class CalendarPage:
    """What the address asks for. Raises BadRequest for invalid values, and Http404 without an organization."""

    def __init__(self, page: AnyPage, request: HttpRequest) -> None:
        values, self.request = request.GET, request
        organizations = organizations_with_role(request, PERMISSIONS[page.area].view).order_by("name")[:MAX_CHOICES]
        self.organizations = {str(organization.pk): organization for organization in organizations}
        organization = self.organizations.get(values.get(ORGANIZATION) or next(iter(self.organizations), ""))
        if organization is None:
            raise Http404
        self.organization = organization
        try:
            length, self.page = int(values.get("days", "7")), int(values.get("hosts", "1"))
            with typed("day", "day", values.get("day", "")):
                day = parse_day(values["day"]) if values.get("day") else timezone.localdate()
            self.hosts = {None if value == NONE else UUID(value) for value in values.getlist(HOST) if value}
            if length not in (1, 7) or not 0 < self.page <= MAX_CHOICES:
                raise ValueError
        except (IncorrectLookupParameters, ValueError):
            raise BadRequest("The calendar's address has an invalid value.") from None
        self.is_week = length == 7
        self.first = day - timedelta(days=day.weekday()) if self.is_week else day
        self.days = [self.first + timedelta(days=number) for number in range(length)]
        self.zone, self.at = timezone.get_current_timezone(), now()
        self.spans = {day: day_span(day, self.zone) for day in self.days}
        self.shows_canceled = values.get("canceled") == "1"
        self.can_book = has_role(request, PERMISSIONS[page.area].add, organization.pk)
        self.today = timezone.localdate(self.at)
        self.is_now = self.today in self.days

    def url(self, **changes: object) -> str:
        """Return the page's address with these parameters changed; None removes one."""
        parameters = {name: values for name, values in self.request.GET.lists() if name != "p"} | changes
        present = {name: value for name, value in parameters.items() if value is not None}
        return "?" + urlencode(present, doseq=True)

    @property
    def links(self) -> dict[str, str]:
        length = timedelta(days=len(self.days))
        return {
            "previous": self.url(day=self.first - length),
            "today": self.url(day=None),
            "next": self.url(day=self.first + length),
            "day_view": self.url(days="1", day=self.today if self.is_now else self.first),
            "week_view": self.url(days="7", day=self.first),
            "all_hosts": self.url(**{HOST: None, "hosts": None}),
            "canceled": self.url(canceled=None if self.shows_canceled else "1"),
            "previous_hosts": self.url(hosts=self.page - 1),
            "next_hosts": self.url(hosts=self.page + 1),
        }

    @property
    def offers_hosts(self) -> bool:
        """Whether the field above the calendar can show the chosen hosts: one, or all of them."""
        return len(self.hosts - {None}) == len(self.hosts) < 2

    @property
    def kept_parameters(self) -> list[tuple[str, str]]:
        changed = ("day", "hosts", "p", ORGANIZATION, *([HOST] if self.offers_hosts else []))
        given = self.request.GET.lists()
        return [(name, str(value)) for name, values in given if name not in changed for value in values]


class Calendar(Layout):
    name, label, icon = "calendar", "Calendar", "calendar_today"
    parameters = ("days", "day", "hosts", "canceled")
    places = ("day", "hosts")

    def render(self, page: AnyPage, request: HttpRequest, cl: ViewChangeList) -> HttpResponse:
        calendar = CalendarPage(page, request)
        if cl.view and (days := VIEWS_BY_TIME.get(cl.view.name)):
            return redirect(request.path + calendar.url(view=ALL.name, days=days, day=None))
        rows = appointments_of(page, calendar)
        host_choices, chosen = find_hosts(calendar, rows)
        # Fewer hosts than before, if a filter was added.
        calendar.page = min(calendar.page, max(1, ceil(len(chosen) / HOSTS_PER_PAGE)))
        number = (calendar.page - 1) * HOSTS_PER_PAGE
        hosts = chosen[number : number + HOSTS_PER_PAGE]
        # A week of several hosts has a row for each of their days, and its hours go across.
        is_across = calendar.is_week and len(hosts) > 1
        limit = MAX_IN_ROW if is_across else MAX_IN_COLUMN
        rows, hidden = hosted_by(hosts, rows, calendar)
        visible = first_of_each_day(rows, limit, calendar)
        ids = [row.pk for row in visible]
        matching = set(cl.queryset.filter(pk__in=ids).order_by().values_list("pk", flat=True))
        movable = page.writable_ids(request, ids)
        columns = make_columns(calendar, hosts, host_choices, visible, matching, movable)
        rests = {(row.host_id, timezone.localdate(row.schedule_time)): row.of_day - limit for row in visible}
        grid = build_grid(calendar.days, calendar.zone, columns)
        for column in columns:
            fill(calendar, column, rests)
            lay_out(column, grid)
        per_day = len(hosts)
        context: dict[str, object] = {
            "page": calendar,
            "hosts": hosts,
            "host_choices": host_choices,
            "has_more_hosts": len(chosen) > number + HOSTS_PER_PAGE,
            "grid": grid,
            "now_line": grid.line(calendar.at),
            "columns": columns,
            "days": [Day(day, grid, columns[n * per_day : (n + 1) * per_day]) for n, day in enumerate(calendar.days)],
            "is_across": is_across,
            "can_move": bool(movable),
            "hidden": hidden,
        }
        return layout_response(page, request, cl, "staff/calendar.html", context)


def appointments_of(page: AnyPage, calendar: CalendarPage) -> QuerySet[Appointment]:
    start, end = calendar.spans[calendar.first].start, calendar.spans[calendar.days[-1]].end
    begun: QuerySet[Appointment] = page.get_queryset(calendar.request).filter(
        organization=calendar.organization, schedule_time__gt=start - LONGEST, schedule_time__lt=end
    )
    return begun.alias(over_at=ENDS_AT).filter(over_at__gt=start).order_by("schedule_time", "id")


def hosted_by(
    hosts: Sequence[Membership | None], rows: QuerySet[Appointment], page: CalendarPage
) -> tuple[QuerySet[Appointment], int]:
    """Return the hosts' rows, and how many canceled ones the page leaves out of them."""
    has_host = Q(host__in=[host for host in hosts if host])
    rows = rows.filter(has_host | Q(host=None) if None in hosts else has_host)
    if page.shows_canceled:
        return rows, 0
    return rows.filter(is_called_off=False), rows.filter(is_called_off=True).order_by().count()


def first_of_each_day(rows: QuerySet[Appointment], limit: int, page: CalendarPage) -> list[Any]:
    """Return at most so many rows of each host's day, each with the number of all of them as `of_day`."""
    day: list[Any] = ["host_id", TruncDate("schedule_time", tzinfo=page.zone)]
    numbered = rows.annotate(
        of_day=Window(Count("pk"), partition_by=day),
        place=Window(RowNumber(), partition_by=day, order_by=["schedule_time", "id"]),
    )
    # Their ids first: to number whole rows, PostgreSQL would join and sort all of them.
    of_days = dict(numbered.filter(place__lte=limit).order_by().values_list("pk", "of_day"))
    shown = list(rows.filter(is_any_of("pk", list(of_days))).defer(*LONG_COLUMNS))
    for row in shown:
        row.of_day = of_days[row.pk]  # type: ignore[attr-defined]
    return shown


def find_hosts(page: CalendarPage, rows: QuerySet[Appointment]) -> tuple[list[Membership], list[Membership | None]]:
    """Return the hosts to choose from, and the chosen ones: the user first, then by name; None for no host.

    They are the active members who are closers or have hosted before, so that those without appointments are seen to
    be free; and the hosts of the calendar's time, even if they have left.
    """
    present = set(rows.order_by().values_list("host", flat=True).distinct())
    hosted = Appointment.objects.of(page.organization).filter(host=OuterRef("pk"))
    # In the order of an index: without one, PostgreSQL reads the whole table for a member who has never hosted.
    latest = Subquery(hosted.order_by("-created_at", "-id").values("pk")[:1])
    has_column = IS_ACTIVE_MEMBER & (Q(role=MemberRole.CLOSER) | Q(latest__isnull=False))
    members = Membership.objects.of(page.organization).alias(latest=latest)
    members = members.filter(has_column | Q(pk__in=present - {None}))
    members = members.annotate(can_be_assigned=CAN_BE_ASSIGNED)
    user = current_user(page.request)
    choices = sorted(
        members.select_related("user")[:MAX_CHOICES], key=lambda host: (host.user_id != user.pk, str(host).lower())
    )
    chosen: list[Membership | None] = [host for host in choices if not page.hosts or host.pk in page.hosts]
    if None in (page.hosts or present):
        chosen.append(None)
    return choices, chosen


def working_hours(host: Membership | None, day: Span) -> list[Span]:
    """Return the hours of the day at which the host can have calls; none of a member who has left."""
    is_active = host is not None and host.is_active and host.user.is_active
    return host.working_week.spans(*day) if host and is_active else []


def make_columns(
    page: CalendarPage,
    hosts: Sequence[Membership | None],
    all_hosts: Sequence[Membership],
    rows: Sequence[Appointment],
    matching: set[UUID],
    movable: set[UUID],
) -> list[Column]:
    """Return a column for each day and host, the days' in order."""
    hosted: dict[UUID | None, list[Appointment]] = {}
    for row in rows:
        hosted.setdefault(row.host_id, []).append(row)
    colors: dict[UUID | None, str] = {host.pk: f"k{number % COLORS}" for number, host in enumerate(all_hosts)}
    columns = []
    for day, span in page.spans.items():
        for host in hosts:
            id = host.pk if host else None
            blocks = blocks_of(hosted.get(id, []), matching, movable, span)
            columns.append(Column(day, host, blocks, working_hours(host, span), color=colors.get(id, "")))
    return columns


def fill(page: CalendarPage, column: Column, rests: Mapping[tuple[UUID | None, date], int]) -> None:
    """Set what can be moved and booked in a column, and the link to the appointments that it doesn't show."""
    id = column.host.pk if column.host else None
    for block in column.blocks:
        if block.may_be_changed and not block.appointment.is_called_off and not block.begins_before:
            block.state = place(block.appointment)
    column.more = max(rests.get((id, column.day), 0), 0)
    if column.more:
        days = {"schedule_time_from": column.day, "schedule_time_to": column.day}
        parameters = {"view": ALL.name, **days, HOST: NONE if id is None else id}
        if len(page.organizations) > 1:  # otherwise the list has no such filter
            parameters[ORGANIZATION] = page.organization.pk
        column.more_url = f"?{urlencode(parameters)}"
    # With some of the appointments only, a time could look free that isn't. The day before may end in this one.
    day_before = column.day - timedelta(days=1)
    if page.can_book and not column.more and rests.get((id, day_before), 0) <= 0:
        column.slots = list(free_slots(page, column))


def free_slots(page: CalendarPage, column: Column) -> Iterator[Slot]:
    """Yield the times in a host's day that can be booked, cut at the full hours."""
    host = column.host
    if host is None:
        return
    busy = [block.span for block in column.blocks if not block.appointment.is_called_off]
    path = reverse("admin:appointments_appointment_add")
    for gap in free_spans(column.working, busy, buffer=host.working_week.buffer, earliest=next_quarter(page.at)):
        if gap.end - gap.start < SHORTEST_GAP:
            continue
        for span in hourly(gap, page.zone):
            values = {"organization": page.organization.pk, "host": host.pk, "schedule_time": isoformat_z(span.start)}
            yield Slot(span, gap, f"{path}?{urlencode(values)}")
