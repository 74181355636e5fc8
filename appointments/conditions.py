"""Conditions: which appointments, leads and opt-ins are work for staff, or count in the numbers of `reports`.

The filters of the lists use the same conditions, so a number and the list that it links to can't differ.
docs/staff.md defines each of them.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import (
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    TextChoices,
    Value,
)
from django.db.models.functions import Coalesce

from appointments.models import Appointment
from leads.models import ERASED_EMAIL, LeadNote, NextStep, TouchPointType
from statuses.models import PAID_ROLES, StatusRole

BOOKED_ROLES = [StatusRole.APPOINTMENT_BOOKED, StatusRole.RESCHEDULED]
# Rescheduled is an outcome: the lead asked for another day, which is another booking.
NO_OUTCOME_ROLES = [StatusRole.APPOINTMENT_BOOKED]
NOT_SHOWN_ROLES = [StatusRole.CANCELED, StatusRole.NO_SHOW, StatusRole.RESCHEDULED]
LONGEST = timedelta(days=1)  # the limit of a call's duration
LATE = timedelta(hours=1)  # a call that is entered later than this after its beginning is history
FEW = 1_000  # rows that are faster found by their ids

FIRST_TIME = ("first_booked_for", "booked_for", "schedule_time")  # the first that isn't null is the time first booked

ENDS_AT = ExpressionWrapper(
    F("schedule_time")
    + ExpressionWrapper(
        Coalesce(F("own_duration_minutes"), F("event_type__duration_minutes"), 60) * Value(timedelta(minutes=1)),
        output_field=DurationField(),
    ),
    output_field=DateTimeField(),
)


class Result(TextChoices):
    SHOWN = "shown", "Shown"
    NO_SHOW = "no_show", "No-show"
    EXPECTED = "expected", "Shown or no-show"
    CANCELED = "canceled", "Canceled"
    WON = "won", "Won"
    LOST = "lost", "Lost"
    BOOKED = "booked", "Booked, not entered afterwards"


class Stage(TextChoices):
    """How far an opt-in has come. Each stage after the first includes the next one."""

    NOT_CALLED = "not_called", "Not called or booked yet"
    BOOKED = "booked", "Booked"
    SHOWN = "shown", "Shown"
    WON = "won", "Won"


def takes_part(members: Any) -> Q:  # noqa: ANN401  # whatever `in` takes: ids or a query
    return Q(host__in=members) | Q(setter__in=members) | Q(triager__in=members)


def has_result(result: str, at: datetime) -> Q:
    is_shown = Q(schedule_time__lte=at) & (Q(outcome=None) | ~Q(outcome__role__in=NOT_SHOWN_ROLES))
    is_no_show = Q(outcome__role=StatusRole.NO_SHOW)
    return {
        Result.SHOWN: is_shown,
        Result.NO_SHOW: is_no_show,
        Result.EXPECTED: is_shown | is_no_show,
        Result.CANCELED: Q(outcome__role=StatusRole.CANCELED),
        Result.WON: Q(schedule_time__lte=at, outcome__role__in=PAID_ROLES),
        Result.LOST: Q(schedule_time__lte=at, outcome__role=StatusRole.LOST),
        # History that is imported was not booked on the day of the import.
        Result.BOOKED: Q(created_at__lt=Coalesce(*FIRST_TIME) + Value(LATE)),
    }[Result(result)]


def still_to_come(rows: QuerySet[Appointment], at: datetime) -> QuerySet[Appointment]:
    rows = rows.filter(schedule_time__gt=at - LONGEST).alias(over_at=ENDS_AT).filter(over_at__gt=at)
    return rows.filter(is_called_off=False)


def to_come_on(rows: QuerySet[Appointment], start: datetime, end: datetime, at: datetime) -> QuerySet[Appointment]:
    """Filter for a day's appointments to come; what began before today and isn't over is today's."""
    begun = Q(schedule_time__lt=end)
    return still_to_come(rows.filter(begun if start <= at else begun & Q(schedule_time__gte=start)), at)


def without_outcome(
    rows: QuerySet[Appointment], booked_statuses: Collection[UUID], at: datetime
) -> QuerySet[Appointment]:
    """Filter for ended appointments with one of these statuses, or none. Runs a query, to see if there are few."""
    over = rows.filter(schedule_time__lt=at).alias(over_at=ENDS_AT).filter(over_at__lte=at)
    # PostgreSQL takes the share of past appointments among booked ones for that among all. Hundreds of thousands can be
    # booked for the future, so it would expect many here, and read all past ones to find a few. Each outcome alone has
    # an index in this order, which it uses whatever it expects.
    of_each = [
        over.filter(outcome=outcome).order_by("-schedule_time", "-id").values_list("pk", flat=True)[: FEW + 1]
        for outcome in (None, *booked_statuses)
    ]
    ids = list(of_each[0].union(*of_each[1:], all=True))
    if len(ids) <= FEW:
        return rows.filter(pk__in=ids)
    return over.filter(Q(outcome=None) | Q(outcome__in=booked_statuses))


def open_steps(**filters: Any) -> QuerySet[NextStep]:
    rows: QuerySet[NextStep] = NextStep.unscoped.filter(lead=OuterRef("pk"), done_at=None, **filters)
    return rows


def is_followed_by(members: Any) -> Q:  # noqa: ANN401  # as above
    appointments = Appointment.unscoped.filter(lead=OuterRef("pk"))
    takes_part_in_one = Q(Exists(appointments.filter(takes_part(members))))
    return Q(setter__in=members) | takes_part_in_one | Q(Exists(open_steps(owner__in=members)))


def is_open_to(members: Any) -> Q:  # noqa: ANN401  # as above
    return takes_part(members) | Q(host=None, setter=None, triager=None)


def may_be_followed_by(members: Any) -> Q:  # noqa: ANN401  # as above
    taken = Appointment.unscoped.filter(lead=OuterRef("pk")).exclude(host=None, setter=None, triager=None)
    return is_followed_by(members) | (Q(setter=None) & ~Q(Exists(taken)))


def step_due(follow_up_statuses: Collection[UUID], end_of_day: datetime) -> Q:
    """Return the condition that a lead has a next step by then, or that nobody has planned one for a follow-up."""
    return Q(next_step_at__lt=end_of_day) | unplanned_due(follow_up_statuses, end_of_day)


def unplanned_due(follow_up_statuses: Collection[UUID], end_of_day: datetime) -> Q:
    # Each of the three has an index, because the statuses are given by their ids. Touch points that have passed are
    # removed within minutes, next steps are not.
    has_status, by_then = Q(status__in=follow_up_statuses), Q(next_touch_point_at__lt=end_of_day)
    is_set_by_staff = ~Q(next_touch_point_type=TouchPointType.APPOINTMENT)
    # Erasing a lead empties its times, and nobody can contact it any more.
    is_unplanned = Q(next_touch_point_at=None) & ~Q(email__endswith=ERASED_EMAIL)
    return (has_status & is_unplanned) | (has_status & by_then) | (by_then & is_set_by_staff)


def own_step_due(
    steps: QuerySet[NextStep], members: Collection[UUID], follow_up_statuses: Collection[UUID], end_of_day: datetime
) -> Q:
    """Return the condition that a lead has something to do for one of these members. Runs a query of the steps.

    That is a step of theirs; or, if they follow the lead, a step of no one, or a follow-up without any step before it.
    """
    own = steps.filter(owner__in=members, done_at=None, at__lt=end_of_day).order_by().values_list("lead_id", flat=True)
    # By their ids, as in `without_outcome`: beside other conditions, PostgreSQL would read all leads for a subquery.
    ids = list(own[: FEW + 1])
    has_own = Q(pk__in=ids if len(ids) <= FEW else own)
    has_unowned = Q(next_step_at__lt=end_of_day) & Q(Exists(open_steps(owner=None, at__lt=end_of_day)))
    is_first = Q(next_step_at=None) | Q(next_touch_point_at__lt=F("next_step_at"))
    unplanned = unplanned_due(follow_up_statuses, end_of_day) & is_first
    return has_own | ((has_unowned | unplanned) & is_followed_by(members))


def not_called(new_lead_statuses: Collection[UUID]) -> Q:
    """Return the condition that an opt-in's lead is new and not erased, and that no one has called or booked it."""
    calls = LeadNote.unscoped.filter(lead=OuterRef("lead"), call_result__isnull=False)
    is_called = Exists(calls.filter(created_at__gte=OuterRef("created_at")))
    is_booked = Exists(Appointment.unscoped.filter(lead=OuterRef("lead")))
    is_new = Q(lead__status__in=new_lead_statuses) & ~Q(lead__email__endswith=ERASED_EMAIL)
    return is_new & ~Q(is_booked) & ~Q(is_called)


def in_stage(stage: str, at: datetime) -> Q:
    """Return the condition that an opt-in's lead has such a booking since, for a time since (`first_bookings`)."""
    booked = Appointment.unscoped.filter(lead=OuterRef("lead"), created_at__gte=OuterRef("created_at"))
    booked = booked.alias(first_time=Coalesce(*FIRST_TIME)).filter(first_time__gte=OuterRef("created_at"))
    return Q(Exists(booked if stage == Stage.BOOKED else booked.filter(has_result(stage, at))))


def is_called_by(members: Any) -> Q:  # noqa: ANN401  # as above
    return Q(lead__setter__in=members) | Q(lead__setter=None)
