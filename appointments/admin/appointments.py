"""Calls: booked, moved, canceled and noted here through the same services as by the interface (decision 29)."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import RangeDateFilter

from appointments.admin.forms import AppointmentForm, BookingForm, CancellationForm, NoteForm
from appointments.models import Appointment, CallAnalysis, Note, OutcomeChange
from appointments.services import book, cancel_appointment, change_outcome, create_note, edit_appointment, reschedule
from leads.admin.custom_fields import CustomFieldsAdmin
from leads.admin.leads import LeadAdmin
from leads.models import CustomField
from optins.models import UTM_FIELDS
from organizations.actors import staff_actor
from organizations.admin.actions import apply_to_selected, confirm_selected, object_action
from organizations.admin.base import ReadOnlyInline
from organizations.permissions import Area, current_user
from pipeline_backend.db.timestamps import truncate_to_ms
from statuses.admin import HistoryInline, status_label
from statuses.models import Role

CANCELLATION_EFFECTS = "The host, setter and triager are told by mail, and webhooks are sent."


def is_cancelable(appointment: Appointment) -> bool:
    """Whether there is something to cancel."""
    return appointment.outcome is None or appointment.outcome.role != Role.CANCELED


class NoteInline(ReadOnlyInline):
    """The notes, newest first."""

    model = Note
    fields = ("created_at", "note", "actor_name")


class OutcomeChangeInline(HistoryInline):
    """How the call moved."""

    model = OutcomeChange


class CallAnalysisInline(ReadOnlyInline):
    """What the analysis platform made of the call."""

    model = CallAnalysis
    per_page = None
    fields = ("ai_generated_title", "ai_suggested_outcome", "ai_confidence_score", "ai_rationale", "link")


@admin.register(Appointment)
class AppointmentAdmin(CustomFieldsAdmin):
    """Booked sales calls."""

    area = Area.WORK
    entity = CustomField.Entity.APPOINTMENT
    form = AppointmentForm
    list_display = ("lead", "schedule_time", "event_type", "host", "outcome_label", "source", "created_at")
    select_related = ("lead", "event_type", "host__user", "outcome")
    list_filter = (
        "outcome",
        "call_category",
        "event_type",
        "host",
        "setter",
        "triager",
        "source",
        "no_show",
        ("schedule_time", RangeDateFilter),
    )
    search_fields = ("lead__email", "lead__first_name", "lead__last_name", "external_reference")
    search_help_text = "The lead's name or e-mail, or the external reference"
    autocomplete_fields = ("lead",)
    inlines = (NoteInline, OutcomeChangeInline, CallAnalysisInline)
    actions = ("cancel_selected",)
    actions_detail = ("add_note", "cancel")
    readonly_fields = (
        "lead",
        "no_show",
        "source",
        "external_reference",
        "first_source",
        "last_source",
        "created_at",
        "updated_at",
        *UTM_FIELDS,
    )
    fieldsets = (
        (
            None,
            {
                "fields": [
                    "lead",
                    "schedule_time",
                    ("outcome", "event_type", "call_category"),
                    ("meeting_url", "recording_url"),
                ]
            },
        ),
        ("People", {"fields": [("host", "setter", "triager")]}),
        (
            "Origin",
            {
                "fields": [
                    ("source", "external_reference"),
                    ("first_source", "last_source"),
                    tuple(UTM_FIELDS[:3]),
                    tuple(UTM_FIELDS[3:]),
                    ("created_at", "updated_at"),
                ]
            },
        ),
    )
    booking_fieldsets = (
        ("Lead", {"fields": [("lead", "lead_email"), ("lead_first_name", "lead_last_name", "lead_phone")]}),
        ("Call", {"fields": ["schedule_time", ("event_type", "meeting_url"), ("host", "setter", "triager"), "notes"]}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: Appointment | None = None) -> Any:
        """Booking asks for the lead and the call; a booked call shows all."""
        return super().get_fieldsets(request, obj) if obj else self.booking_fieldsets

    def get_readonly_fields(self, request: HttpRequest, obj: Appointment | None = None) -> Any:
        """What was settled by the booking."""
        return self.readonly_fields if obj else ()

    def custom_fields(self, request: HttpRequest, obj: Any) -> list[CustomField]:
        """Those of a booked call; booking asks for none."""
        return super().custom_fields(request, obj) if obj else []

    def form_class(self, obj: Any) -> Any:
        """Booking has its own form."""
        return self.form if obj else BookingForm

    def get_inlines(self, request: HttpRequest, obj: Appointment | None) -> Any:
        """A new call has no history."""
        return self.inlines if obj else ()

    @admin.display(description="Outcome", ordering="outcome__name")
    def outcome_label(self, appointment: Appointment) -> SafeString | str:
        """In the status's colors."""
        return status_label(appointment.outcome)

    def save_model(self, request: HttpRequest, obj: Appointment, form: Any, change: bool) -> None:
        """Through the services, with all their effects."""
        actor = staff_actor(current_user(request))
        if not change:
            obj.pk = book(organization=form.organization, actor=actor, external_reference=None, **form.wanted()).id
            obj.refresh_from_db()
            return
        call: dict[str, Any] = {"organization": obj.organization, "actor": actor, "appointment": obj}
        changed, facts = form.changed_data, form.changed_values()
        if facts:
            edit_appointment(**call, **facts)
        if "schedule_time" in changed:
            reschedule(**call, to=truncate_to_ms(form.cleaned_data["schedule_time"]))
        if "outcome" in changed and form.cleaned_data["outcome"]:
            change_outcome(**call, status_id=form.cleaned_data["outcome"].pk)

    @object_action("Add a note", icon="edit_note", question="Everybody who sees the call sees the note.", form=NoteForm)
    def add_note(self, request: HttpRequest, appointment: Appointment, form: Any) -> None:
        """A note, with the members it mentions."""
        mentions = list(form.cleaned_data["mentions"])
        create_note(
            organization=appointment.organization,
            actor=staff_actor(current_user(request)),
            appointment=appointment,
            text=form.cleaned_data["note"],
            mentions=mentions,
        )

    @object_action(
        "Cancel the call",
        icon="event_busy",
        question=f"Cancel this call? {CANCELLATION_EFFECTS}",
        form=CancellationForm,
        danger=True,
        when=is_cancelable,
    )
    def cancel(self, request: HttpRequest, appointment: Appointment, form: Any) -> None:
        """The call is off."""
        cancel_appointment(
            organization=appointment.organization,
            actor=staff_actor(current_user(request)),
            appointment=appointment,
            notes=form.cleaned_data["notes"],
        )

    @admin.action(description="Cancel the selected calls", permissions=["change"])
    def cancel_selected(self, request: HttpRequest, rows: Any) -> HttpResponse | None:
        """Several calls are off, once it is confirmed."""
        question = f"Cancel these calls? {CANCELLATION_EFFECTS}"
        page = confirm_selected(
            self, request, rows, name="cancel_selected", title="Cancel the calls", question=question
        )
        if page:
            return page
        actor = staff_actor(current_user(request))
        apply_to_selected(
            self,
            request,
            rows,
            lambda row: cancel_appointment(organization=row.organization, actor=actor, appointment=row),
        )
        return None


class LeadAppointmentInline(ReadOnlyInline):
    """A lead's calls, on its page."""

    model = Appointment
    fields = ("schedule_time", "event_type", "host", "outcome_label", "link")

    def get_queryset(self, request: HttpRequest) -> Any:
        """With what the columns show."""
        return super().get_queryset(request).select_related("event_type", "host__user", "outcome", "lead")

    @admin.display(description="Outcome")
    def outcome_label(self, appointment: Appointment) -> SafeString | str:
        """In the status's colors."""
        return status_label(appointment.outcome)


LeadAdmin.inlines = (LeadAppointmentInline, *LeadAdmin.inlines)
