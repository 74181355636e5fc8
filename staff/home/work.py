"""The home page's lists of what is to be done."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Prefetch, Q, QuerySet
from django.db.models.functions import Coalesce

from appointments import conditions
from appointments.models import Appointment
from appointments.reports import Period
from leads.models import CallResult, Lead, NextStep
from optins.models import OptIn
from organizations.permissions import PERMISSIONS, Area, has_role
from staff.appointments.record_forms import default_of_role
from staff.figures.page import Figure, FiguresPage
from staff.leads.source_labels import source_label
from staff.selections import LATEST_FIRST, NEXT_FIRST
from staff.toolkit.actions import row_url
from statuses.models import Board, Status, StatusRole

MAX_ROWS = 8
MAX_COUNT = 1_000  # more are shown as "1,000+"
DAYS_TO_CALL = 30  # for which an opt-in without a call is listed
OUTCOME_BUTTONS = [StatusRole.WON, StatusRole.LOST, StatusRole.NO_SHOW, StatusRole.FOLLOW_UP]


@dataclass(frozen=True)
class WorkList:
    kind: str
    title: str
    total: Figure
    rows: list[tuple[Any, str]]
    empty: str
    buttons: Collection[Status]
    with_buttons: Collection[UUID]  # the rows that the user may change


def work_context(page: FiguresPage) -> dict[str, object]:
    statuses = list(Status.objects.of(page.organization))
    appointments = page.appointments().select_related("lead", "event_type", "host__user", "outcome")
    lists = [
        *appointment_lists(page, appointments, statuses),
        next_step_list(page, statuses),
        opt_in_list(page, statuses),
    ]
    upcoming = conditions.still_to_come(appointments.filter(schedule_time__gte=page.today.end), page.at)
    return {
        "lists": lists,
        "next": upcoming.order_by(*NEXT_FIRST).first(),
        "soon": page.at + timedelta(hours=2),  # until then, an appointment says how long it is until it begins
        "may_book": has_role(page.request, PERMISSIONS[Area.WORK].add, page.organization.pk),
        "booking_url": page.add_url(Appointment),
        "call_results": CallResult.choices,
    }


def appointment_lists(page: FiguresPage, rows: QuerySet[Appointment], statuses: list[Status]) -> list[WorkList]:
    tomorrow = page.today.last + timedelta(days=1)
    days = {"today": page.today, "tomorrow": Period(tomorrow, tomorrow, page.period.zone)}
    lists = [
        work_list(
            page,
            (day, day.capitalize(), f"No appointments {'left ' if day == 'today' else ''}{day}."),
            conditions.to_come_on(rows, period.start, period.end, page.at).order_by(*NEXT_FIRST),
            page.list_url(Appointment, work=day, **page.mine),
        )
        for day, period in days.items()
    ]
    booked = status_ids(statuses, *conditions.NO_OUTCOME_ROLES)
    without_outcome = work_list(
        page,
        ("without_outcome", "Without outcome", "No past appointment is waiting for its outcome."),
        conditions.without_outcome(rows, booked, page.at).order_by(*LATEST_FIRST),
        page.list_url(Appointment, work="without_outcome", **page.mine),
        has_buttons=True,
        buttons=outcome_buttons(statuses),
    )
    return [*lists, without_outcome]


def next_step_list(page: FiguresPage, statuses: list[Status]) -> WorkList:
    follow_ups, end = status_ids(statuses, StatusRole.FOLLOW_UP), page.today.end
    steps = NextStep.objects.of(page.organization).filter(done_at=None).select_related("owner__user").order_by("at")
    due, option = conditions.step_due(follow_ups, end), "follow_up"
    if page.member_id:
        due, option = conditions.own_step_due(steps, [page.member_id], follow_ups, end), "my_step"
        steps = steps.filter(Q(owner=page.member_id) | Q(owner=None))
    rows = Lead.objects.of(page.organization).filter(due).select_related("status", "setter__user")
    return work_list(
        page,
        ("next_steps", "Next steps due", "No next step is due today."),
        rows.order_by(Coalesce("next_step_at", "next_touch_point_at"), "-created_at", "-id"),
        page.list_url(Lead, work=option),
        has_buttons=True,
        prefetch=[Prefetch("next_steps", steps, to_attr="open_steps")],
    )


def opt_in_list(page: FiguresPage, statuses: list[Status]) -> WorkList:
    first = page.today.last - timedelta(days=DAYS_TO_CALL)
    start = Period(first, first, page.period.zone).start
    not_called = conditions.not_called(status_ids(statuses, StatusRole.NEW_LEAD))
    rows = OptIn.objects.of(page.organization).filter(not_called, created_at__gte=start)
    if page.member_id:
        rows = rows.filter(conditions.is_called_by([page.member_id]))
    empty = f"No opt-in of the last {DAYS_TO_CALL} days is waiting for a call."
    return work_list(
        page,
        ("opt_ins", "Opt-ins not called yet", empty),
        rows.select_related("lead__setter__user").annotate(source_label=source_label()).order_by("-created_at", "-id"),
        page.list_url(OptIn, stage="not_called", created_at_from=first, **page.mine),
        has_buttons=True,
    )


def work_list(
    page: FiguresPage,
    texts: tuple[str, str, str],
    rows: QuerySet[Any],
    url: str,
    *,
    has_buttons: bool = False,
    buttons: Collection[Status] = (),
    prefetch: Collection[Prefetch] = (),
) -> WorkList:
    """Return the first of the rows, and how many there are up to `MAX_COUNT`, with two statements.

    `texts` are the kind, the title, and the text without any rows.
    """
    ids = list(rows.values_list("pk", flat=True)[: MAX_COUNT + 1])
    first = rows.filter(pk__in=ids[:MAX_ROWS]).prefetch_related(*prefetch)
    links = [(row, row_url(row)) for row in first]
    # The buttons of an opt-in are about its lead.
    is_opt_in = rows.model is OptIn
    model_admin: Any = admin.site.get_model_admin(Lead if is_opt_in else rows.model)
    written = [row.lead_id if is_opt_in else row.pk for row, _ in links]
    writable = model_admin.writable_ids(page.request, written) if has_buttons else ()
    text = str(len(ids)) if len(ids) <= MAX_COUNT else f"{MAX_COUNT:,}+"
    kind, title, empty = texts
    return WorkList(kind, title, Figure(text, url, len(ids)), links, empty, buttons, writable)


def status_ids(statuses: list[Status], *roles: StatusRole) -> list[UUID]:
    return [status.pk for status in statuses if status.role in roles]


def outcome_buttons(statuses: list[Status]) -> list[Status]:
    choices = [status for status in statuses if status.is_on_board(Board.APPOINTMENT)]
    defaults = [default_of_role(choices, role, "is_appointment_default") for role in OUTCOME_BUTTONS]
    return [status for status in defaults if status]
