"""The leads list's parameters (decision 18)."""

from typing import ClassVar

from leads.models import Lead
from organizations.filters import CountedList, MemberEmail
from pipeline_backend.api.filters import KnownId, MembersOf, MomentFrom, MomentTo, SameText
from statuses.models import Role, Status


class LeadFilter(CountedList):
    """Which leads."""

    email = SameText("email", help="The lead's e-mail, in any letter case.")
    status_id = KnownId("status", Status, help="A status of the organization.")
    status_role = MembersOf("status", Status, "role", Role)
    setter = MemberEmail("setter", help="Setter's e-mail.")
    created_from = MomentFrom("created_at")
    created_to = MomentTo("created_at")
    updated_from = MomentFrom("updated_at")
    updated_to = MomentTo("updated_at")

    class Meta:
        model = Lead
        fields: ClassVar[list[str]] = []
