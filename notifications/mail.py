"""E-mail notifications: rendering an e-mail from its row, and sending it."""

import asyncio
import contextlib
import re
import smtplib
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.template.loader import render_to_string

from notifications.channels import Channel, Send
from notifications.daily_limit import DAILY_LIMIT
from notifications.invitations import build_invitation
from notifications.models import APPOINTMENT_KINDS, ChannelKind, Context, Notification
from notifications.unsubscribing import unsubscribe_url
from organizations.models import Organization, User
from pipeline_backend.outbox import Result

MAX_NAME_LENGTH = 200
ABORT_INTERVAL_SECONDS = 0.5

# C0 and C1 control characters, and the characters that change the reading direction.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

# smtplib blocks, so e-mails are sent in threads of their own and not on the dispatcher's event loop.
_senders = ThreadPoolExecutor(max_workers=8, thread_name_prefix="mail")


class EmailChannel(Channel):
    """Sends an organization's e-mails over one connection to the mail server."""

    channel_kind = ChannelKind.EMAIL
    limit = DAILY_LIMIT

    @asynccontextmanager
    async def session(self, organization: Organization) -> AsyncIterator[Send]:
        """Return a function that sends over one connection, which is opened again after a failure."""
        async with mail_session(send) as send_one:
            yield send_one


@asynccontextmanager
async def mail_session(send: Callable[[Any, BaseEmailBackend], Result]) -> AsyncIterator[Callable[[Any], Any]]:
    """Return a coroutine function that calls `send` in a thread, with a job and a connection that all jobs share."""
    connection, loop = get_connection(), asyncio.get_running_loop()
    try:
        yield lambda job: loop.run_in_executor(_senders, send, job, connection)
    finally:
        await loop.run_in_executor(_senders, connection.close)


def send(notification: Notification, connection: BaseEmailBackend) -> Result:
    """Send a notification, unless its recipient is no member any more."""
    recipient = notification.recipient
    if recipient is None or not (recipient.is_active and recipient.user.is_active):
        return Result(error="not_a_member", is_final=True)
    return send_email(render(notification), connection)


def send_email(email: EmailMultiAlternatives, connection: BaseEmailBackend) -> Result:
    """Send one e-mail and return the result. Gives up well before the lease ends."""
    email.connection = connection
    try:
        with abort_after(settings.DELIVERY_LEASE_SECONDS / 2, connection):
            # Django closes a connection after each e-mail unless it was opened before.
            connection.open()
            email.send()
    except (smtplib.SMTPException, OSError) as error:
        connection.close()
        return Result(error=classify_error(error))
    return Result()


@contextmanager
def abort_after(seconds: float, connection: BaseEmailBackend) -> Iterator[None]:
    """Shut down the connection when the time is up, so that the code inside fails with an error."""
    # The socket's own timeout applies to each response and not to the whole conversation: a server that responds
    # slowly enough could hold the e-mail until its lease has ended.
    done = threading.Event()
    threading.Thread(target=_watchdog, args=(done, seconds, connection), daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _watchdog(done: threading.Event, seconds: float, connection: BaseEmailBackend) -> None:
    """Wait, then shut down the connection's socket until `done` is set."""
    while not done.wait(seconds):
        smtp = getattr(connection, "connection", None)
        sock = getattr(smtp, "sock", None)
        if sock:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        # Repeated, because the socket may not exist yet while the connection is being opened.
        seconds = ABORT_INTERVAL_SECONDS


def classify_error(error: Exception) -> str:
    """Return the error as the word that staff see."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return "recipient_refused"
    # smtplib raises its own errors while handling a timeout.
    is_timeout = isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError)
    return "timeout" if is_timeout else "mail_server"


def render(notification: Notification) -> EmailMultiAlternatives:
    """Return the e-mail of a notification. Reads nothing but the row, its recipient and its organization."""
    if notification.kind in APPOINTMENT_KINDS:
        return render_appointment(notification)
    return render_failing_endpoints(notification)


def render_appointment(notification: Notification) -> EmailMultiAlternatives:
    """Return the e-mail about an appointment, with the invitation as a calendar part and as a file."""
    data = sanitize_context(notification.context)
    start = datetime.fromisoformat(data["schedule_time"])
    when = format_local_time(start, recipient_user(notification).time_zone)
    link = admin_link("appointments/appointment", data["appointment_id"])
    context = {**data, "when": when, "link": link}
    email = build_email(notification, f"{data['lead_name']}, {when}", "appointment", context)
    method, calendar = build_invitation(notification.kind, data, start)
    # Mail clients show the calendar part with buttons to accept; the file is for those that don't.
    email.attach_alternative(calendar.decode(), f"text/calendar; method={method}")
    email.attach("invite.ics", calendar.decode(), f"text/calendar; method={method}")
    return email


def render_failing_endpoints(notification: Notification) -> EmailMultiAlternatives:
    """Return one e-mail about all of the organization's failing endpoints."""
    endpoints = [
        {**endpoint, "link": admin_link("webhooks/endpoint", endpoint["id"])}
        for endpoint in notification.context["endpoints"]
    ]
    subject = ", ".join(endpoint["name"] for endpoint in endpoints)
    context = {**notification.context, "endpoints": endpoints}
    return build_email(notification, subject, "failing_endpoints", context)


def build_email(notification: Notification, subject: str, template: str, context: Context) -> EmailMultiAlternatives:
    """Return an e-mail with a text and an HTML part, both rendered from `context`."""
    url = unsubscribe_url(notification)
    context = {**context, "kind": notification.get_kind_display(), "unsubscribe_url": url}
    email = EmailMultiAlternatives(
        subject=single_line(f"{context['kind']}: {subject}"),
        body=render_to_string(f"notifications/{template}.txt", context),
        to=[recipient_user(notification).email],
        headers={
            "X-Notification-Id": str(notification.pk),
            # Mail clients show a button for it, which needs no sign-in (RFC 8058).
            "List-Unsubscribe": f"<{url}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )
    email.attach_alternative(render_to_string(f"notifications/{template}.html", context), "text/html")
    return email


def recipient_user(notification: Notification) -> User:
    """Return the user who receives the e-mail."""
    assert notification.recipient is not None
    return notification.recipient.user


def format_local_time(start: datetime, time_zone: str) -> str:
    """Return the time in the time zone, with the zone's name. An unknown zone counts as UTC."""
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    return f"{start.astimezone(zone):%A, %d %B %Y, %H:%M} ({zone.key})"


def admin_link(page: str, id: str) -> str:
    """Return the URL of a row's page in the admin."""
    return f"{settings.BASE_URL}/admin/{page}/{id}/change/"


def sanitize_context(context: Context) -> Context:
    """Return the context with every name on one line and without control characters. A note keeps its line breaks."""
    names = {name: single_line(context[name]) for name in ("lead_name", "event_type", "host", "organization")}
    attendees = [{**attendee, "name": single_line(attendee["name"])} for attendee in context["attendees"]]
    note = "\n".join(CONTROL_CHARACTERS.sub(" ", line) for line in context["note"].splitlines())
    return {**context, **names, "attendees": attendees, "note": note}


def single_line(text: str) -> str:
    """Return the text on one line, without control characters and cut to 200 characters."""
    # Leads and integrations choose these names: a line break would add a header, or look like a line of ours.
    return " ".join(CONTROL_CHARACTERS.sub(" ", text).split())[:MAX_NAME_LENGTH]
