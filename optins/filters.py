"""Query parameters of the opt-ins list (docs/interface.md, O12)."""

from foundation.api.filters import ChoiceFilter, DateTimeFilter, IdListFilter, OrderingFilter, ReferenceFilter
from leads.filters import LEAD_EVENTS, LeadIdFilter
from optins.models import OptIn, OptInSource
from organizations.filters import CountedListFilter

LEAD_EVENTS.add(OptIn, "lead")


class OptInFilter(CountedListFilter):
    model = OptIn
    id = IdListFilter()
    external_reference = ReferenceFilter()
    source = ChoiceFilter("source", OptInSource, single=True, help_text="An opt-in source.")
    lead_id = LeadIdFilter()
    created_from = DateTimeFilter("created_at", "gte")
    created_to = DateTimeFilter("created_at", "lte")
    ordering = OrderingFilter("created_at")
