"""Renders the e-mails to leads. Their text was filled in when they were queued, so a retry sends the same."""

import re
from email.utils import formataddr, parseaddr

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.core.mail.message import sanitize_address
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from foundation.api.emails import mail_address
from notifications.lead_messages import MAX_NAME
from notifications.mail import attach_invitation, build_email, single_line
from notifications.models import Kind, Notification
from notifications.services import lead_unsubscribe_url

URL = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
PUNCTUATION = ".,:;!?)'"  # at the end of a URL it is that of the sentence


def render_to_lead(notification: Notification, to: str) -> EmailMultiAlternatives:
    """Return the e-mail: in the organization's name, from the installation's address; answers go to the host."""
    context = notification.context
    organization, lead_id = mailbox_name(context["organization"]), context["lead_id"]
    _, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    values = {
        "body": context["body"],
        "linked_body": linked(context["body"], context["meeting_url"]),
        "organization": single_line(context["organization"]),
        # A test has no lead who could unsubscribe.
        "unsubscribe_url": lead_unsubscribe_url(notification.organization_id, lead_id) if lead_id else "",
    }
    host = context["reply_to"]
    email = build_email(
        to,
        single_line(context["subject"]),
        "notifications/lead",
        values,
        {"X-Notification-Id": str(notification.pk)},
        from_email=formataddr((organization, address)),
        reply_to=[reply_address(**host)] if host else None,
    )
    if context["uid"] and notification.kind != Kind.LEAD_REMINDED:
        names = {name: single_line(context[name]) for name in ("sender", "summary")}
        attach_invitation(email, notification.kind, context | names | {"description": context["body"]})
    return email


def reply_address(name: str, email: str) -> str:
    # The name apart: `sanitize_address` breaks a long one into lines, which Django then refuses.
    return formataddr((mailbox_name(name), sanitize_address(mail_address(email), "utf-8")))


def linked(text: str, meeting_url: str) -> SafeString:
    """Return the text as HTML, with a link to each URL as it is: Django's `urlize` decodes escapes in its query."""
    parts, end = [], 0
    for match in URL.finditer(text):
        url = match[0].rstrip(PUNCTUATION)
        if meeting_url and match[0].startswith(meeting_url) and len(url) < len(meeting_url):
            url = meeting_url
        parts += [escape(text[end : match.start()]), format_html('<a href="{}" rel="nofollow">{}</a>', url, url)]
        end = match.start() + len(url)
    return mark_safe("".join([*parts, escape(text[end:])]))  # noqa: S308  # all parts are escaped


def mailbox_name(text: str) -> str:
    # Mail programs decode an encoded word (RFC 2047) in a name that was typed as one.
    return single_line(text, most=MAX_NAME).replace("=?", "= ?")
