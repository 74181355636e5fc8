"""Admin pages of appointments, using the same services as the API, with the same effects (docs/interface.md, A27)."""

from datetime import datetime

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from appointments import conditions
from appointments.models import Appointment, AppointmentSource, CallCategory
from appointments.services import book, cancel_appointment, change_outcome, edit_appointment
from foundation.db.timestamps import truncate_to_ms
from leads.imports.models import ImportKind
from leads.models import CustomField, Lead
from optins.models import UTM_FIELDS
from organizations.actors import staff_actor
from organizations.isolation.tenancy import TenantModel
from organizations.models import CAN_BE_NAMED, MemberRole, Membership
from organizations.permissions import Area, current_user
from staff.appointments.forms import AppointmentForm, BookingForm
from staff.appointments.record_page import AppointmentRecordAdmin
from staff.appointments.schedule import render_other_appointments
from staff.boards.appointments import AppointmentBoard
from staff.boards.moves import to_uuid
from staff.calendar.calendar import Calendar
from staff.configuration.custom_fields import CustomFieldsExport
from staff.configuration.statuses import status_column
from staff.imports import ImportButton
from staff.leads.columns import contact
from staff.leads.search import find_by_lead
from staff.selections import APPOINTMENT_VIEWS, AppointmentWorkFilter, MyAppointmentsFilter, ResultFilter
from staff.toolkit.actions import change_selected
from staff.toolkit.base import computed_once
from staff.toolkit.bulk import members, set_for_selected
from staff.toolkit.columns import when
from staff.toolkit.export import Column, labels, member_columns, yes_or_no
from staff.toolkit.filters import DayRangeFilter
from staff.toolkit.forms import YEARS
from staff.toolkit.views import TABLE
from statuses.models import Board, Status

NEW_MEMBER_EFFECTS = (
    "For appointments that are still to come, they get an invitation by e-mail, the member before them a cancellation, "
    "and the others an update. Webhooks are sent."
)
CANCELLATION_EFFECTS = "The host, setter and triager are notified by e-mail, and webhooks are sent."


def read_time(text: str) -> datetime | None:
    """Return the time of a parameter, or None if it isn't one with a year of the API's."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.year in YEARS else None


@admin.register(Appointment)
class AppointmentAdmin(AppointmentRecordAdmin):
    empty_text = "Add one, or let your website or scheduler book them: create an API key under API keys."
    area = Area.WORK
    own_rows = staticmethod(conditions.is_open_to)
    entity = CustomField.Entity.APPOINTMENT
    form = AppointmentForm
    add_form = BookingForm
    list_display = ("lead_contact", "time", "event_type", "host", "setter", status_column("outcome", "Outcome"))
    select_related = ("lead", "event_type", "host__user", "setter__user", "outcome")
    list_filter = (
        AppointmentWorkFilter,
        MyAppointmentsFilter,
        ResultFilter,
        *("outcome", "call_category", "event_type", "host", "setter", "triager", "last_source", "source", "no_show"),
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
            Column("Meeting URL", "meeting_url"),
            Column("Recording URL", "recording_url"),
            Column("Reference", "external_reference"),
            Column("Booked with", "source", labels(AppointmentSource.choices)),
            Column("First source", "first_source__name"),
            Column("Last source", "last_source__name"),
            *(Column(name.replace("utm_", "UTM "), name) for name in UTM_FIELDS),
            Column("Created", "created_at", is_time=True),
            Column("Updated", "updated_at", is_time=True),
            Column("ID", "id"),
        ),
    )
    autocomplete_fields = ("lead",)
    actions = ("set_outcome_selected", "set_setter_selected", "set_host_selected", "cancel_selected")
    origin = ("source", "external_reference", "first_source", "last_source", "created_at", "updated_at")
    readonly_fields = ("lead", "no_show", *origin, *UTM_FIELDS)
    participants = [("host", "setter", "triager"), "other_appointments", "book_anyway"]
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

    def get_readonly_fields(self, request: HttpRequest, obj: Appointment | None = None) -> list[str]:
        """Return the read-only fields; the list of other appointments is one of a new appointment, too."""
        return [*super().get_readonly_fields(request, obj), "other_appointments"]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, object]:
        """Return the values in the address of the booking form, such as those of a free time in the calendar."""
        values: dict[str, object] = self.own_part(request) | super().get_changeform_initial_data(request)
        if "schedule_time" in values:
            values["schedule_time"] = read_time(str(values["schedule_time"]))
        return values

    def own_part(self, request: HttpRequest) -> dict[str, object]:
        """Return the user's own part in a new appointment: a closer is its host, a setter the one of a lead without."""
        organization = self.chosen_organization(request)
        if organization is None:
            return {}
        own = Membership.objects.of(organization).filter(CAN_BE_NAMED, user=current_user(request)).first()
        if own and own.role == MemberRole.CLOSER:
            return {"host": own.pk}
        has_setter = Lead.objects.of(organization).filter(pk=to_uuid(request.GET.get("lead", "")), setter__isnull=False)
        return {"setter": own.pk} if own and own.role == MemberRole.SETTER and not has_setter.exists() else {}

    @admin.display(description="Lead", ordering="lead__first_name")
    def lead_contact(self, appointment: Appointment) -> str:
        return contact(appointment.lead)

    @admin.display(description="Time", ordering="schedule_time")
    def time(self, appointment: Appointment) -> str:
        return when(appointment.schedule_time)

    @admin.display(description="Other appointments")
    @computed_once
    def other_appointments(self, appointment: Appointment) -> str:
        return render_other_appointments(appointment)

    def custom_fields(self, request: HttpRequest, obj: TenantModel | None) -> list[CustomField]:
        """Return no custom fields for a new appointment: booking has none."""
        return super().custom_fields(request, obj) if obj else []

    def save_model(
        self, request: HttpRequest, obj: Appointment, form: BookingForm | AppointmentForm, change: bool
    ) -> None:
        actor = staff_actor(current_user(request))
        if isinstance(form, BookingForm):
            book(
                organization=form.organization,
                actor=actor,
                external_reference=None,
                schedule_time=truncate_to_ms(form.cleaned_data["schedule_time"]),
                **form.booking_data(),
            )
            obj.refresh_from_db()
            return
        values = form.changed_values()
        if "schedule_time" in form.changed_data:
            values["schedule_time"] = truncate_to_ms(form.cleaned_data["schedule_time"])
        if "outcome" in form.changed_data and form.cleaned_data["outcome"]:
            values["status_id"] = form.cleaned_data["outcome"].pk
        edit_appointment(organization=obj.organization, actor=actor, appointment=obj, **values)

    @admin.action(description="Set the outcome of the selected appointments", permissions=["change"])
    def set_outcome_selected(self, request: HttpRequest, rows: QuerySet[Appointment]) -> HttpResponse | None:
        actor = staff_actor(current_user(request))
        return set_for_selected(
            self,
            request,
            rows,
            lambda row, status: change_outcome(
                organization=row.organization, actor=actor, appointment=row, status_id=status.pk
            ),
            action="set_outcome_selected",
            label="Outcome",
            choices=lambda organization: Status.objects.of(organization).choices(Board.APPOINTMENT, current=None),
            question=f"How did these appointments go? A canceled outcome cancels them: {CANCELLATION_EFFECTS}",
        )

    @admin.action(description="Set the setter of the selected appointments", permissions=["change"])
    def set_setter_selected(self, request: HttpRequest, rows: QuerySet[Appointment]) -> HttpResponse | None:
        return self.set_member(request, rows, "setter")

    @admin.action(description="Set the host of the selected appointments", permissions=["change"])
    def set_host_selected(self, request: HttpRequest, rows: QuerySet[Appointment]) -> HttpResponse | None:
        return self.set_member(request, rows, "host")

    def set_member(self, request: HttpRequest, rows: QuerySet[Appointment], role: str) -> HttpResponse | None:
        actor = staff_actor(current_user(request))
        return set_for_selected(
            self,
            request,
            rows,
            lambda row, member: edit_appointment(
                organization=row.organization, actor=actor, appointment=row, **{role: member}
            ),
            action=f"set_{role}_selected",
            label=role.capitalize(),
            choices=members,
            question=f"Who is the {role} of these appointments from now on? {NEW_MEMBER_EFFECTS}",
        )

    @admin.action(description="Cancel the selected appointments", permissions=["change"])
    def cancel_selected(self, request: HttpRequest, rows: QuerySet[Appointment]) -> HttpResponse | None:
        actor = staff_actor(current_user(request))
        return change_selected(
            self,
            request,
            rows,
            lambda row: cancel_appointment(organization=row.organization, actor=actor, appointment=row),
            action="cancel_selected",
            title="Cancel the appointments",
            question=f"Cancel these appointments? {CANCELLATION_EFFECTS}",
        )
