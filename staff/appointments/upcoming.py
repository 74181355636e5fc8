"""The warning about upcoming appointments of a lead that is to be erased."""

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from appointments import conditions
from appointments.models import Appointment
from foundation.db.timestamps import now
from leads.models import Lead


def appointments_of_erased(lead: Lead) -> SafeString | str:
    """Return how many appointments to cancel before the lead is erased, or ""."""
    rows = Appointment.objects.of(lead.organization).filter(lead=lead)
    count = conditions.still_to_come(rows, now()).count()
    if not count:
        return ""
    url = f"{reverse('admin:appointments_appointment_changelist')}?view=upcoming&lead__id__exact={lead.pk}"
    appointments = f"{count} upcoming appointment{'' if count == 1 else 's'}"
    return format_html(
        'The lead has <a class="text-link underline" href="{}">{}</a>, and erasing cancels nothing. Cancel those that '
        "will not take place first, and wait until the e-mails about it are sent: erasing also deletes unsent e-mails.",
        url,
        appointments,
    )
