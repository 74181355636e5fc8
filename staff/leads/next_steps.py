"""The next steps of a lead on its page: the open ones with their buttons, and what became of the others."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold import widgets

from appointments import services
from foundation.api.exceptions import Conflict
from foundation.db.timestamps import truncate_to_ms
from leads.models import Lead, NextStep, TouchPointType
from organizations.actors import actor_columns
from organizations.models import CAN_BE_ASSIGNED, Membership
from organizations.permissions import current_user
from staff.leads.record import SET_BY_STAFF
from staff.toolkit.actions import ConfirmationForm, NotDone, actor_of, object_action, row_url
from staff.toolkit.bulk import members
from staff.toolkit.fields import RowField, SelectField, TextField
from staff.toolkit.forms import NewIdField
from staff.toolkit.lists import MAX_QUERY, referring_list_url
from staff.toolkit.record import RecordAdmin
from staff.toolkit.timeline import PAGE, Cursor, TimelineEntry, entry_of, full_time, newest
from staff.toolkit.times import TimestampField, show_times_about

MINUTES = 15  # of the free times that are offered
MAX_SHOWN = 20  # open steps of a lead


class NextStepForm(ConfirmationForm):
    """The form for a new next step. `new_id` is the step's, so that a form sent twice adds it once."""

    at = TimestampField(label="When")
    type = SelectField(
        label="How", choices=[(value, label) for value, label in TouchPointType.choices if value in SET_BY_STAFF]
    )
    note = TextField(label="What about", required=False, max_length=255)
    owner = RowField(Membership.unscoped.none(), label="Who", required=False, empty_label="Anyone")
    new_id = NewIdField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["owner"].queryset = members(self.subject.organization)
        about = {"organization": self.subject.organization_id, "lead": self.subject.pk, "minutes": MINUTES}
        show_times_about(self.fields["at"], **about)
        self.initial = {
            "at": timezone.localtime().replace(hour=10, minute=0, second=0, microsecond=0) + timedelta(days=1),
            "type": TouchPointType.CALL.value,
            "owner": own_membership(self.request, self.subject) or self.subject.setter_id,
        }

    def clean_at(self) -> datetime:
        return truncate_to_ms(self.cleaned_data["at"])


class StepForm(ConfirmationForm):
    """A form about one of the lead's open steps: by default, the earliest."""

    step = forms.UUIDField(required=False, widget=forms.HiddenInput)
    version = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["step"] = self.request.GET.get("step")

    def clean_step(self) -> UUID | None:
        first: UUID | None = open_steps(self.subject).values_list("pk", flat=True).first()
        return self.cleaned_data["step"] or first


class ChangeStepForm(StepForm, NextStepForm):
    new_id = None  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        named, steps = self.data.get("step", self.initial["step"]), list(open_steps(self.subject))
        if named and not self.is_bound and all(str(step.pk) != named for step in steps):
            self.refusal = "this next step is not open any more. Nothing was changed."
        if step := next((step for step in steps if str(step.pk) == named), steps[0] if steps else None):
            values = {"at": step.at, "type": step.type, "note": step.note, "owner": step.owner_id}
            self.initial = {"step": step.pk, "version": step.version, **values}
            owners = Membership.objects.of(self.subject.organization)
            self.fields["owner"].queryset = owners.filter(CAN_BE_ASSIGNED | Q(pk=step.owner_id))


class HandOverField(forms.BooleanField):
    """What becomes of the next steps of a lead that gets another setter."""

    def __init__(self) -> None:
        super().__init__(
            required=False,
            initial=True,
            label="The new setter takes over the next steps",
            help_text="Those of the former setter, and those of nobody. Without it, they stay with who has them.",
            widget=widgets.UnfoldBooleanSwitchWidget,
        )


def open_steps(lead: Lead) -> QuerySet[NextStep]:
    rows: QuerySet[NextStep] = NextStep.objects.of(lead.organization).filter(lead=lead, done_at=None)
    return rows.order_by("at", "id")


def own_membership(request: HttpRequest, lead: Lead) -> Membership | None:
    member: Membership | None = members(lead.organization).filter(user=current_user(request)).first()
    return member


def call_by(request: HttpRequest, lead: Lead, at: datetime) -> NextStep:
    """Return a next step that isn't stored yet: a call by the user, or by the lead's setter if they aren't a member."""
    owner = own_membership(request, lead) or lead.setter
    columns = {"at": at, "type": TouchPointType.CALL, "owner": owner, **actor_columns(actor_of(request))}
    return NextStep(organization=lead.organization, lead=lead, **columns)


def has_step(lead: Lead) -> bool:
    return lead.next_step_at is not None


def home_url(request: HttpRequest) -> str:
    """Return the address of Home if the request's form or link is from there, or ""."""
    query = request.POST.get("home", request.GET.get("home"))
    # Django refuses to redirect to long addresses, when the change is already stored.
    return "" if query is None or len(query) > MAX_QUERY else f"{reverse('admin:index')}?{query}"


def next_url(request: HttpRequest, lead: Lead) -> str:
    """Return the address of the page with the link to the form: Home, the list, or the lead's page."""
    return home_url(request) or referring_list_url(request, "admin:leads_lead_changelist") or row_url(lead)


def describe(step: NextStep) -> str:
    return f"{step}, {full_time(step.at)}{f', {step.owner}' if step.owner else ''}"


@object_action(
    "Next step …",
    icon="event",
    question="It stays due until it is marked as done.",
    form=NextStepForm,
    is_possible=lambda lead: not lead.is_erased,
    next_url=next_url,
)
def set_next_step(page: RecordAdmin, request: HttpRequest, lead: Lead, form: NextStepForm) -> str:
    values = {name: value for name, value in form.cleaned_data.items() if name != "new_id"}
    actor, id = actor_of(request), form.cleaned_data["new_id"]
    step = services.set_next_step(organization=lead.organization, actor=actor, lead_id=lead.pk, id=id, **values)
    return f"Next step: {describe(step)}."


@object_action(
    "Change the next step",
    icon="event",
    question="When, how, and by whom?",
    form=ChangeStepForm,
    is_possible=has_step,
    next_url=next_url,
)
def change_next_step(page: RecordAdmin, request: HttpRequest, lead: Lead, form: ChangeStepForm) -> str:
    values = {name: value for name, value in form.cleaned_data.items() if name != "step"}
    actor, id = actor_of(request), form.cleaned_data["step"]
    step = services.change_next_step(organization=lead.organization, actor=actor, lead_id=lead.pk, step_id=id, **values)
    return f"Next step: {describe(step)}."


@object_action(
    "Next step is done",
    icon="check",
    question="Mark the next step as done?",
    form=StepForm,
    is_possible=has_step,
    next_url=next_url,
)
def finish_next_step(page: RecordAdmin, request: HttpRequest, lead: Lead, form: StepForm) -> str:
    about: dict[str, Any] = {"organization": lead.organization, "actor": actor_of(request), "lead_id": lead.pk}
    try:
        services.finish_next_step(**about, step_id=form.cleaned_data["step"], version=form.cleaned_data["version"])
    except Conflict as error:  # the button was pressed twice
        raise NotDone(f"{str(error)[:1].lower()}{str(error)[1:]}.") from None
    return "The next step is done."


def next_step_notice(page: RecordAdmin, request: HttpRequest, lead: Lead) -> SafeString | str:
    if not has_step(lead):
        return ""
    steps = list(open_steps(lead).select_related("owner__user")[: MAX_SHOWN + 1])
    urls: dict[str, object] = {"has_more": len(steps) > MAX_SHOWN}
    if page.has_change_permission(request, lead):
        urls |= {"done_url": finish_next_step.button.url(lead), "change_url": change_next_step.button.url(lead)}
        urls["change"] = next(iter(page.open_buttons(request, lead, {change_next_step: ""})), None)
    return render_to_string("staff/next_step.html", {"steps": steps[:MAX_SHOWN], **urls}, request)


def steps_set(lead: Lead, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    for step in newest(lead.next_steps.select_related("owner__user"), cursor):
        text = f"Next step: {describe(step)}"
        yield entry_of(step, "steps", text, body=step.note or "")


def steps_done(lead: Lead, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    rows = lead.next_steps.filter(done_at__isnull=False).order_by("-done_at", "-id")
    if cursor:
        rows = rows.filter(Q(done_at__lt=cursor.at) | Q(done_at=cursor.at, id__lt=cursor.id))
    for step in rows[: PAGE + 1]:
        text = f"Next step done: {step}, {full_time(step.at)}"
        id = UUID(int=step.pk.int ^ 1)  # another one than of the entry when it was set
        assert step.done_at
        yield TimelineEntry(step.done_at, id, "steps", text, step.done_by or "")
