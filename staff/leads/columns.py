"""Columns of lists that show a lead."""

from django.contrib import admin
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from foundation.db.timestamps import now
from leads.models import Lead
from staff.toolkit.columns import NOTHING, day_and_time, two_lines


def contact(lead: Lead) -> SafeString:
    name = f"{lead.first_name} {lead.last_name}".strip()
    below = [(text,) for text in (lead.email if name else "", lead.phone_e164) if text]
    parts = format_html_join(" ", "<span>{}</span>", below)
    return two_lines(name or lead.email, format_html('<span class="list-contact">{}</span>', parts))


@admin.display(description="Next step", ordering="next_step_at")
def next_step(lead: Lead) -> SafeString | str:
    if lead.next_step_at:
        label, time = lead.get_next_step_type_display() or "Next step", lead.next_step_at
    elif lead.next_touch_point_at:
        label, time = lead.get_next_touch_point_type_display() or "Touch point", lead.next_touch_point_at
    else:
        return NOTHING
    is_overdue = lead.next_step_at and time < now()
    return format_html('<span class="{}">{}, {}</span>', "list-due" if is_overdue else "", label, day_and_time(time))
