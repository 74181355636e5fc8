"""The button of an organization's page that lets leads without activity be erased, after a preview."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.formats import date_format
from django.utils.timezone import localtime
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from leads.privacy.models import MAX_DAYS, MIN_DAYS, LeadRetention
from leads.privacy.retention import MAX_LOOKED_AT, preview_retention, set_retention
from organizations.models import Organization
from staff.toolkit.actions import ConfirmationForm, object_action, row_url
from staff.toolkit.timeline import full_time

QUESTION = (
    "The last activity of a lead is the latest of: a change of the lead or its status, an opt-in, a change or the time "
    "of an appointment, a note, a call, and the time of a next step. After so many days without any, the lead is "
    "erased as by the button Erase of its page, which can't be undone. This begins a day after you confirm it."
)


class RetentionForm(ConfirmationForm):
    """Asks for the days; then, with a preview of what that erases, for the organization's name."""

    days = forms.IntegerField(
        label="Days without activity, after which a lead is erased",
        min_value=MIN_DAYS,
        max_value=MAX_DAYS,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=f"{MIN_DAYS} to {MAX_DAYS:,}. Leave empty to keep all leads.",
    )
    next_label = "Continue"
    preview, is_last = "", False

    def __init__(self, *args: Any, subject: Organization, **kwargs: Any) -> None:
        super().__init__(*args, subject=subject, initial={"days": stored_days(subject)}, **kwargs)
        try:
            days = self.fields["days"].clean(self.data.get("days"))
        except ValidationError:
            return
        if days:
            self.is_last = True
            self.preview = render_preview(subject, days)
            self.fields["days"].widget = forms.HiddenInput()
            self.fields["name"] = forms.CharField(
                label="To confirm, type the organization's name", required=False, widget=UnfoldAdminTextInputWidget
            )

    def is_valid(self) -> bool:
        """Return whether the days were confirmed, or none were chosen."""
        return super().is_valid() and ("name" in self.data or not self.is_last)

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if "name" in self.data and name.strip() != self.subject.name.strip():
            raise forms.ValidationError("This is not the organization's name.")
        return name


def find_retention(organization: Organization) -> LeadRetention | None:
    retention: LeadRetention | None = LeadRetention.objects.of(organization).first()
    return retention


def render_preview(organization: Organization, days: int) -> str:
    preview = preview_retention(organization, days)
    oldest = [(lead, row_url(lead), date_format(localtime(lead.active_at), "D j M Y")) for lead in preview.oldest]
    context = {"days": days, "preview": preview, "oldest": oldest, "limit": MAX_LOOKED_AT}
    return render_to_string("staff/retention.html", context)


def describe_retention(organization: Organization) -> str:
    """Return when leads are erased, when the next run begins, and how many were erased last."""
    retention = find_retention(organization)
    if retention is None:
        return "Kept"
    texts = ["Kept."]
    if retention.days:
        texts = [f"Erased after {retention.days:,} days. Next: {full_time(retention.next_run_at)}."]
    if retention.erased_on:
        day, count = date_format(retention.erased_on, "D j M Y"), retention.erased_count
        texts.append(f"Last: {count:,} lead{'' if count == 1 else 's'} on {day} (UTC).")
    return " ".join(texts)


def stored_days(organization: Organization) -> int | None:
    retention = find_retention(organization)
    return retention.days if retention else None


@object_action(
    "Erase old leads",
    name="retention",
    icon="delete",
    question=QUESTION,
    form=RetentionForm,
    state=stored_days,
    is_done=lambda organization, form: form.is_valid() and form.cleaned_data["days"] == stored_days(organization),
)
def retention_action(page: Any, request: HttpRequest, organization: Organization, form: RetentionForm) -> str:
    retention = set_retention(organization=organization, days=form.cleaned_data["days"])
    if not retention.days:
        return "Leads without activity are kept."
    begin = full_time(retention.next_run_at)
    return f"Leads are erased after {retention.days:,} days without activity, from {begin} on."
