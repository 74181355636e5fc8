"""Facts of a lead that are changed in place, on top of its page: the phone and the setter."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q
from django.http import HttpRequest

from foundation.api.exceptions import Conflict
from leads import services
from leads.models import Lead
from leads.phones import Phone, parse_phone
from leads.services import edit_lead
from organizations.actors import Actor
from organizations.models import CAN_BE_ASSIGNED, Membership
from staff.leads.next_steps import HandOverField, next_url, open_steps
from staff.toolkit.actions import ConfirmationForm, actor_of, object_action
from staff.toolkit.bulk import members
from staff.toolkit.fields import RowField, TextField
from staff.toolkit.record import RecordAdmin


class PhoneForm(ConfirmationForm):
    phone = TextField(label="Phone", required=False, max_length=40)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["phone"] = self.subject.phone_e164
        country = self.subject.organization.default_country
        self.fields["phone"].help_text = f"Numbers without + are read as {country} numbers." if country else ""

    def clean_phone(self) -> Phone | None:
        text = self.cleaned_data["phone"]
        phone = parse_phone(text, self.subject.organization.default_country) if text else None
        if text and phone is None:
            raise forms.ValidationError("Enter a valid phone number.")
        return phone


class SetterForm(ConfirmationForm):
    setter = RowField(Membership.unscoped.none(), label="Setter", required=False, empty_label="Nobody")
    hand_over_steps = HandOverField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = Membership.objects.of(self.subject.organization).select_related("user")
        rows = rows.filter(CAN_BE_ASSIGNED | Q(pk=self.subject.setter_id))
        self.fields["setter"].queryset = rows
        self.initial["setter"] = self.subject.setter_id
        if self.subject.next_step_at is None:
            del self.fields["hand_over_steps"]


@object_action(
    "Change the phone",
    name="set_phone",
    icon="call",
    question="The number that calls go to.",
    form=PhoneForm,
    is_possible=lambda lead: not lead.is_erased,
    state=lambda lead: lead.phone_e164,
    next_url=next_url,
    is_done=lambda lead, form: form.is_valid() and lead.phone_e164 == getattr(form.cleaned_data["phone"], "e164", None),
)
def set_phone(page: RecordAdmin, request: HttpRequest, lead: Lead, form: PhoneForm) -> str:
    phone = form.cleaned_data["phone"]
    values: dict[str, Any] = {
        "phone_e164": phone.e164 if phone else None,
        "phone_country": phone.country if phone else None,
    }
    edit_lead(organization=lead.organization, actor=actor_of(request), lead=lead, **values)
    return f"Phone: {phone.e164}." if phone else "The lead has no phone any more."


@object_action(
    "Change the setter",
    name="set_setter",
    icon="person",
    question="Who follows this lead from now on?",
    form=SetterForm,
    is_possible=lambda lead: not lead.is_erased,
    state=lambda lead: lead.setter_id,
    next_url=next_url,
    is_done=lambda lead, form: form.is_valid() and lead.setter == form.cleaned_data["setter"],
)
def set_setter(page: RecordAdmin, request: HttpRequest, lead: Lead, form: SetterForm) -> str:
    setter, hand_over = form.cleaned_data["setter"], form.cleaned_data.get("hand_over_steps", False)
    actor = actor_of(request)
    edit_lead(organization=lead.organization, actor=actor, lead=lead, setter=setter, hand_over_steps=hand_over)
    return f"{lead} now belongs to {setter}." if setter else f"{lead} belongs to nobody now."


def status_values(lead: Lead) -> list[str | None]:
    """Return the status's id, and since when the lead has it."""
    return [str(lead.status_id), lead.status_since.isoformat() if lead.status_since else None]


def restore_status(actor: Actor, lead: Lead, before: list[Any], after: list[Any]) -> None:
    """Give the lead its former status back, since when it had it."""
    since = datetime.fromisoformat(before[1]) if before[1] else None
    services.restore_status(
        organization=lead.organization, actor=actor, lead_id=lead.pk, status_id=UUID(before[0]), since=since
    )


def setter_and_steps(lead: Lead) -> list[Any]:
    """Return the setter's id, and the owners of the open next steps, which a new setter may take over."""
    steps = open_steps(lead).values_list("pk", "owner") if lead.next_step_at else ()
    return [
        lead.setter_id and str(lead.setter_id),
        {str(step): owner and str(owner) for step, owner in steps},
    ]


def restore_setter(actor: Actor, lead: Lead, before: list[Any], after: list[Any]) -> None:
    """Give the lead its former setter back. Raises Conflict if they can't be assigned any more."""
    setter = members(lead.organization).filter(pk=before[0]).first() if before[0] else None
    if before[0] and setter is None:
        raise Conflict("The former setter can't be assigned any more")
    edit_lead(organization=lead.organization, actor=actor, lead=lead, setter=setter, step_owners=before[1])
