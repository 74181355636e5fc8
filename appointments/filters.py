"""Query parameters of the lists of appointments, outcome changes and event types (docs/interface.md, A25, A33, A50)."""

from functools import partial
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Q, QuerySet

from appointments.conditions import BOOKED_ROLES
from appointments.models import (
    Appointment,
    AppointmentQuerySet,
    CallCategory,
    DeletedNote,
    EventType,
    Note,
    OutcomeChange,
)
from foundation.api.filters import (
    BooleanFilter,
    ChoiceFilter,
    DateTimeFilter,
    IdListFilter,
    OrderingFilter,
    ReferenceFilter,
    RelatedIdFilter,
)
from foundation.api.unfiltered import NamedListFilter, RelatedListFilter
from foundation.db.expressions import is_any_of
from foundation.db.names import by_name
from leads.filters import LEAD_EVENTS, LeadIdFilter
from organizations.filters import CountedListFilter, MemberEmailFilter
from statuses.models import Status, StatusRole
from webhooks.filters import SubjectFilter

APPOINTMENT = partial(RelatedIdFilter, "appointment", Appointment)
APPOINTMENT_EVENTS = SubjectFilter(
    "appointment_id", RelatedIdFilter("pk", Appointment, help_text="An appointment: events about it and its notes.")
)
APPOINTMENT_EVENTS.add(Appointment, "pk")
APPOINTMENT_EVENTS.add(Note, "appointment")
APPOINTMENT_EVENTS.add(DeletedNote, "appointment")
LEAD_EVENTS.add(Appointment, "lead")
LEAD_EVENTS.add(Note, "appointment__lead")
LEAD_EVENTS.add(DeletedNote, "appointment__lead")


class HasOutcomeFilter(BooleanFilter):
    """Appointments whose outcome has been set since the booking: it is neither empty nor booked nor rescheduled."""

    def filter(self, qs: QuerySet, value: bool) -> QuerySet:
        is_booked, statuses = Q(role__in=BOOKED_ROLES), Status.objects.of(self.parent.organization).order_by()
        statuses = statuses.filter(~is_booked if value else is_booked)
        is_any: Any = is_any_of(self.field_name, ArraySubquery(statuses.values("pk")))
        return qs.filter(is_any) if value else qs.filter(Q(is_any) | Q(**{self.field_name: None}))


class AnyReferenceFilter(ReferenceFilter):
    """Appointments that have the reference, or had it before they were moved under another one."""

    def filter(self, qs: QuerySet, value: str) -> QuerySet:
        assert isinstance(qs, AppointmentQuerySet)
        return qs.with_reference(value)


class AppointmentFilter(CountedListFilter):
    id = IdListFilter()
    external_reference = AnyReferenceFilter()
    lead_id = LeadIdFilter()
    event_type_id = RelatedIdFilter("event_type", EventType, help_text="An event type of the organization.")
    call_category = ChoiceFilter("call_category", CallCategory)
    outcome_role = ChoiceFilter("outcome__role", StatusRole)
    has_outcome = HasOutcomeFilter(
        "outcome", help_text="Whether the outcome is another one than none, booked (APPOINTMENT_BOOKED) or RESCHEDULED."
    )
    setter = MemberEmailFilter("setter", help_text="The setter's e-mail.")
    triager = MemberEmailFilter("triager", help_text="The triager's e-mail.")
    closer = MemberEmailFilter("host", help_text="The host's e-mail.")
    scheduled_from = DateTimeFilter("schedule_time", "gte")
    scheduled_to = DateTimeFilter("schedule_time", "lte")
    created_from = DateTimeFilter("created_at", "gte")
    created_to = DateTimeFilter("created_at", "lte")
    updated_from = DateTimeFilter("updated_at", "gte")
    updated_to = DateTimeFilter("updated_at", "lte")
    ordering = OrderingFilter("created_at", "updated_at", "schedule_time")

    class Meta:
        model = Appointment
        fields = ()


class OutcomeChangeFilter(RelatedListFilter):
    parent = staticmethod(APPOINTMENT)

    class Meta:
        model = OutcomeChange
        fields = ()


class NoteFilter(RelatedListFilter):
    parent = staticmethod(APPOINTMENT)

    class Meta:
        model = Note
        fields = ()


class EventTypeFilter(NamedListFilter):
    sort_key = by_name("name")

    class Meta:
        model = EventType
        fields = ()
