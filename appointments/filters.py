"""Query parameters of the appointments list (docs/interface.md, A25)."""

from appointments.models import Appointment, CallCategory
from leads.models import Lead
from organizations.filters import CountedListFilter, MemberEmailFilter
from pipeline_backend.api.filters import (
    ChoiceFilter,
    DateTimeFromFilter,
    DateTimeToFilter,
    OrderingFilter,
    RelatedIdFilter,
)
from statuses.models import StatusRole


class AppointmentFilter(CountedListFilter):
    """The filters of the appointments list."""

    lead_id = RelatedIdFilter("lead", Lead, help_text="A lead of the organization.")
    call_category = ChoiceFilter("call_category", CallCategory)
    outcome_role = ChoiceFilter("outcome__role", StatusRole)
    setter = MemberEmailFilter("setter", help_text="The setter's e-mail.")
    triager = MemberEmailFilter("triager", help_text="The triager's e-mail.")
    closer = MemberEmailFilter("host", help_text="The host's e-mail.")
    scheduled_from = DateTimeFromFilter("schedule_time")
    scheduled_to = DateTimeToFilter("schedule_time")
    created_from = DateTimeFromFilter("created_at")
    created_to = DateTimeToFilter("created_at")
    updated_from = DateTimeFromFilter("updated_at")
    updated_to = DateTimeToFilter("updated_at")
    ordering = OrderingFilter("created_at", "updated_at", "schedule_time")

    class Meta:
        model = Appointment
        fields = ()
