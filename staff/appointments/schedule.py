"""The other appointments of a host and a lead on the day of an appointment, and the questions about its time."""

from datetime import timedelta
from operator import attrgetter
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from django import forms
from django.db.models import BooleanField, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery
from django.db.models.lookups import IsNull
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from unfold.widgets import UnfoldBooleanWidget

from appointments.conditions import BOOKED_ROLES, ENDS_AT, LONGEST
from appointments.models import LONG_COLUMNS, Appointment
from appointments.notifications import stays_called_off
from appointments.services.changes import NOT_HELD_ROLES, role_of
from foundation.db.timestamps import now
from staff.toolkit.actions import row_url
from staff.toolkit.tenant import TenantForm
from staff.toolkit.times import show_times_about
from statuses.models import Status, StatusRole

MAX_LISTED = 100
MAX_NAMED = 3  # of those in a message
SCHEDULE_FIELDS = {"schedule_time", "event_type", "outcome", "host", "lead", "lead_email"}


class ScheduleForm(TenantForm):
    book_anyway = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        stored = {} if self.instance._state.adding else {"appointment": self.instance.pk}
        if "schedule_time" in self.fields:  # otherwise it is read-only
            show_times_about(self.fields["schedule_time"], organization=self.organization.pk, **stored)

    def _post_clean(self) -> None:
        super()._post_clean()
        self.set_lead()
        if SCHEDULE_FIELDS.isdisjoint(self.changed_data):
            return
        # A canceled appointment takes no time, but one that is moved becomes booked again (docs/interface.md, A28).
        if stays_called_off(self.instance) and "schedule_time" not in self.changed_data:
            return
        warn_of_time(self, self.instance)

    def set_lead(self) -> None:
        """Set the instance's lead if the form names it in a way of its own."""


def is_canceled(appointment: Appointment) -> bool:
    return appointment.outcome is not None and appointment.outcome.role == StatusRole.CANCELED


def can_be_booked_again(appointment: Appointment) -> bool:
    """Return whether a booked outcome would invite everybody again."""
    is_off = role_of(appointment.outcome) in NOT_HELD_ROLES or appointment.is_called_off
    return is_off and not appointment.is_over


def is_booked_again(appointment: Appointment, outcome: Status | None) -> bool:
    return role_of(outcome) in BOOKED_ROLES and can_be_booked_again(appointment)


def warn_of_time(form: forms.BaseForm, appointment: Appointment) -> None:
    """Show the box `book_anyway` if another appointment overlaps, or a call to come is moved to a time that has passed.

    An otherwise valid form needs it ticked. Its value stands for what was shown, so that appointments that overlap
    meanwhile are shown, too.
    """
    rows = [row for row, overlaps in other_appointments(appointment) if overlaps]
    is_moved = not appointment._state.adding and appointment.is_changed("schedule_time")
    has_passed = is_moved and appointment.is_over and appointment.stored_values["schedule_time"] > now()
    if not rows and not has_passed:
        return
    value = str(uuid5(NAMESPACE_OID, " ".join([*(str(row.pk) for row in rows), *(["passed"] if has_passed else [])])))
    is_ticked = form.data.get(form.add_prefix("book_anyway")) in (value, "on")  # "on": from before an upgrade
    form.fields["book_anyway"].widget = UnfoldBooleanWidget({"value": value}, check_test=lambda _: is_ticked)
    if not form.errors and not is_ticked:
        link = '<a class="underline" href="{}" target="_blank">{}</a>'
        links = [(row_url(row), render_to_string("staff/other_appointment.html", {"row": row})) for row in rows]
        problems: list[str] = [format_html("Overlaps with {}.", format_html_join(" and ", link, links))] if rows else []
        if has_passed:
            problems.append("This time has passed: no one is notified, and calendars keep the former one.")
        text = format_html("{} Choose another time, or tick this box.", format_html_join(" ", "{}", zip(problems)))
        form.add_error("book_anyway", text)


def other_appointments(appointment: Appointment) -> list[tuple[Appointment, bool]]:
    """Return the other appointments of the host and the lead on the same day, and whether each overlaps with this one.

    The day is one of the current time zone. Canceled appointments take no time. Of more than `MAX_LISTED`, returns
    those that overlap before all others.
    """
    start = appointment.schedule_time
    if start is None:
        return []
    day = timezone.localtime(start).replace(hour=0, minute=0, second=0, microsecond=0)
    next_day, end = day + timedelta(days=1), appointment.ends_at
    # A new appointment may have neither, and `host=None` would match those without a host.
    people = {name: id for name in ("host_id", "lead_id") if (id := getattr(appointment, name)) is not None}
    if not people:
        return []
    # One of the previous day may still be going on: no call takes longer than a day.
    rows = (
        Appointment.objects.of(appointment.organization)
        .filter(Q(**people, _connector=Q.OR), schedule_time__gt=day - timedelta(days=1))
        .filter(schedule_time__lt=max(next_day, end))
        .alias(over_at=ENDS_AT)
        .filter(over_at__gt=day)
        .exclude(Q(pk=appointment.pk) | Q(is_called_off=True))
        .annotate(overlaps=ExpressionWrapper(Q(schedule_time__lt=end, over_at__gt=start), BooleanField()))
        .select_related("lead", "event_type", "host__user")
        .order_by("-overlaps", "schedule_time", "id")
    )
    found = sorted(rows[:MAX_LISTED], key=attrgetter("schedule_time", "pk"))
    return [(row, row.overlaps) for row in found]


def overlap_warning(rows: QuerySet[Appointment], people: str, *names: str) -> str:
    """Return how many of these overlap with another appointment of one of the people in these columns, or "".

    Takes one statement.
    """
    start = OuterRef("schedule_time")
    others = (
        Appointment.unscoped.filter(organization=OuterRef("organization"))
        .filter(schedule_time__gt=start - LONGEST, schedule_time__lt=OuterRef("over_at"))
        .alias(end=ENDS_AT)
        .filter(end__gt=start)
        .exclude(Q(pk=OuterRef("pk")) | Q(is_called_off=True))
    )
    # One of each column, which has an index. PostgreSQL would make a join of EXISTS, and read all appointments.
    first_ids = (others.filter(**{name: OuterRef(name)}).order_by().values("pk")[:1] for name in names)
    overlaps = Q(*(IsNull(Subquery(ids), False) for ids in first_ids), _connector=Q.OR)
    rows = rows.filter(is_called_off=False).alias(over_at=ENDS_AT).filter(overlaps)
    found = rows.select_related("lead").defer(*LONG_COLUMNS).order_by("schedule_time", "id")[: MAX_LISTED + 1]
    if not found:
        return ""
    count = f"More than {MAX_LISTED}" if len(found) > MAX_LISTED else len(found)
    links = [(row_url(row), row) for row in found[:MAX_NAMED]]
    return format_html(
        "{} of these calls {} with another appointment of {}: {}{}.",
        count,
        "overlaps" if count == 1 else "overlap",
        people,
        format_html_join("; ", '<a class="underline" href="{}">{}</a>', links),
        " …" if len(found) > MAX_NAMED else "",
    )
