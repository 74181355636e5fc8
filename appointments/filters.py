"""Query parameters of the lists of appointments, outcome changes, notes and event types, and of events about them.

docs/interface.md, A25, A33, A50 and L34.
"""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Q, QuerySet

from appointments import models
from appointments.conditions import NO_OUTCOME_ROLES
from foundation.api import filters
from foundation.api.unfiltered import NamedListFilter, RelatedListFilter
from foundation.db.expressions import is_any_of
from foundation.db.names import by_name
from leads.filters import LEAD_EVENTS, LeadIdFilter
from organizations.filters import CountedListFilter, MemberEmailFilter
from statuses.models import Status, StatusRole
from webhooks.filters import SubjectFilter

APPOINTMENT_EVENTS = SubjectFilter(
    "appointment_id",
    filters.RelatedIdFilter("pk", models.Appointment, help_text="An appointment: events about it and its notes."),
)
APPOINTMENT_EVENTS.add(models.Appointment, "pk")
APPOINTMENT_EVENTS.add(models.Note, "appointment")
APPOINTMENT_EVENTS.add(models.DeletedNote, "appointment")
# The events list finds events about these rows by `lead_id`, too. Here, because leads must not import appointments.
LEAD_EVENTS.add(models.Appointment, "lead")
LEAD_EVENTS.add(models.Note, "appointment__lead")
LEAD_EVENTS.add(models.DeletedNote, "appointment__lead")


class AppointmentIdFilter(filters.RelatedIdFilter):
    def __init__(self) -> None:
        super().__init__("appointment", models.Appointment)


class HasOutcomeFilter(filters.BooleanFilter):
    def filter(self, qs: QuerySet, value: bool) -> QuerySet:
        is_booked, statuses = Q(role__in=NO_OUTCOME_ROLES), Status.objects.of(self.parent.organization).order_by()
        statuses = statuses.filter(~is_booked if value else is_booked)
        is_any: Any = is_any_of(self.field_name, ArraySubquery(statuses.values("pk")))
        return qs.filter(is_any) if value else qs.filter(Q(is_any) | Q(**{self.field_name: None}))


class AnyReferenceFilter(filters.ReferenceFilter):
    """Appointments that have the reference, or had it before they got another one."""

    def filter(self, qs: QuerySet, value: str) -> QuerySet:
        assert isinstance(qs, models.AppointmentQuerySet)
        return qs.with_reference(value)


class AppointmentFilter(CountedListFilter):
    model = models.Appointment
    id = filters.IdListFilter()
    external_reference = AnyReferenceFilter()
    lead_id = LeadIdFilter()
    event_type_id = filters.RelatedIdFilter(
        "event_type", models.EventType, help_text="An event type of the organization."
    )
    call_category = filters.ChoiceFilter("call_category", models.CallCategory)
    outcome_role = filters.ChoiceFilter("outcome__role", StatusRole)
    has_outcome = HasOutcomeFilter(
        "outcome", help_text="true: the outcome is neither empty nor booked (APPOINTMENT_BOOKED). false: all others."
    )
    setter = MemberEmailFilter("setter", help_text="The setter's e-mail.")
    triager = MemberEmailFilter("triager", help_text="The triager's e-mail.")
    # The API's name for the host (A25).
    closer = MemberEmailFilter("host", help_text="The host's e-mail.")
    scheduled_from = filters.DateTimeFilter("schedule_time", "gte")
    scheduled_to = filters.DateTimeFilter("schedule_time", "lte")
    created_from = filters.DateTimeFilter("created_at", "gte")
    created_to = filters.DateTimeFilter("created_at", "lte")
    updated_from = filters.DateTimeFilter("updated_at", "gte")
    updated_to = filters.DateTimeFilter("updated_at", "lte")
    ordering = filters.OrderingFilter("created_at", "updated_at", "schedule_time")


class OutcomeChangeFilter(RelatedListFilter):
    model = models.OutcomeChange
    parent = AppointmentIdFilter


class NoteFilter(RelatedListFilter):
    model = models.Note
    parent = AppointmentIdFilter


class EventTypeFilter(NamedListFilter):
    model = models.EventType
    sort_key = by_name("name")
