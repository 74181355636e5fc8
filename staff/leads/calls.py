"""Logging a call with one click: on the lead's page, in the list of opt-ins, and on Home."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from leads import services
from leads.models import CallResult, Lead
from staff.leads.next_steps import home_url, set_next_step
from staff.toolkit.actions import ConfirmationForm, actor_of, object_action, row_url
from staff.toolkit.fields import LongTextField, SelectField
from staff.toolkit.lists import referring_list_url
from staff.toolkit.record import RecordAdmin
from staff.toolkit.timeline import Cursor, TimelineEntry, entry_of, newest


class CallForm(ConfirmationForm):
    result = SelectField(choices=CallResult.choices, label="How did it go?")
    note = LongTextField(required=False, max_length=1_000, rows=3)


def next_url(request: HttpRequest, lead: Lead) -> str:
    """Return Home or the list of opt-ins if the button was there, else the lead's page."""
    return home_url(request) or referring_list_url(request, "admin:optins_optin_changelist") or row_url(lead)


@object_action(
    "Log a call",
    icon="call",
    question="The note is optional. Everyone who can see the lead sees it.",
    form=CallForm,
    next_url=next_url,
)
def log_call(page: RecordAdmin, request: HttpRequest, lead: Lead, form: CallForm) -> str:
    actor = actor_of(request)
    number = services.log_call(organization=lead.organization, actor=actor, lead_id=lead.pk, **form.cleaned_data)
    result, url = CallResult(form.cleaned_data["result"]).label, set_next_step.button.url(lead)
    link = format_html('<a href="{}" class="underline">Next step …</a>', url)
    return format_html("Call {} logged: {}. {}", number, result.lower(), link)


def call_buttons(lead: Lead) -> SafeString:
    """Return a button for each result, for any form with a token."""
    return render_to_string("staff/call_buttons.html", {"lead": lead, "call_results": CallResult.choices})


def call_notice(page: RecordAdmin, request: HttpRequest, lead: Lead) -> SafeString | str:
    if lead.is_erased or not page.has_change_permission(request, lead):
        return ""
    return render_to_string("staff/log_call.html", {"buttons": call_buttons(lead)}, request)


def calls(lead: Lead, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    for call in newest(lead.notes.filter(call_result__isnull=False), cursor):
        label: Any = CallResult(call.call_result or "").label
        body = call.note.removeprefix(label).removeprefix(": ")
        text = f"Called: {label.lower()}"
        yield entry_of(call, "calls", text, body=body, note=call)
