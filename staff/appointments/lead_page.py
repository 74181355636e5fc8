"""The parts of a lead's page about appointments and the next step."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold import widgets

from appointments import services
from foundation.db.timestamps import isoformat_z, truncate_to_ms
from leads.models import Lead, TouchPointType
from organizations.actors import staff_actor
from organizations.permissions import PERMISSIONS, Area, current_user, has_role
from staff.appointments.timeline import appointments_of
from staff.leads.record import SET_BY_STAFF
from staff.toolkit.actions import ConfirmationForm, object_action, row_url
from staff.toolkit.forms import validate_year
from staff.toolkit.record import Card, Fact, RecordAdmin, RecordButton
from staff.toolkit.timeline import full_time

MAX_LISTED = 5  # appointments beside the timeline


class NextStepForm(ConfirmationForm):
    at = forms.DateTimeField(
        label="When",
        validators=[validate_year],
        widget=widgets.UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}),
    )
    type = forms.ChoiceField(
        label="How",
        choices=[(value, label) for value, label in TouchPointType.choices if value in SET_BY_STAFF],
        widget=widgets.UnfoldAdminSelectWidget,
    )
    note = forms.CharField(
        label="What about", required=False, max_length=255, widget=widgets.UnfoldAdminTextInputWidget
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        lead = self.subject
        tomorrow = timezone.localtime() + timedelta(days=1)
        at = lead.next_step_at or tomorrow.replace(hour=10, minute=0)
        self.initial = {
            "at": timezone.localtime(at).strftime("%Y-%m-%dT%H:%M"),
            "type": lead.next_step_type or TouchPointType.CALL.value,
            "note": lead.next_step_note or "",
        }

    def clean_at(self) -> datetime:
        return truncate_to_ms(self.cleaned_data["at"])


def next_step_state(lead: Lead) -> str:
    return isoformat_z(lead.next_step_at) if lead.next_step_at else ""


@object_action(
    "Call back on …",
    icon="event",
    question="It stays due until someone marks it as done or sets another one.",
    form=NextStepForm,
)
def set_next_step(page: RecordAdmin, request: HttpRequest, lead: Lead, form: NextStepForm) -> str:
    lead = services.set_next_step(
        organization=lead.organization, actor=staff_actor(current_user(request)), lead_id=lead.pk, **form.cleaned_data
    )
    assert lead.next_step_at
    return f"Next step: {lead.get_next_step_type_display()}, {full_time(lead.next_step_at)}."


@object_action(
    "Next step is done",
    icon="check",
    question="Mark the next step as done?",
    is_possible=lambda lead: lead.next_step_at is not None,
    state=next_step_state,
    is_done=lambda lead, form: lead.next_step_at is None,
    next_url=lambda request, lead: home_url(request) or row_url(lead),
)
def finish_next_step(page: RecordAdmin, request: HttpRequest, lead: Lead, form: ConfirmationForm) -> str:
    services.finish_next_step(organization=lead.organization, actor=staff_actor(current_user(request)), lead_id=lead.pk)
    return "The next step is done."


def home_url(request: HttpRequest) -> str:
    """Return the address of Home if the request's form or link is from there, or ""."""
    query = request.POST.get("home", request.GET.get("home"))
    return "" if query is None else f"{reverse('admin:index')}?{query}"


def booking_link(request: HttpRequest, lead: Lead) -> RecordButton | None:
    if not has_role(request, PERMISSIONS[Area.WORK].add, lead.organization_id):
        return None
    parameters = urlencode({"organization": lead.organization_id, "lead": lead.pk})
    return RecordButton("Book", f"{reverse('admin:appointments_appointment_add')}?{parameters}", "b")


def next_step_notice(page: RecordAdmin, request: HttpRequest, lead: Lead) -> SafeString | str:
    if lead.next_step_at is None:
        return ""
    done_url = finish_next_step.button.url(lead) if page.has_change_permission(request, lead) else ""
    context = {"lead": lead, "done_url": done_url, "state": next_step_state(lead)}
    return render_to_string("staff/next_step.html", context, request)


def appointments_card(page: RecordAdmin, request: HttpRequest, lead: Lead) -> Card:
    latest = appointments_of(lead).select_related("event_type", "host__user", "outcome").order_by("-schedule_time")
    rows = list(latest[: MAX_LISTED + 1])
    facts = [
        Fact(
            " · ".join(str(part) for part in (row.event_type, row.host, row.outcome) if part),
            full_time(row.schedule_time),
            row_url(row),
        )
        for row in rows[:MAX_LISTED]
    ]
    if len(rows) > MAX_LISTED:
        url = f"{reverse('admin:appointments_appointment_changelist')}?view=all&lead__id__exact={lead.pk}"
        facts.append(Fact("", "All appointments", url))
    can_book = has_role(request, PERMISSIONS[Area.WORK].add, lead.organization_id)
    return Card("Appointments", facts or [Fact("None yet", "Book one above." if can_book else "")])
