"""Query parameters of the lists of leads, their status changes, sources and custom fields.

docs/interface.md, L17, L26, L27 and L40.
"""

from uuid import UUID

from django.db.models import QuerySet

from foundation.api import filters
from foundation.api.sql_serializers import Tenant
from foundation.api.unfiltered import NamedListFilter, RelatedListFilter
from foundation.db.names import by_name
from leads.models import CustomField, DeletedLeadNote, Lead, LeadMerge, LeadNote, LeadQuerySet, LeadStatusChange, Source
from leads.phones import parse_phone
from leads.services import find_merged
from organizations.filters import CountedListFilter, MemberEmailFilter
from statuses.models import Status, StatusRole
from webhooks.filters import SubjectFilter


class LeadIdFilter(filters.RelatedIdFilter):
    def __init__(self, help_text: str = "A lead of the organization.") -> None:
        super().__init__("lead", Lead, help_text=help_text)

    def known_id(self, organization: Tenant, id: UUID) -> UUID | None:
        return super().known_id(organization, id) or find_merged(organization=organization, lead_id=id)


LEAD_EVENTS = SubjectFilter(
    "lead_id",
    LeadIdFilter("A lead: events about it, its opt-ins, its appointments, their notes, and leads merged into it."),
)
LEAD_EVENTS.add(Lead, "pk")
LEAD_EVENTS.add(LeadNote, "lead")
LEAD_EVENTS.add(DeletedLeadNote, "lead")
LEAD_EVENTS.add(LeadMerge, "lead", column="previous_id")


class PhoneFilter(filters.QueryFilter):
    """Leads with this phone number in any spelling. Without + it is one of the organization's default country."""

    has_index = False

    def __init__(self) -> None:
        help_text = "The lead's phone number in any spelling; without +, one of the organization's default country."
        # Not stripped: the + of a number arrives as a space from clients that don't encode it.
        super().__init__("phone_e164", help_text=help_text, strip=False)

    def parse(self, text: str) -> str:
        country = self.parent.organization.default_country
        texts = [f"+{text.strip()}", text] if text.startswith(" ") else [text]
        phones = [phone for phone in (parse_phone(each, country) for each in texts) if phone]
        if not phones:
            raise ValueError("must be a phone number, such as +442079460000")
        return phones[0].e164


class LeadReferenceFilter(filters.ReferenceFilter):
    """The lead with this `external_reference`, compared exactly."""

    def filter(self, qs: QuerySet, value: str) -> QuerySet:
        return qs.filter(external_reference=value)


class LeadFilter(CountedListFilter):
    model = Lead
    id = filters.IdListFilter()
    external_reference = LeadReferenceFilter()
    email = filters.QueryFilter("email", method="filter_email", help_text="The lead's e-mail, case-insensitive.")
    phone = PhoneFilter()
    status_id = filters.RelatedIdFilter("status", Status, help_text="A status of the organization.")
    status_role = filters.ChoiceFilter("status__role", StatusRole)
    setter = MemberEmailFilter("setter", help_text="The setter's e-mail.")
    created_from = filters.DateTimeFilter("created_at", "gte")
    created_to = filters.DateTimeFilter("created_at", "lte")
    updated_from = filters.DateTimeFilter("updated_at", "gte")
    updated_to = filters.DateTimeFilter("updated_at", "lte")
    ordering = filters.OrderingFilter("created_at", "updated_at")

    def filter_email(self, leads: LeadQuerySet, name: str, email: str) -> LeadQuerySet:
        # A + that was not encoded arrives as a space, which no e-mail has.
        return leads.with_email(self.organization.pk, email.replace(" ", "+"))


class LeadStatusChangeFilter(RelatedListFilter):
    model = LeadStatusChange
    parent = LeadIdFilter


class LeadNoteFilter(RelatedListFilter):
    model = LeadNote
    parent = LeadIdFilter


class SourceFilter(NamedListFilter):
    model = Source
    # Every `utm_source` is a source, so there can be very many: this column has an index.
    sort_key = "name_key"
    has_nulls = True


class CustomFieldFilter(NamedListFilter):
    model = CustomField
    sort_key = by_name("label")
