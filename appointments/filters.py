"""Query parameters of the appointments list (docs/interface.md, A25)."""

from appointments.models import Appointment, CallCategory
from foundation.api.filters import ChoiceFilter, DateTimeFilter, OrderingFilter
from leads.filters import LeadIdFilter
from organizations.filters import CountedListFilter, MemberEmailFilter
from statuses.models import StatusRole


class AppointmentFilter(CountedListFilter):
    lead_id = LeadIdFilter()
    call_category = ChoiceFilter("call_category", CallCategory)
    outcome_role = ChoiceFilter("outcome__role", StatusRole)
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
