"""Admin pages of event types and call analyses."""

from django import forms
from django.contrib import admin
from django.db.models import Q

from appointments.conditions import is_open_to
from appointments.models import Appointment, CallAnalysis, EventType
from appointments.services import delete_event_type, save_analysis, save_event_type
from organizations.permissions import Area
from staff.toolkit.newest_search import HELP, NewestSearchAdmin
from staff.toolkit.tenant import TenantAdmin, TenantForm


class EventTypeForm(TenantForm):
    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        others = EventType.objects.of(self.organization).exclude(pk=self.instance.pk)
        if others.with_name(name).exists():
            raise forms.ValidationError("Another event type has this name.")
        return name


@admin.register(EventType)
class EventTypeAdmin(TenantAdmin):
    empty_text = "Add the kinds of calls that people book. A booking with another name adds its event type."
    area = Area.SETUP
    can_delete = True
    save_service = staticmethod(save_event_type)
    delete_service = staticmethod(delete_event_type)
    service_argument = "event_type"
    form = EventTypeForm
    list_display = ("name", "call_category", "provider", "owner_name", "created_at")
    list_filter = ("call_category", "provider")
    search_fields = ("name",)
    fields = ("name", ("call_category", "duration_minutes", "reminder_hours"), ("provider", "owner_name"))


class CallAnalysisForm(TenantForm):
    def clean_appointment(self) -> Appointment:
        appointment: Appointment = self.cleaned_data["appointment"]
        if not self.page.admin_site.get_model_admin(Appointment).has_write_permission(self.request, appointment):
            raise forms.ValidationError("This is a colleague's appointment, which you may not change.")
        return appointment


@admin.register(CallAnalysis)
class CallAnalysisAdmin(NewestSearchAdmin):
    empty_text = "Your call recorder adds them through the API. Create a key under API keys."
    area = Area.WORK
    form = CallAnalysisForm
    own_rows = staticmethod(lambda members: Q(appointment__in=Appointment.unscoped.filter(is_open_to(members))))
    save_service = staticmethod(save_analysis)
    service_argument = "analysis"
    list_display = ("ai_generated_title", "appointment", "ai_suggested_outcome", "ai_confidence_score", "created_at")
    select_related = ("appointment__lead",)
    ordering = ("-id",)
    search_fields = ("ai_generated_title", "call_analysis_call_id", "appointment__lead__email")
    search_help_text = f"Search by title, the call's ID or the lead's e-mail. {HELP}"
    autocomplete_fields = readonly_fields = ("appointment",)
    fields = (
        "appointment",
        "call_analysis_call_id",
        "ai_generated_title",
        ("ai_suggested_outcome", "ai_confidence_score"),
        "ai_rationale",
    )
