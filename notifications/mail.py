"""Writing and sending one mail, from its row alone."""

import smtplib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.db.models import Q
from django.template.loader import render_to_string

from notifications.invitations import invitation
from notifications.models import Notification
from organizations.models import Organization
from pipeline_backend.outbox import Queue, Result


def compose(notification: Notification) -> EmailMultiAlternatives:
    """The mail: text, HTML, and the invitation as a calendar part and a file."""
    facts, recipient = notification.facts, notification.recipient.user
    start = datetime.fromisoformat(facts["schedule_time"])
    context = {**facts, "kind": notification.get_kind_display(), "when": local(start, recipient.time_zone), "link": admin_link(facts)}
    mail = EmailMultiAlternatives(
        subject=one_line(f"{context['kind']}: {facts['lead_name']}, {context['when']}"),
        body=render_to_string("notifications/call.txt", context),
        to=[recipient.email],
        headers={"X-Notification-Id": str(notification.pk)},
    )
    mail.attach_alternative(render_to_string("notifications/call.html", context), "text/html")
    method, calendar = invitation(notification.kind, facts, start)
    mail.attach_alternative(calendar.decode(), f"text/calendar; method={method}")
    mail.attach("invite.ics", calendar.decode(), f"text/calendar; method={method}")
    return mail


def local(start: datetime, time_zone: str) -> str:
    """The time as its reader's clock shows it, with the zone."""
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    return f"{start.astimezone(zone):%A, %d %B %Y, %H:%M} ({zone.key})"


def admin_link(facts: dict[str, Any]) -> str:
    """The call in the admin."""
    return f"{settings.BASE_URL}/admin/appointments/appointment/{facts['appointment_id']}/change/"


def one_line(text: str) -> str:
    """A subject: no line break gets into the mail's head through a name."""
    return " ".join(text.split())[:200]


@contextmanager
def postman(organization: Organization) -> Iterator[Callable[[Notification], Result]]:
    """One connection to the mail server, as a function that sends over it."""
    connection = get_connection()

    def send(notification: Notification) -> Result:
        mail = compose(notification)
        mail.connection = connection
        try:
            mail.send()
        except smtplib.SMTPRecipientsRefused:
            return Result(error="recipient_refused")
        except (smtplib.SMTPException, OSError) as error:
            connection.close()
            return Result(error="timeout" if isinstance(error, TimeoutError) else "mail_server")
        return Result()

    try:
        yield send
    finally:
        connection.close()


NOTIFICATIONS = Queue(
    model=Notification,
    group="organization",
    group_model=Organization,
    session=postman,
    open=Q(is_active=True),
    related=("recipient__user",),
)
