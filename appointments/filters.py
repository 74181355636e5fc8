"""Query parameters of the appointments list (docs/interface.md, A25)."""

from typing import ClassVar

from appointments.models import Appointment, CallCategory
from leads.models import Lead
from organizations.filters import CountedListFilter, MemberEmailFilter
from pipeline_backend.api.filters import (
    ChoiceFilter,
    DateTimeFromFilter,
    DateTimeToFilter,
    RelatedChoiceFilter,
    RelatedIdFilter,
)
from statuses.models import Status, StatusRole


class AppointmentFilter(CountedListFilter):
    """The filters of the appointments list."""

    orderings: ClassVar[list[str]] = ["created_at", "updated_at", "schedule_time"]

    lead_id = RelatedIdFilter("lead", Lead, help_text="A lead of the organization.")
    call_category = ChoiceFilter("call_category", CallCategory)
    outcome_role = RelatedChoiceFilter("outcome", Status, "role", StatusRole)
    setter = MemberEmailFilter("setter", help_text="The setter's e-mail.")
    triager = MemberEmailFilter("triager", help_text="The triager's e-mail.")
    closer = MemberEmailFilter("host", help_text="The host's e-mail.")
    scheduled_from = DateTimeFromFilter("schedule_time")
    scheduled_to = DateTimeToFilter("schedule_time")
    created_from = DateTimeFromFilter("created_at")
    created_to = DateTimeToFilter("created_at")
    updated_from = DateTimeFromFilter("updated_at")
    updated_to = DateTimeToFilter("updated_at")

    class Meta:
        model = Appointment
        fields: ClassVar[list[str]] = []
