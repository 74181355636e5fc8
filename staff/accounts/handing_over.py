"""The open work of a member, and its button: everything goes to others in one act."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from appointments.models import Appointment
from appointments.services import describe_work, hand_over, open_work
from appointments.services.handing_over import LIMITS
from organizations.models import Membership
from staff.appointments.schedule import overlap_warning
from staff.toolkit.actions import ConfirmationForm, actor_of, object_action
from staff.toolkit.bulk import members
from staff.toolkit.fields import RowField

LABELS = {"leads": "New setter", "next_steps": "New owner of the next steps", "calls": "New host"}
LISTS = {
    "leads": ("admin:leads_lead_changelist", "view=all&setter__id__exact"),
    "calls": ("admin:appointments_appointment_changelist", "view=upcoming&host__id__exact"),
}


class HandOverForm(ConfirmationForm):
    """A choice of a member for each kind of open work. What gets none stays."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        others = members(self.subject.organization).exclude(pk=self.subject.pk)
        for kind, count in count_work(self.subject).items():
            if count:
                self.fields[kind] = RowField(
                    others,
                    label=f"{LABELS[kind]}: {describe_work({kind: count})}",
                    required=False,
                    empty_label="Nobody: leave as it is",
                )


def count_work(member: Membership) -> dict[str, int]:
    return {kind: rows.count() for kind, rows in open_work(member).items()}


def work_links(member: Membership) -> SafeString | str:
    """Return what is left to hand over, with links to the lists, or "" for nothing."""
    parts = []
    for kind, count in count_work(member).items():
        text = describe_work({kind: count})
        if text and kind in LISTS:
            name, query = LISTS[kind]
            text = format_html(
                '<a class="text-link underline" href="{}?{}={}">{}</a>', reverse(name), query, member.pk, text
            )
        if text:
            parts.append((text,))
    return format_html_join(", ", "{}", parts)


def hand_over_link(member: Membership) -> SafeString | str:
    """Return the open work with a link to hand it over, or ""."""
    work = work_links(member)
    url = reverse("admin:organizations_membership_hand_over", args=[member.pk])
    link = format_html('<a class="font-semibold text-link underline" href="{}">Hand over</a>', url)
    return format_html("{}. {}", work, link) if work else ""


hand_over_action = object_action(
    "Hand over the work",
    name="hand_over",
    icon="groups",
    question="Who takes over? They get an e-mail about it; hosts get invitations to the calls, the others an update. "
    "Leads aren't notified: contact them if their call has another host.",
    form=HandOverForm,
    permission="manage",
    is_possible=lambda member: any(rows.exists() for rows in open_work(member).values()),
    is_atomic=False,
)


@hand_over_action
def hand_over_work(page: Any, request: HttpRequest, member: Membership, form: HandOverForm) -> str:
    to = {kind: owner for kind, owner in form.cleaned_data.items() if owner}
    calls = list(open_work(member)["calls"].values_list("pk", flat=True)[: LIMITS["calls"]]) if "calls" in to else []
    done = describe_work(hand_over(organization=member.organization, actor=actor_of(request), member=member, to=to))
    left, host = describe_work(count_work(member)), to.get("calls")
    texts = [f"Handed over: {done}." if done else "Nothing was handed over."]
    texts.append(overlap_warning(Appointment.unscoped.filter(pk__in=calls, host=host), str(host), "host"))
    texts.append(f"Left: {left}." if left else "")
    return format_html_join(" ", "{}", [(text,) for text in texts if text])
