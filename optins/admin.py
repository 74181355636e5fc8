"""Admin pages of opt-ins. They are read-only: opt-ins are created by the API alone."""

from django.contrib import admin

from leads.admin.leads import LeadAdmin
from optins.models import TRAFFIC_FIELDS, OptIn, QuestionAnswer
from organizations.admin.base import ReadOnlyInline
from organizations.admin.filters import DayRangeFilter
from organizations.admin.tenant import TenantAdmin
from organizations.permissions import Area


class QuestionAnswerInline(ReadOnlyInline):
    """The questions and answers of an opt-in."""

    model = QuestionAnswer
    verbose_name_plural = "Answers"
    fields = ("position", "question", "answer")
    ordering = ("position",)


@admin.register(OptIn)
class OptInAdmin(TenantAdmin):
    """Opt-ins, with their answers."""

    area = Area.RECORDS
    can_add = can_change = False
    list_display = ("lead", "source", "provider_form_name", "utm_source", "utm_campaign", "created_at")
    select_related = ("lead",)
    list_filter = ("source", ("created_at", DayRangeFilter))
    search_fields = ("lead__email", "lead__first_name", "lead__last_name", "external_reference", "provider_form_name")
    search_help_text = "Search by lead name, lead e-mail, external reference or form"
    inlines = (QuestionAnswerInline,)
    fieldsets = (
        (
            None,
            {
                "fields": [
                    "lead",
                    ("source", "created_at"),
                    ("provider_form_name", "provider_form_id"),
                    "external_reference",
                ]
            },
        ),
        ("Traffic", {"fields": [tuple(TRAFFIC_FIELDS[:3]), tuple(TRAFFIC_FIELDS[3:5]), "referrer", "landing_page"]}),
    )


class LeadOptInInline(ReadOnlyInline):
    """The opt-ins on a lead's page."""

    model = OptIn
    fields = ("source", "provider_form_name", "utm_source", "utm_campaign", "created_at", "link")


LeadAdmin.register_inline(LeadOptInInline)
