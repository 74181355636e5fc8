"""Renders e-mails: that of a notification from its row, and those of other packages from their templates."""

import re
from datetime import datetime
from email.header import Header
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from foundation.api.emails import mail_address
from foundation.db.timestamps import get_zone
from notifications.models import Context, Kind, Notification
from notifications.services import unsubscribe_url
from organizations.models import User

MAX_NAME_LENGTH = 200
MAX_SUBJECT_NAME_LENGTH = 100

# The sentence that explains a kind of e-mail, for those whose name does not.
HINTS = {
    Kind.CALL_UPDATED: "The people, the link or the type of the call have changed.",
    Kind.CALL_REASSIGNED: "You no longer take part in this call. Its entry in your calendar is removed.",
}

# C0 and C1 control characters, and the characters that change the reading direction.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def render(notification: Notification, user: User) -> EmailMultiAlternatives:
    """Return the e-mail of a notification to the user. Reads nothing but the row and its organization."""
    kind = notification.get_kind_display()
    context: Context = {"kind": kind, "unsubscribe_url": unsubscribe_url(notification)}
    headers = {"X-Notification-Id": str(notification.pk)}
    if notification.kind == Kind.ENDPOINTS_FAILING:
        endpoints = notification.context["endpoints"]
        links = [{**endpoint, "link": admin_link("webhooks/endpoint", endpoint["id"])} for endpoint in endpoints]
        subject = single_line(f"{kind}: {', '.join(endpoint['name'] for endpoint in endpoints)}")
        context |= {**notification.context, "endpoints": links}
        return build_email(user.email, subject, "notifications/failing_endpoints", context, headers)

    if notification.kind == Kind.HANDED_OVER:
        names = {name: single_line(text) for name, text in notification.context.items()}
        subject = single_line(f"{names['work']} of {names['member']} for you")
        link = f"{settings.BASE_URL}/admin/?who=mine"
        return build_email(user.email, subject, "notifications/handed_over", context | names | {"link": link}, headers)

    data = sanitize_context(notification.context)
    if "lead_id" in data:
        subject = f"{kind}: {data['lead_name'][:MAX_SUBJECT_NAME_LENGTH]}"
        data["link"] = admin_link("leads/lead", data["lead_id"])
        return build_email(user.email, subject, "notifications/mention", context | data, headers)

    start = datetime.fromisoformat(data["schedule_time"])
    when = format_local_time(start, user.time_zone)
    data |= {"when": when, "link": admin_link("appointments/appointment", data["appointment_id"])}
    # Cut, so that the time fits behind it.
    subject = f"{kind}: {data['lead_name'][:MAX_SUBJECT_NAME_LENGTH]}"
    if notification.kind == Kind.MENTIONED:
        return build_email(user.email, subject, "notifications/mention", context | data, headers)

    subject = single_line(f"{subject}, {when}")
    if notification.kind == Kind.CALL_REASSIGNED:
        data["meeting_url"] = ""
    context |= {"hint": HINTS.get(Kind(notification.kind)), "reason": reason(notification.kind, data)}
    email = build_email(user.email, subject, "notifications/appointment", context | data, headers)
    if data.get("uid") == "":
        return email
    attach_invitation(email, notification.kind, data)
    return email


def attach_invitation(email: EmailMultiAlternatives, kind: str, context: Context) -> None:
    from notifications.invitations import build_invitation  # noqa: PLC0415  # its library takes 2 MB

    method, calendar = build_invitation(kind, context, datetime.fromisoformat(context["schedule_time"]))
    # Mail clients show the calendar part as an entry; the file is for those that don't.
    email.attach_alternative(calendar.decode(), f"text/calendar; method={method}")
    email.attach("invite.ics", calendar.decode(), f"text/calendar; method={method}")


def reason(kind: str, context: Context) -> str:
    if kind == Kind.CALL_REASSIGNED:
        return "you were invited to the call before"
    if context.get("is_unassigned"):
        return f"no one is assigned to the call and you are an owner of {context['organization']}"
    return "you are the host, the setter or the triager of the call"


def build_email(
    to: str, subject: str, template: str, context: Context, headers: dict[str, str] | None = None, **options: Any
) -> EmailMultiAlternatives:
    """Return the e-mail; `options` are those of `EmailMultiAlternatives`, such as `reply_to`."""
    context, headers = {**context, "subject": subject}, headers or {}
    if url := context.get("unsubscribe_url"):
        # Mail clients show a button for it, which needs no sign-in (RFC 8058).
        headers |= {"List-Unsubscribe": f"<{url}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    # Django sends an ASCII subject as it is, and mail programs would decode an encoded word in a name (RFC 2047): with
    # line breaks and links in it. On one line, because Django refuses line breaks; it folds the line itself.
    if "=?" in subject:
        subject = Header(subject, "utf-8").encode(linesep="")
    text = render_to_string(f"{template}.txt", context)
    email = EmailMultiAlternatives(subject, text, to=[mail_address(to)], headers=headers, **options)
    email.attach_alternative(render_to_string(f"{template}.html", context), "text/html")
    return email


def format_local_time(start: datetime, time_zone: str) -> str:
    """Return the time in the time zone, with the zone's name. An unknown zone counts as UTC."""
    zone = get_zone(time_zone)
    return f"{start.astimezone(zone):%A, %d %B %Y, %H:%M} ({zone.key})"


def admin_link(page: str, id: str) -> str:
    return f"{settings.BASE_URL}/admin/{page}/{id}/change/"


def sanitize_context(context: Context) -> Context:
    """Return the context with every name on one line and without control characters. A note keeps its line breaks."""
    one_line = ("lead_name", "event_type", "host", "organization", "author")
    names = {name: single_line(context[name]) for name in one_line if name in context}
    attendees = [{**attendee, "name": single_line(attendee["name"])} for attendee in context.get("attendees", [])]
    note = "\n".join(CONTROL_CHARACTERS.sub(" ", line) for line in context["note"].splitlines())
    return {**context, **names, "attendees": attendees, "note": note}


def single_line(text: str, most: int = MAX_NAME_LENGTH) -> str:
    # Leads and integrations choose these names: a line break would add a header, or look like a line of the e-mail.
    return " ".join(CONTROL_CHARACTERS.sub(" ", text).split())[:most]
