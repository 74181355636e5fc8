"""A person's own page of e-mail notifications: what they get in each of their organizations."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.widgets import UnfoldBooleanSwitchWidget

from accounts.pages import account_page
from notifications.models import MEMBER_CHOICES
from notifications.services import set_muted_kinds
from organizations.models import Membership
from organizations.permissions import current_user
from organizations.services import change_member
from staff.toolkit.actions import actor_of, row_url
from staff.toolkit.fields import CheckboxesField

MAIL = "mail"  # the box of all kinds


class OwnNotificationsForm(forms.Form):
    wants_mail = forms.BooleanField(
        required=False,
        label="E-mail me",
        help_text="About my calls, and notes that mention me.",
        widget=UnfoldBooleanSwitchWidget,
    )
    kinds = CheckboxesField(choices=MEMBER_CHOICES, required=False, label="About")
    shown = forms.CharField(required=False, widget=forms.HiddenInput)  # what was ticked when the page was opened

    def __init__(self, data: Any, *, member: Membership) -> None:
        """Leave a membership that the sent page didn't have: a browser doesn't send boxes that aren't ticked."""
        preference = getattr(member, "mail_preference", None)
        kinds = [kind for kind, _ in MEMBER_CHOICES if preference is None or kind not in preference.muted]
        shown = " ".join([*kinds, *([MAIL] if member.wants_mail else [])])
        initial = {"wants_mail": member.wants_mail, "kinds": kinds, "shown": shown}
        is_sent = data is not None and f"{member.pk}-shown" in data
        super().__init__(data if is_sent else None, prefix=str(member.pk), initial=initial)
        self.member, self.hours_url = member, row_url(member)

    def save(self, request: HttpRequest) -> None:
        """Change what the person has ticked or unticked; the rest stays as it is now, whoever has changed it since."""
        member, kinds = self.member, set(self.cleaned_data["kinds"])
        chosen = kinds | ({MAIL} if self.cleaned_data["wants_mail"] else set())
        changed = chosen ^ set(self.cleaned_data["shown"].split())
        if MAIL in changed:
            change_member(actor=actor_of(request), member=member, wants_mail=MAIL in chosen)
        if changed - {MAIL}:
            present = set(self.initial["kinds"])
            muted = [kind for kind, _ in MEMBER_CHOICES if kind not in (kinds if kind in changed else present)]
            set_muted_kinds(member=member, kinds=muted)


def own_notifications_page(request: HttpRequest) -> HttpResponse:
    rows = admin.site.get_model_admin(Membership).get_queryset(request)
    members = rows.filter(user=current_user(request), is_active=True).select_related("mail_preference")
    own = [OwnNotificationsForm(request.POST if request.method == "POST" else None, member=row) for row in members]
    sent = [form for form in own if form.is_bound]
    if sent and not any(form.errors for form in sent):
        with transaction.atomic():
            for form in sent:
                form.save(request)
        messages.success(request, "Saved.")
        return redirect("admin:own_notifications")
    return account_page(request, "own_notifications", "My e-mail notifications", own=own)
