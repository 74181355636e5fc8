"""The opt-ins list's parameters (interface 4.6)."""

from typing import ClassVar

from leads.models import Lead
from optins.models import OptIn, OptInSource
from organizations.filters import CountedList
from pipeline_backend.api.filters import KnownId, Members, MomentFrom, MomentTo


class OptInFilter(CountedList):
    """Which opt-ins."""

    orderings: ClassVar[list[str]] = ["created_at"]

    source = Members("source", OptInSource, single=True, help="An opt-in source.")
    lead_id = KnownId("lead", Lead, help="A lead of the organization.")
    created_from = MomentFrom("created_at")
    created_to = MomentTo("created_at")

    class Meta:
        model = OptIn
        fields: ClassVar[list[str]] = []
