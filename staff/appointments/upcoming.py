"""The warning about upcoming appointments of a lead that is to be erased."""

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


def appointments_of_erased(lead: Lead) -> SafeString | str:
    """Return how many appointments to cancel before the lead is erased, or ""."""
    text = (
        "The lead has {}, and erasing cancels nothing. Cancel those that will not take place first, and wait until "
        "the e-mails about it are sent: erasing also deletes unsent e-mails."
    )
    return with_upcoming(text, Appointment.objects.of(lead.organization), lead=lead)


def with_upcoming(text: str, rows: QuerySet[Appointment], **filters: Any) -> SafeString | str:
    count = conditions.still_to_come(rows.filter(**filters), now()).count()
    if not count:
        return ""
    query = urlencode({"view": "upcoming", **{f"{name}__id__exact": row.pk for name, row in filters.items()}})
    link = format_html(
        '<a class="text-link underline" href="{}?{}">{} upcoming appointment{}</a>',
        reverse("admin:appointments_appointment_changelist"),
        query,
        count,
        "" if count == 1 else "s",
    )
    return format_html(text, link)
