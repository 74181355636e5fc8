"""The leads list's parameters (decision 18)."""

from typing import Any, ClassVar

from django.db.models import QuerySet

from leads.models import Lead
from organizations.filters import CountedList, MemberEmail
from pipeline_backend.api.filters import KnownId, Line, MembersOf, MomentFrom, MomentTo
from pipeline_backend.rows import Slot
from statuses.models import Role, Status


class LeadEmail(Line):
    """The lead of an e-mail, in any letter case."""

    def filter(self, qs: QuerySet[Any], value: Slot) -> QuerySet[Any]:
        """That one, or none."""
        found: QuerySet[Any] = qs.with_email(Slot("organization"), value.typed("text"))  # type: ignore[attr-defined]  # leads only
        return found


class LeadFilter(CountedList):
    """Which leads."""

    email = LeadEmail("email", help="The lead's e-mail, in any letter case.")
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
