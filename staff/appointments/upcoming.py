"""What appointments add to pages on which people and leads go: the upcoming appointments that stay behind."""

from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from appointments import conditions
from appointments.models import Appointment
from foundation.db.timestamps import now
from leads.models import Lead
from organizations.models import Membership
from staff.leads.privacy import ERASURE_NOTICES


def upcoming_link(rows: QuerySet[Appointment], **filters: Any) -> SafeString | None:
    """Return a link with the number of the rows that are still to come, to the list of them, or None without any."""
    count = conditions.still_to_come(rows.filter(**filters), now()).count()
    if not count:
        return None
    query = urlencode({"view": "upcoming", **{f"{name}__id__exact": row.pk for name, row in filters.items()}})
    return format_html(
        '<a class="text-link underline" href="{}?{}">{} upcoming appointment{}</a>',
        reverse("admin:appointments_appointment_changelist"),
        query,
        count,
        "" if count == 1 else "s",
    )


def hosted_appointments(member: Membership) -> SafeString | str:
    """Return what the member hosts in the future, and how to give it to somebody else."""
    link = upcoming_link(Appointment.objects.of(member.organization), host=member)
    text = "Host of {}. To hand over, select them there and set the host: both hosts are told by e-mail."
    return format_html(text, link) if link else ""


def appointments_of_erased(lead: Lead) -> SafeString | str:
    """Return what becomes of the lead's upcoming appointments, and how to cancel them before."""
    link = upcoming_link(Appointment.objects.of(lead.organization), lead=lead)
    text = (
        "The lead has {}, and erasing cancels nothing. Cancel what will not take place first, and wait until the "
        "e-mails about it are sent: erasing deletes those that wait."
    )
    return format_html(text, link) if link else ""


ERASURE_NOTICES.append(appointments_of_erased)
