"""The calendar: the layout of the appointments list that shows a day or a week by host, with the free times.

It shows all appointments of its hosts, because each of them takes time; those that the list's filters leave out are
muted. Past and canceled appointments leave no free time that could be booked, and a canceled one takes none.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from appointments.conditions import ENDS_AT, LONGEST
from appointments.free_times import free_spans, next_quarter
from appointments.models import Appointment
from foundation.db.timestamps import isoformat_z, now
from organizations.models import IS_ACTIVE_MEMBER, MemberRole, Membership
from organizations.permissions import PERMISSIONS, current_user, has_role, organizations_with_role
from organizations.working_hours import Span
from staff.appointments.schedule import is_canceled
from staff.calendar.grid import SHORTEST_GAP, Column, Slot, blocks_of, build_grid, day_span, hourly, lay_out
from staff.toolkit.actions import AnyPage
from staff.toolkit.filters import NONE
from staff.toolkit.lists import parse_day
from staff.toolkit.views import ALL, Layout, ViewChangeList, layout_response

HOSTS_PER_PAGE = 8
MAX_APPOINTMENTS = 1_000  # on a page
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
            day = parse_day(values["day"]) if values.get("day") else timezone.localdate()
            self.hosts = {None if value == NONE else UUID(value) for value in values.getlist(HOST) if value}
            if length not in (1, 7) or not 0 < self.page <= MAX_CHOICES:
                raise ValueError
        except (IncorrectLookupParameters, ValueError):
            raise BadRequest("The calendar's address has an invalid value.") from None
        self.is_week = length == 7
        self.first = day - timedelta(days=day.weekday()) if self.is_week else day
        self.days = [self.first + timedelta(days=number) for number in range(length)]
        self.shows_canceled = values.get("canceled") == "1"
        self.can_book = has_role(request, PERMISSIONS[page.area].add, organization.pk)
        self.zone, self.at = timezone.get_current_timezone(), now()
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
        spans = {day: day_span(day, calendar.zone) for day in calendar.days}
        rows = appointments_between(spans[calendar.first].start, spans[calendar.days[-1]].end, page, calendar)
        host_choices, chosen = find_hosts(calendar, rows)
        number = (calendar.page - 1) * HOSTS_PER_PAGE
        hosts = chosen[number : number + HOSTS_PER_PAGE]
        has_host = Q(host__in=[host for host in hosts if host])
        if None in hosts:
            has_host |= Q(host=None)
        appointments = list(rows.filter(has_host)[: MAX_APPOINTMENTS + 1])
        is_complete = len(appointments) <= MAX_APPOINTMENTS
        matching = cl.queryset.filter(pk__in=[row.pk for row in appointments]).order_by().values_list("pk", flat=True)
        match_ids = set(matching)
        visible = [row for row in appointments[:MAX_APPOINTMENTS] if calendar.shows_canceled or not is_canceled(row)]
        columns = []
        for host in hosts:
            hosted = [row for row in visible if row.host_id == (host.pk if host else None)]
            columns += [
                Column(day, host, blocks_of(hosted, match_ids, span), working=working_hours(host, span))
                for day, span in spans.items()
            ]
        grid = build_grid(calendar.days, calendar.zone, columns)
        # In a week of several hosts there is no place for rows of hours: each of its cells is a list.
        is_table = calendar.is_week and len(hosts) > 1
        for column in columns:
            # With some of the appointments only, a time could look free that isn't.
            if calendar.can_book and is_complete:
                column.slots = list(free_slots(calendar, column, by_hour=not is_table))
            lay_out(column, grid)
        length = len(calendar.days)
        context: dict[str, object] = {
            "page": calendar,
            "hosts": hosts,
            "host_choices": host_choices,
            "has_more_hosts": len(chosen) > number + HOSTS_PER_PAGE,
            "grid": grid,
            "now_line": grid.line(calendar.at),
            "columns": columns,
            "rows": [columns[first : first + length] for first in range(0, len(columns), length)],
            "is_table": is_table,
            "limit": None if is_complete else MAX_APPOINTMENTS,
            "hidden": len(appointments) - len(visible) if is_complete else 0,
        }
        return layout_response(page, request, cl, "staff/calendar.html", context)


def appointments_between(
    start: datetime, end: datetime, page: AnyPage, calendar: CalendarPage
) -> QuerySet[Appointment]:
    begun: QuerySet[Appointment] = page.get_queryset(calendar.request).filter(
        organization=calendar.organization, schedule_time__gt=start - LONGEST, schedule_time__lt=end
    )
    return begun.alias(over_at=ENDS_AT).filter(over_at__gt=start).order_by("schedule_time", "id")


def find_hosts(page: CalendarPage, rows: QuerySet[Appointment]) -> tuple[list[Membership], list[Membership | None]]:
    """Return the hosts to choose from, and the chosen ones: the user first, then by name; None for no host.

    They are the active members who are closers or have hosted before, so that those without appointments are seen to
    be free; and the hosts of the calendar's time, even if they have left.
    """
    present = set(rows.order_by().values_list("host", flat=True).distinct())
    hosted = Appointment.objects.of(page.organization).filter(host=OuterRef("pk"))
    has_column = IS_ACTIVE_MEMBER & (Q(role=MemberRole.CLOSER) | Exists(hosted))
    members = Membership.objects.of(page.organization).filter(has_column | Q(pk__in=present - {None}))
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


def free_slots(page: CalendarPage, column: Column, *, by_hour: bool) -> Iterator[Slot]:
    """Yield the times in a host's day that can be booked, whole or cut at the full hours."""
    host = column.host
    if not isinstance(host, Membership):
        return
    busy = [block.span for block in column.blocks if not is_canceled(block.appointment)]
    for gap in free_spans(column.working, busy, buffer=host.working_week.buffer, earliest=next_quarter(page.at)):
        if gap.end - gap.start < SHORTEST_GAP:
            continue
        for span in hourly(gap, page.zone) if by_hour else [gap]:
            values = {"organization": page.organization.pk, "host": host.pk, "schedule_time": isoformat_z(span.start)}
            yield Slot(span, gap, f"{reverse('admin:appointments_appointment_add')}?{urlencode(values)}")
