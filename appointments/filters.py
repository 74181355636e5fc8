"""The appointments list's parameters (interface 4.3)."""

from typing import ClassVar

from appointments.models import Appointment, CallCategory
from leads.models import Lead
from organizations.filters import CountedList, MemberEmail
from pipeline_backend.api.filters import KnownId, Members, MembersOf, MomentFrom, MomentTo
from statuses.models import Role, Status


class AppointmentFilter(CountedList):
    """Which appointments."""

    orderings: ClassVar[list[str]] = ["created_at", "updated_at", "schedule_time"]

    lead_id = KnownId("lead", Lead, help="A lead of the organization.")
    call_category = Members("call_category", CallCategory)
    outcome_role = MembersOf("outcome", Status, "role", Role)
    setter = MemberEmail("setter", help="Setter's e-mail.")
    triager = MemberEmail("triager", help="Triager's e-mail.")
    closer = MemberEmail("host", help="Host's e-mail.")
    scheduled_from = MomentFrom("schedule_time")
    scheduled_to = MomentTo("schedule_time")
    created_from = MomentFrom("created_at")
    created_to = MomentTo("created_at")
    updated_from = MomentFrom("updated_at")
    updated_to = MomentTo("updated_at")

    class Meta:
        model = Appointment
        fields: ClassVar[list[str]] = []
