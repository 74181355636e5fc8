"""The buttons of a lead's page that export and erase everything stored about the lead."""

from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Any

from django import forms
from django.http import HttpRequest
from django.utils.html import format_html

from foundation.api.emails import email_key
from foundation.db.timestamps import isoformat_z
from leads.models import Lead
from leads.privacy.erasing import open_erasure, request_erasure
from leads.privacy.export import export_lead
from leads.privacy.rules import find_rows, load_rules
from organizations.models import SecurityEventKind
from organizations.security_log import record_security_event
from staff.appointments.upcoming import appointments_of_erased
from staff.toolkit.actions import ConfirmationForm, actor_of, object_action
from staff.toolkit.export import download
from staff.toolkit.fields import TextField
from staff.toolkit.record import RecordAdmin
from staff.toolkit.timeline import full_time

ERASURE = (
    "This can't be undone. Names, e-mail, phone, notes, answers, traffic, links, custom values and the history of "
    "changes are removed, with the notifications about the lead and the content of its events. The lead, its statuses, "
    "appointments and opt-ins stay without them, because reports count them. Connected systems get a webhook. E-mails "
    "and calendar entries that were sent stay where they are."
)

MAX_COUNTED = 1000  # the form counts at most this many rows


class ErasureForm(ConfirmationForm):
    email = TextField(label="To confirm, type the lead's e-mail")

    def __init__(self, *args: Any, subject: Lead, **kwargs: Any) -> None:
        super().__init__(*args, subject=subject, **kwargs)
        self.fields["email"].help_text = f"{subject.email}. {describe_rows(subject)}"

    def clean_email(self) -> str:
        email = str(self.cleaned_data["email"])
        if email_key(email.strip()) != email_key(self.subject.email):
            raise forms.ValidationError("This is not the lead's e-mail.")
        return email


def describe_rows(lead: Lead) -> str:
    counts: dict[bool, list[str]] = {True: [], False: []}
    rows = find_rows(lead, limit=MAX_COUNTED)
    if sum(map(len, rows.values())) > MAX_COUNTED:
        return f"More than {MAX_COUNTED:,} rows belong to this lead, so erasing it takes some minutes."
    for model, ids in rows.items():
        options = model._meta
        name = options.verbose_name if len(ids) == 1 else options.verbose_name_plural
        counts[load_rules()[model].is_deleted].append(f"{len(ids)} {name}")
    return f"Will be deleted: {', '.join(counts[True]) or 'nothing'}. Will be emptied: {', '.join(counts[False])}."


@object_action(
    "Export as JSON",
    icon="download",
    question="Everything that is stored about this lead, in one file: its fields, history, notes, appointments, "
    "opt-ins, events and notifications. Treat the file as confidential.",
    permission="full_export",
    answer=lambda request, lead, file: download(file, f"lead-{lead.pk}", "json"),
)
def export_json(page: RecordAdmin, request: HttpRequest, lead: Lead, form: ConfirmationForm) -> IO[bytes]:
    with ExitStack() as stack:
        file = stack.enter_context(TemporaryFile())
        export_lead(lead, file)
        # Not before: from its first write on, the transaction delays every organization's events (decisions/0002).
        record_security_event(SecurityEventKind.EXPORTED, organization=lead.organization, details=f"Lead {lead.pk}")
        stack.pop_all()  # from here on the response closes it
    return file


@object_action(
    "Erase",
    icon="delete",
    question=lambda lead: format_html("{} {}", ERASURE, appointments_of_erased(lead)),
    form=ErasureForm,
    danger=True,
    permission="erase",
    state=lambda lead: f"{isoformat_z(lead.updated_at)} {describe_rows(lead)}",
    is_done=lambda lead, form: lead.is_erased or open_erasure(lead) is not None,
    locks=False,  # erasing locks the lead after the rows of imports
)
def erase(page: RecordAdmin, request: HttpRequest, lead: Lead, form: ErasureForm) -> str:
    erasure = request_erasure(organization=lead.organization, actor=actor_of(request), lead_id=lead.pk)
    if not erasure.finished_at:
        return "A lot is stored about this lead, so erasing it takes some minutes. This page shows when it is done."
    lead.refresh_from_db()  # the history's entry for this button has the name of the row
    return "The lead was erased."


def erasure_notice(page: RecordAdmin, request: HttpRequest, lead: Lead) -> str:
    erasure = open_erasure(lead)
    if erasure is None:
        return ""
    return (
        f"Being erased: requested by {erasure.actor_name}, {full_time(erasure.created_at)}. This can take some minutes."
    )
