"""The page of the texts that leads get by e-mail, with a preview and a test to oneself."""

from copy import copy
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path
from django.utils.safestring import SafeString

from appointments.lead_notifications import describe_time
from appointments.services import send_test_message
from foundation.api.exceptions import Conflict
from foundation.db.timestamps import get_zone, now
from notifications.lead_messages import (
    PLACEHOLDERS,
    fill_in_message,
    sample_values,
    save_lead_message,
    unknown_placeholders,
)
from notifications.models import MAX_SUBJECT, MAX_TEXT, LeadMessage
from organizations.models import IS_ACTIVE_MEMBER, Membership
from organizations.permissions import Area, current_user
from staff.toolkit.actions import AnyPage, ConfirmationForm, object_action, row_url
from staff.toolkit.base import Fieldsets
from staff.toolkit.fields import LongTextField
from staff.toolkit.lists import column
from staff.toolkit.tenant import TenantAdmin, TenantForm

NAMES = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)


class NewLeadMessageForm(TenantForm):
    constraint_messages = {
        "one_lead_message_per_kind": ("kind", "This message is in the list already: change it there.")
    }


class LeadMessageForm(TenantForm):
    text = LongTextField(
        rows=10,
        max_length=MAX_TEXT,
        help_text=f"Placeholders: {NAMES}. A line with a placeholder that has no value, such as that of a missing "
        "meeting link, is left out. Below it comes a link to unsubscribe.",
    )

    class Meta:
        help_texts = {"is_active": "Only for what members book, move or cancel, or if an integration asks for it."}

    def clean_subject(self) -> str:
        return checked(self.cleaned_data["subject"])

    def clean_text(self) -> str:
        return checked(self.cleaned_data["text"])


def checked(text: str) -> str:
    if unknown := unknown_placeholders(text):
        raise forms.ValidationError(f"{unknown[0][:50]} is not a placeholder. Use {NAMES}.")
    return text


def sample_time(message: LeadMessage) -> datetime:
    start = now().astimezone(get_zone(message.organization.time_zone)) + timedelta(days=1)
    return start.replace(hour=10, minute=0, second=0, microsecond=0)


def render_preview(message: LeadMessage) -> SafeString:
    organization = message.organization
    when = describe_time(sample_time(message), organization.time_zone)
    subject, body = fill_in_message(message, sample_values(organization, host="Priya Nair", when=when))
    return render_to_string(
        "staff/lead_message.html", {"message": message, "subject": subject, "body": body, "organization": organization}
    )


def show_preview(request: HttpRequest, object_id: str, page: "LeadMessageAdmin") -> HttpResponse:
    """Return the preview of what is in the form, which isn't saved. Raises Http404 and PermissionDenied."""
    message = page.get_row(request, object_id)
    if request.method != "POST":
        return redirect(row_url(message))
    draft = copy(message)
    draft.subject, draft.text = request.POST.get("subject", "")[:MAX_SUBJECT], request.POST.get("text", "")[:MAX_TEXT]
    return HttpResponse(render_preview(draft))


@admin.register(LeadMessage)
class LeadMessageAdmin(TenantAdmin):
    empty_text = "Leads get no e-mails yet. Add an invitation, a new time, a cancellation or a reminder."
    area = Area.SETUP
    save_service = staticmethod(save_lead_message)
    service_argument = "lead_message"
    form = LeadMessageForm
    add_form = NewLeadMessageForm
    list_display = ("kind", "is_active", "subject")
    readonly_fields = ("kind", "preview")
    fields = ("kind", "is_active", "subject", "text", "preview")
    preview = column("Preview", render_preview)
    actions_detail = ("send_test",)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        return super().get_fieldsets(request, obj) if obj else [(None, {"fields": ["kind"]})]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(partial(show_preview, page=self))
        own = path("<path:object_id>/preview/", view, name="notifications_leadmessage_preview")
        return [own, *super().get_urls()]

    def response_add(
        self, request: HttpRequest, obj: LeadMessage, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Lead to the new message, whose standard text can be edited there before it is switched on."""
        return redirect(row_url(obj))

    @staticmethod
    def own_membership(request: HttpRequest, message: LeadMessage) -> Membership:
        members = Membership.objects.of(message.organization).filter(IS_ACTIVE_MEMBER, user=current_user(request))
        member: Membership | None = members.select_related("user").first()
        if member is None:
            raise Conflict(f"You are not a member of {message.organization}")
        return member

    @object_action(
        "Send a test to me",
        icon="forward_to_inbox",
        question="You get the saved message by e-mail, with an example's values.",
    )
    def send_test(page: AnyPage, request: HttpRequest, message: LeadMessage, form: ConfirmationForm) -> str:  # noqa: N805
        member = page.own_membership(request, message)
        at = sample_time(message)
        send_test_message(organization=message.organization, member=member, message=message, at=at)
        return f"A test is on its way to {member.user.email}."
