"""Writing and sending one mail, from its row alone."""

import asyncio
import contextlib
import re
import smtplib
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.template.loader import render_to_string

from notifications.channels import Channel, Send
from notifications.invitations import invitation
from notifications.models import APPOINTMENT_KINDS, ChannelKind, Notification
from organizations.models import Organization, User
from pipeline_backend.outbox import Result


def compose(notification: Notification) -> EmailMultiAlternatives:
    """The mail of a notification, from its row alone."""
    return compose_call(notification) if notification.kind in APPOINTMENT_KINDS else compose_endpoints(notification)


def compose_call(notification: Notification) -> EmailMultiAlternatives:
    """A call's mail: text, HTML, and the invitation as a calendar part and a file."""
    facts = tamed(notification.context)
    start = datetime.fromisoformat(facts["schedule_time"])
    context = {
        **facts,
        "when": format_local_time(start, reader(notification).time_zone),
        "link": admin_link("appointments/appointment", facts["appointment_id"]),
    }
    mail = written(notification, f"{facts['lead_name']}, {context['when']}", "call", context)
    method, calendar = invitation(notification.kind, facts, start)
    mail.attach_alternative(calendar.decode(), f"text/calendar; method={method}")
    mail.attach("invite.ics", calendar.decode(), f"text/calendar; method={method}")
    return mail


def compose_endpoints(notification: Notification) -> EmailMultiAlternatives:
    """One digest of all the organization's endpoints that fail."""
    endpoints = [
        {**one, "link": admin_link("webhooks/endpoint", one["id"])} for one in notification.context["endpoints"]
    ]
    return written(
        notification,
        ", ".join(one["name"] for one in endpoints),
        "endpoints",
        {**notification.context, "endpoints": endpoints},
    )


def written(notification: Notification, subject: str, template: str, context: dict[str, Any]) -> EmailMultiAlternatives:
    """A mail in text and HTML."""
    context = {**context, "kind": notification.get_kind_display()}
    mail = EmailMultiAlternatives(
        subject=one_line(f"{context['kind']}: {subject}"),
        body=render_to_string(f"notifications/{template}.txt", context),
        to=[reader(notification).email],
        headers={"X-Notification-Id": str(notification.pk)},
    )
    mail.attach_alternative(render_to_string(f"notifications/{template}.html", context), "text/html")
    return mail


def reader(notification: Notification) -> User:
    """Whom the mail is for."""
    assert notification.recipient is not None
    return notification.recipient.user


def format_local_time(start: datetime, time_zone: str) -> str:
    """The time as its reader's clock shows it, with the zone."""
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    return f"{start.astimezone(zone):%A, %d %B %Y, %H:%M} ({zone.key})"


def admin_link(page: str, id: str) -> str:
    """A page of the admin."""
    return f"{settings.BASE_URL}/admin/{page}/{id}/change/"


UNRULY = re.compile(
    "[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)  # what terminals obey, and what turns the reading direction


def tamed(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts, each name in one line; a note keeps its lines."""
    names = {name: one_line(facts[name]) for name in ("lead_name", "event_type", "host", "organization")}
    people = [{**person, "name": one_line(person["name"])} for person in facts["attendees"]]
    return {
        **facts,
        **names,
        "attendees": people,
        "note": "\n".join(UNRULY.sub(" ", line) for line in facts["note"].splitlines()),
    }


def one_line(text: str) -> str:
    """A name that stays where it is put: no line break gets into the mail's head, or makes a line of its own below."""
    return " ".join(UNRULY.sub(" ", text).split())[:200]


CUT_AGAIN_SECONDS = 0.5
_senders = ThreadPoolExecutor(max_workers=8, thread_name_prefix="mail")  # smtplib waits where it stands


class EmailChannel(Channel):
    """E-mail, one connection to the mail server for an organization's turn."""

    medium = ChannelKind.EMAIL

    @asynccontextmanager
    async def session(self, organization: Organization) -> AsyncIterator[Send]:
        """A function that sends over one connection, opened anew after a failure."""
        connection, loop = get_connection(), asyncio.get_running_loop()
        try:
            yield lambda notification: loop.run_in_executor(_senders, send, notification, connection)
        finally:
            await loop.run_in_executor(_senders, connection.close)


def send(notification: Notification, connection: Any) -> Result:
    """One mail, and how it went; given up while the lease surely lasts."""
    mail = compose(notification)
    mail.connection = connection
    try:
        with cut_off_after(settings.DELIVERY_LEASE_SECONDS / 2, connection):
            connection.open()  # otherwise it is closed again after each mail
            mail.send()
    except (smtplib.SMTPException, OSError) as error:
        connection.close()
        return Result(error=error_class(error))
    return Result()


@contextmanager
def cut_off_after(seconds: float, connection: Any) -> Iterator[None]:
    """Shut the line to the mail server when the time is up: its own timeout is for each answer, not for the whole."""
    done = threading.Event()
    threading.Thread(target=watch, args=(done, seconds, connection), daemon=True).start()
    try:
        yield
    finally:
        done.set()


def watch(done: threading.Event, seconds: float, connection: Any) -> None:
    """Once the time is up, cut the line off; again and again, since it may just be opening."""
    while not done.wait(seconds):
        cut_off(connection)
        seconds = CUT_AGAIN_SECONDS


def cut_off(connection: Any) -> None:
    """End the conversation from our side; whoever waits for an answer gets an error."""
    sock = getattr(getattr(connection, "connection", None), "sock", None)
    if sock:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def error_class(error: Exception) -> str:
    """One word for staff; smtplib hides a timeout inside its own errors."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return "recipient_refused"
    return (
        "timeout" if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError) else "mail_server"
    )
