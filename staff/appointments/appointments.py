"""Admin pages of appointments, using the same services as the API, with the same effects (docs/interface.md, A27)."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.http import HttpRequest
from django.urls import URLPattern, path
from django.utils.safestring import SafeString

from appointments import conditions
from appointments.lead_notifications import find_message, mails_to_lead, reason_for_no_mail
from appointments.models import Appointment, AppointmentSource, CallCategory
from appointments.services import book, edit_appointment
from appointments.services.changes import set_values
from appointments.services.previews import preview
from foundation.api.fields import parse_timestamp
from foundation.db.timestamps import truncate_to_ms
from leads.imports.models import ImportKind
from leads.models import CustomField, Lead
from notifications.models import Kind
from optins.models import UTM_FIELDS
from organizations.models import CAN_BE_ASSIGNED, MemberRole, Membership, Organization
from organizations.permissions import Area, current_user
from staff.appointments import record, record_page, selected
from staff.appointments.forms import AppointmentForm, BookingForm
from staff.appointments.record_forms import describe, describe_lead
from staff.appointments.timeline import APPOINTMENT_SOURCES, pinned_notes
from staff.appointments.times import show_times
from staff.boards.layouts import AppointmentBoard
from staff.calendar.calendar import Calendar
from staff.configuration.statuses import status_column, status_label
from staff.imports import ImportButton
from staff.leads.lists import contact, find_by_lead
from staff.leads.source_labels import SourceNameFilter, source_column, source_label, source_name_column, source_of
from staff.optins import answers_card
from staff.selections import (
    APPOINTMENT_VIEWS,
    AppointmentWorkFilter,
    MyAppointmentsFilter,
    OutcomeSinceFilter,
    ResultFilter,
)
from staff.toolkit.actions import actor_of, row_url
from staff.toolkit.base import Fieldsets
from staff.toolkit.custom_fields import CustomFieldsExport
from staff.toolkit.export import Column, labels, member_columns, yes_or_no
from staff.toolkit.filters import named
from staff.toolkit.lists import DayRangeFilter, column, time_column, to_uuid
from staff.toolkit.record import Fact, RecordAdmin
from staff.toolkit.views import TABLE


def last_choices(organization: Organization, lead_id: UUID) -> dict[str, object]:
    """Return the host and the event type of the lead's last appointment; of the organization's only the latter."""
    rows = Appointment.objects.of(organization).exclude(event_type=None)
    last = rows.filter(lead=lead_id).order_by("-schedule_time").first()
    if last:
        return {"host": last.host_id, "event_type": last.event_type_id}
    newest = rows.order_by("-created_at", "-id").first()
    return {"event_type": newest.event_type_id} if newest else {}


@admin.register(Appointment)
class AppointmentAdmin(RecordAdmin):
    empty_text = "Add one, or let your website or scheduler book them: create an API key under API keys."
    area = Area.WORK
    own_rows = staticmethod(conditions.is_open_to)
    entity = CustomField.Entity.APPOINTMENT
    form = AppointmentForm
    add_form = BookingForm
    list_display = ("lead_contact", "time", "event_type", "host", "setter", status_column("outcome", "Outcome"))
    more_columns = ("triager", "last_source", "booked_with", "call_category", "no_show", "lead_status", "created")
    related_of_columns = {"triager": "triager__user", "last_source": "last_source", "lead_status": "lead__status"}
    lead_status = column("Lead's status", lambda row: status_label(row.lead.status), ordering="lead__status")
    booked_with = column("Booked with", source_of, ordering="source")
    column_values = {"source_label": source_label()}
    created = time_column("created_at", "Booked")
    lead_contact = column(
        "Lead", lambda appointment: contact(appointment.lead, row_url(appointment)), ordering="lead__first_name"
    )
    list_display_links = None  # the contact has them: to the appointment, and to the lead's phone
    time = time_column("schedule_time", "Time")
    select_related = ("lead", "event_type", "host__user", "setter__user", "outcome")
    list_filter = (
        AppointmentWorkFilter,
        MyAppointmentsFilter,
        ResultFilter,
        *(
            "outcome",
            OutcomeSinceFilter,
            "call_category",
            "event_type",
            "host",
            "setter",
            "triager",
            "last_source",
            ("source", named("booked with", SourceNameFilter)),
            "no_show",
        ),
        ("schedule_time", DayRangeFilter),
        ("created_at", DayRangeFilter),
    )
    views = APPOINTMENT_VIEWS
    layouts = (TABLE, AppointmentBoard(), Calendar())
    lookups_of_links = ("lead__id__exact", "utm_campaign__exact", "utm_campaign__isnull")  # the latter: reports
    find_rows = staticmethod(find_by_lead)
    search_fields = ("lead__email", "lead__first_name", "lead__last_name", "external_reference")
    search_help_text = "Search by name, e-mail, phone or reference"
    buttons = (
        ImportButton(ImportKind.APPOINTMENTS),
        CustomFieldsExport(
            Column("Time", "schedule_time", is_time=True),
            Column("Lead e-mail", "lead__email"),
            Column("Lead first name", "lead__first_name"),
            Column("Lead last name", "lead__last_name"),
            Column("Lead phone", "lead__phone_e164"),
            Column("Event type", "event_type__name"),
            Column("Call category", "call_category", labels(CallCategory.choices)),
            Column("Outcome", "outcome__name"),
            Column("No-show", "no_show", yes_or_no),
            *member_columns("host", "Host"),
            *member_columns("setter", "Setter"),
            *member_columns("triager", "Triager"),
            Column("Meeting link", "meeting_url"),
            Column("Recording link", "recording_url"),
            Column("Reference", "external_reference"),
            source_name_column("Booked with", AppointmentSource.choices),
            source_column("First source", "first_source"),
            source_column("Last source", "last_source"),
            *(Column(name.replace("utm_", "UTM "), name) for name in UTM_FIELDS),
            Column("Created", "created_at", is_time=True),
            Column("Updated", "updated_at", is_time=True),
            Column("ID", "id"),
        ),
    )
    autocomplete_fields = ("lead",)
    actions = (
        selected.set_outcome_selected,
        selected.set_member_selected("setter"),
        selected.set_member_selected("host"),
        selected.cancel_selected,
    )
    origin = ("booked_with", "external_reference", "first_source", "last_source", "created_at", "updated_at")
    readonly_fields = ("lead", "no_show", *origin, *UTM_FIELDS)
    participants = [("host", "setter", "triager"), "book_anyway"]
    call = ["lead", "schedule_time", ("outcome", "event_type", "call_category"), ("meeting_url", "recording_url")]
    fieldsets = (
        (None, {"fields": call}),
        ("Participants", {"fields": participants}),
        ("Origin", {"fields": [origin[:2], origin[2:4], tuple(UTM_FIELDS[:3]), tuple(UTM_FIELDS[3:]), origin[4:]]}),
    )
    add_fieldsets = (
        ("Lead", {"fields": [("lead", "lead_email"), ("lead_first_name", "lead_last_name", "lead_phone")]}),
        ("Appointment", {"fields": ["schedule_time", ("event_type", "meeting_url"), *participants, "notes"]}),
    )

    # The page, from top to bottom.
    status_button = staticmethod(record.set_outcome)
    notice_buttons = (record.undo_outcome,)  # in the message that follows an outcome
    links = (record_page.join_link, record_page.follow_up_link)
    main_buttons = {
        record.accept_suggestion: "",
        record.reschedule: "r",
        record.set_won: "",
        record.set_lost: "",
        record.set_no_show: "",
        record.set_follow_up: "",
        record.add_note: "n",
    }
    more_buttons = (record.cancel,)
    sources = APPOINTMENT_SOURCES
    pinned = (pinned_notes,)
    cards = (record_page.lead_card, answers_card, record_page.day_card, record_page.analysis_card)

    def record_title(self, row: Appointment) -> str:
        return str(row.lead)

    def record_badge(self, row: Appointment) -> SafeString | str:
        return status_label(row.outcome) if row.outcome else "No outcome"

    def record_facts(self, row: Appointment) -> Sequence[Fact]:
        return record_page.facts(row)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        """Return the fieldsets; those of a new appointment of a lead in the address don't ask who it is."""
        fieldsets = super().get_fieldsets(request, obj)
        has_lead = obj is None and to_uuid(request.GET.get("lead", "")).int
        return [("Lead", {"fields": ["lead"]}), *fieldsets[1:]] if has_lead else fieldsets

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(partial(show_times, page=self))
        return [path("times/", view, name="appointments_appointment_times"), *super().get_urls()]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, object]:
        """Return the values in the address of the booking form, such as those of a free time in the calendar."""
        values: dict[str, object] = self.own_part(request) | super().get_changeform_initial_data(request)
        text = values.pop("schedule_time", "")
        with suppress(ValueError):
            values["schedule_time"] = parse_timestamp(str(text))
        return values

    def own_part(self, request: HttpRequest) -> dict[str, object]:
        """Return what a new appointment begins with: `last_choices`, and the user's own part.

        A closer is the host, a setter the setter of a lead without one.
        """
        organization = self.chosen_organization(request)
        if organization is None:
            return {}
        lead_id = to_uuid(request.GET.get("lead", ""))
        own = Membership.objects.of(organization).filter(CAN_BE_ASSIGNED, user=current_user(request)).first()
        values = last_choices(organization, lead_id)
        if own and own.role == MemberRole.CLOSER:
            return {**values, "host": own.pk}
        has_setter = Lead.objects.of(organization).filter(pk=lead_id, setter__isnull=False)
        is_setter = own and own.role == MemberRole.SETTER and not has_setter.exists()
        return {**values, "setter": own.pk} if own and is_setter else values

    def save_model(
        self, request: HttpRequest, obj: Appointment, form: BookingForm | AppointmentForm, change: bool
    ) -> None:
        actor = actor_of(request)
        if isinstance(form, BookingForm):
            book(organization=form.organization, actor=actor, **form.booking_data())
            obj.refresh_from_db()
            limited = None if mails_to_lead(obj).exists() else obj.lead
            reason = reason_for_no_mail(obj.organization_id, limited)
            messages.info(request, describe_lead(find_message(Kind.CALL_BOOKED, obj), obj.lead, reason))
            return
        values = form.changed_values()
        if "schedule_time" in form.changed_data:
            values["schedule_time"] = truncate_to_ms(form.cleaned_data["schedule_time"])
        if "outcome" in form.changed_data and form.cleaned_data["outcome"]:
            values["status_id"] = form.cleaned_data["outcome"].pk
        before = Appointment.objects.of(obj.organization).get(pk=obj.pk)
        audience = preview(before, partial(set_values, **values))
        edit_appointment(organization=obj.organization, actor=actor, appointment=obj, **values)
        if audience.members or audience.slack or audience.lead_message:
            messages.info(request, describe(audience, before))
