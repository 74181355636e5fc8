"""Renders Slack messages from their rows."""

import html
from datetime import datetime

from notifications.mail import admin_link, format_local_time, single_line
from notifications.models import Notification

MAX_NAME_LENGTH = 150


def render(notification: Notification) -> dict[str, object]:
    context = notification.context
    # A team can span several time zones, so the message names UTC.
    when = format_local_time(datetime.fromisoformat(context["schedule_time"]), "UTC")
    title = f"{notification.get_kind_display()}: {escape_name(context['lead_name'])}"
    lines = [
        f"*{title}*",
        f"{escape_name(context['event_type'] or 'Appointment')}, {when}",
        f"Host: {escape_name(context['host'] or 'not assigned')}",
        f"<{admin_link('appointments/appointment', context['appointment_id'])}|Open the appointment>",
    ]
    # Without `verbatim`, Slack turns plain words into links and mentions.
    text = {"type": "mrkdwn", "text": "\n".join(lines), "verbatim": True}
    return {"text": f"{title}, {when}", "blocks": [{"type": "section", "text": text}]}


def escape_name(text: str) -> str:
    """Return the name on one line and escaped, so that it can't become a link or a mention."""
    # Slack refuses messages that are too long.
    return html.escape(single_line(text)[:MAX_NAME_LENGTH], quote=False)
