"""The list and the page of leads. All writes go through `leads.services`."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.safestring import SafeString

from appointments import conditions
from leads.imports.models import ImportKind
from leads.models import CustomField, Lead, LeadChange, TouchPointType
from leads.services import add_lead, change_status, edit_lead
from organizations.permissions import PERMISSIONS, Area, has_role
from staff.appointments.lead_page import appointments_card, booking_link
from staff.appointments.timeline import APPOINTMENT_SOURCES, pinned_notes
from staff.boards.layouts import LeadBoard
from staff.configuration.statuses import status_column, status_label
from staff.imports import ImportButton
from staff.leads import facts, next_steps, record
from staff.leads.calls import call_notice, calls, log_call
from staff.leads.duplicates import duplicates_card, lead_urls, merged_into, redirect_to_kept
from staff.leads.lead_form import LeadForm
from staff.leads.lists import calls_of, contact, describe_calls, find_by_lead, next_step, phone, setter
from staff.leads.privacy import erase, erasure_notice, export_json
from staff.leads.source_labels import source_column
from staff.optins import opt_ins
from staff.selections import (
    LEAD_VIEWS,
    LeadWorkFilter,
    LeftStatusFilter,
    MyLeadsFilter,
    PhoneFilter,
    StatusSinceFilter,
)
from staff.toolkit.actions import actor_of, row_url
from staff.toolkit.base import Fieldsets
from staff.toolkit.bulk import Undo, members, selected_action
from staff.toolkit.custom_fields import CustomFieldsExport
from staff.toolkit.export import Column, labels, member_columns
from staff.toolkit.filters import named
from staff.toolkit.lists import DayRangeFilter, column, time_column
from staff.toolkit.record import Fact, RecordAdmin
from staff.toolkit.timeline import TimelineEntry, TimelineSource, change_entry, full_time
from staff.toolkit.views import TABLE
from statuses.models import Board, Status


def leads_in_words(count: int) -> str:
    return "1 lead" if count == 1 else f"{count} leads"


set_status_selected = selected_action(
    "set_status_selected",
    "Set the status of the selected leads",
    lambda request, lead, status: change_status(
        organization=lead.organization, actor=actor_of(request), lead_id=lead.pk, status_id=status.pk
    ),
    title="Set the status",
    question="Which status should these leads get?",
    choices=lambda organization: Status.objects.of(organization).choices(Board.LEAD, current=None),
    label="Status",
    done=lambda count, status: f"{leads_in_words(count)} moved to {status}.",
    undo=Undo(facts.status_values, facts.restore_status, has_changed=lambda present, after: present[0] != after[0]),
)
set_setter_selected = selected_action(
    "set_setter_selected",
    "Assign the selected leads",
    lambda request, lead, member, hand_over_steps: edit_lead(
        organization=lead.organization,
        actor=actor_of(request),
        lead=lead,
        setter=member,
        hand_over_steps=hand_over_steps,
    ),
    title="Assign",
    question="Who should follow these leads as their setter?",
    choices=members,
    label="Setter",
    also=lambda: {"hand_over_steps": next_steps.HandOverField()},
    done=lambda count, member: f"{leads_in_words(count)} now {'belongs' if count == 1 else 'belong'} to {member}.",
    undo=Undo(facts.setter_and_steps, facts.restore_setter, gives_away=True),
)


@admin.register(Lead)
class LeadAdmin(RecordAdmin):
    empty_text = "Add a lead here, or create an API key so that your forms and schedulers can send leads."
    area = Area.WORK
    own_rows = staticmethod(conditions.may_be_followed_by)
    entity = CustomField.Entity.LEAD
    form = LeadForm
    list_display_links = None  # the contact has them: to the lead, and to its phone
    column_values = calls_of("pk")
    list_display = ("lead_contact", status_column("status", "Status"), setter, next_step, "changed", "last_source")
    more_columns = ("email", phone, "first_source", "next_touch_point", "created")
    related_of_columns = {"first_source": "first_source"}
    next_touch_point = time_column("next_touch_point_at", "Next step date")
    created = time_column("created_at", "Created")
    lead_contact = column(
        "Lead", lambda lead: contact(lead, row_url(lead), describe_calls(lead)), ordering="first_name"
    )
    changed = time_column("updated_at", "Last change")
    select_related = ("status", "setter__user", "last_source")
    views = LEAD_VIEWS
    layouts = (TABLE, LeadBoard())
    list_filter = (
        LeadWorkFilter,
        MyLeadsFilter,
        LeftStatusFilter,
        "status",
        StatusSinceFilter,
        "setter",
        "first_source",
        "last_source",
        ("next_touch_point_type", named("next step or appointment")),
        ("next_step_type", named("next step")),
        PhoneFilter,
        ("created_at", DayRangeFilter),
    )
    ordering = ("-updated_at", "-id")
    find_rows = staticmethod(find_by_lead)
    search_fields = ("email", "first_name", "last_name", "phone_e164")
    search_help_text = "Search by name, e-mail or phone"
    actions = (set_status_selected, set_setter_selected)
    buttons = (
        ImportButton(ImportKind.LEADS),
        CustomFieldsExport(
            Column("E-mail", "email"),
            Column("First name", "first_name"),
            Column("Last name", "last_name"),
            Column("Phone", "phone_e164"),
            Column("Status", "status__name"),
            *member_columns("setter", "Setter"),
            source_column("First source", "first_source"),
            source_column("Last source", "last_source"),
            Column("Next step", "next_touch_point_type", labels(TouchPointType.choices)),
            Column("Next step date", "next_touch_point_at", is_time=True),
            Column("Created", "created_at", is_time=True),
            Column("Updated", "updated_at", is_time=True),
            Column("ID", "id"),
        ),
    )
    readonly_fields = ("first_source", "last_source", "created_at", "updated_at")
    add_fieldsets = (
        (None, {"fields": [("email", "phone_e164"), ("first_name", "last_name")]}),
        ("Pipeline", {"fields": [("status", "setter"), ("next_touch_point_type", "next_touch_point_at")]}),
    )
    fieldsets = (
        *add_fieldsets,
        ("Origin", {"fields": [("first_source", "last_source"), ("created_at", "updated_at")]}),
    )

    # The page, from top to bottom.
    status_button = staticmethod(record.set_status)
    fact_buttons: ClassVar = {"Phone": facts.set_phone, "Setter": facts.set_setter}
    notices = (next_steps.next_step_notice, erasure_notice, call_notice)
    notice_buttons = (next_steps.finish_next_step, next_steps.change_next_step, log_call)
    links = (booking_link,)
    main_buttons = {record.add_note: "n", next_steps.set_next_step: "c"}
    more_buttons = (export_json, erase)
    sources = (
        TimelineSource("notes", "Notes", record.notes),
        TimelineSource("calls", "Calls", calls),
        TimelineSource("statuses", "Status", record.status_changes),
        TimelineSource("steps", "Next steps", next_steps.steps_set),
        TimelineSource("steps", "Next steps", next_steps.steps_done),
        TimelineSource("changes", "Changes", record.changes),
        TimelineSource("opt_ins", "Opt-ins", opt_ins),
        *APPOINTMENT_SOURCES,
    )
    pinned = (pinned_notes,)
    cards = (appointments_card, record.facts_card, duplicates_card)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        first, (title, pipeline), *others = super().get_fieldsets(request, obj)
        if obj is not None and obj.next_step_at and self.has_change_permission(request, obj):
            pipeline = {**pipeline, "fields": [*pipeline["fields"], "hand_over_steps"]}
        return [first, (title, pipeline), *others]

    def record_badge(self, row: Lead) -> SafeString | str:
        return status_label(row.status)

    def record_facts(self, row: Lead) -> Sequence[Fact]:
        phone = row.phone_e164
        return [
            Fact("E-mail", row.email, f"mailto:{row.email}", can_copy=True),
            Fact("Phone", phone, f"tel:{phone}", can_copy=True) if phone else Fact("Phone", "–"),
            Fact("Setter", str(row.setter or "Unassigned")),
            Fact("Source", str(row.last_source)),
            *([Fact("E-mails", f"Unsubscribed on {full_time(row.unsubscribed_at)}")] if row.unsubscribed_at else []),
        ]

    def change_entries(self, row: Lead, changes: list[LeadChange]) -> list[TimelineEntry]:
        emails = record.merged_emails(row, changes)
        return [
            change_entry(change, Lead, text=record.merge_text(change, emails), without=("previous_ids",))
            for change in changes
        ]

    def has_full_export_permission(self, request: HttpRequest, obj: Lead) -> bool:
        return has_role(request, PERMISSIONS[Area.PRIVACY].view, obj.organization_id)

    def has_erase_permission(self, request: HttpRequest, obj: Lead) -> bool:
        return has_role(request, PERMISSIONS[Area.PRIVACY].write, obj.organization_id)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list, whose rows say in its own page whether the user may change them."""
        cl = super().get_changelist_instance(request)
        is_list = request.resolver_match and request.resolver_match.url_name == self.list_name  # or an export
        if is_list:
            writable = self.writable_ids(request, [lead.pk for lead in cl.result_list])
            for lead in cl.result_list:
                lead.may_change = lead.pk in writable
        return cl

    @staticmethod
    def choice_label(lead: Lead) -> str:
        """Return the label in autocompletion, with the e-mail to tell leads of the same name apart."""
        return f"{lead} ({lead.email})" if str(lead) != lead.email else lead.email

    def get_urls(self) -> list[URLPattern]:
        return [*lead_urls(self), *super().get_urls()]

    def merged_into(self, request: HttpRequest, object_id: str) -> Lead | None:
        return merged_into(self, request, object_id)

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        redirect = redirect_to_kept(self, request, object_id)
        response: HttpResponse = redirect or super()._get_obj_does_not_exist_redirect(request, opts, object_id)
        return response

    def save_model(self, request: HttpRequest, obj: Lead, form: LeadForm, change: bool) -> None:
        actor = actor_of(request)
        if not change:
            values = {name: value for name, value in form.changed_values().items() if value is not None}
            add_lead(organization=form.organization, actor=actor, id=obj.pk, **values)
            return
        hand_over = form.cleaned_data.get("hand_over_steps", False)
        values = form.changed_values()
        edit_lead(organization=obj.organization, actor=actor, lead=obj, hand_over_steps=hand_over, **values)
