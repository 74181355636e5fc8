"""The queues of notifications and security notices. The outbox claims, retries and gives up; these only send."""

import html
from datetime import datetime

import orjson
from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import Q, QuerySet

from notifications import mail, security_notices
from notifications.daily_limit import DailyLimit
from notifications.models import ChannelKind, Notification
from organizations.models import Organization, SecurityNotice, User
from pipeline_backend.egress import EndpointClient
from pipeline_backend.outbox import Queue, Result, Session

MAX_SLACK_NAME_LENGTH = 150


class NotificationQueue(Queue[Organization, Notification, Session]):
    """The notifications of one channel, grouped by organization."""

    label = "notifications"
    model = Notification
    group_field, group_model = "organization", Organization
    related = ("recipient__user", "organization")
    enabled = Q(is_active=True)
    channel: ChannelKind

    @property
    def rows(self) -> QuerySet:
        """Every notification of this channel, of all organizations."""
        return super().rows.filter(medium=self.channel)


class EmailQueue(mail.MailQueue[Organization, Notification], NotificationQueue[BaseEmailBackend]):
    """Sends an organization's e-mails."""

    name = "emails"
    channel = ChannelKind.EMAIL
    limit = DailyLimit()

    def render(self, notification: Notification) -> EmailMultiAlternatives | Result:
        """Return the e-mail, unless its recipient is no member any more."""
        recipient = notification.recipient
        if recipient is None or not (recipient.is_active and recipient.user.is_active):
            return Result(error="not_a_member", is_final=True)
        return mail.render(notification, recipient.user)


class SlackQueue(NotificationQueue[EndpointClient]):
    """Posts an organization's messages to its Slack channel."""

    name = "slack_messages"
    channel = ChannelKind.SLACK

    def open_session(self, organization: Organization) -> EndpointClient:
        """Return a client, with the SSRF guard of all outgoing requests."""
        return EndpointClient(organization.slack_url)

    async def send(self, client: EndpointClient, organization: Organization, notification: Notification) -> Result:
        # Slack may have been disconnected since the message was queued. Then no retry can help.
        if not organization.slack_url:
            return Result(error="switched_off", is_final=True)
        return await client.post(orjson.dumps(render_slack_message(notification)), {})


def render_slack_message(notification: Notification) -> dict[str, object]:
    """Return the body of a Slack message: one line for Slack's own notifications, and the details as a block."""
    context = notification.context
    # A team can span several time zones, so the message names UTC.
    when = mail.format_local_time(datetime.fromisoformat(context["schedule_time"]), "UTC")
    title = f"{notification.get_kind_display()}: {escape_name(context['lead_name'])}"
    lines = [
        f"*{title}*",
        f"{escape_name(context['event_type'] or 'Appointment')}, {when}",
        f"Host: {escape_name(context['host'] or 'not assigned')}",
        f"<{mail.admin_link('appointments/appointment', context['appointment_id'])}|Open the appointment>",
    ]
    # Without `verbatim`, Slack turns plain words into links and mentions.
    text = {"type": "mrkdwn", "text": "\n".join(lines), "verbatim": True}
    return {"text": f"{title}, {when}", "blocks": [{"type": "section", "text": text}]}


def escape_name(text: str) -> str:
    """Return the name on one line and escaped, so that it can't become a link or a mention."""
    # Slack refuses messages that are too long.
    return html.escape(mail.single_line(text)[:MAX_SLACK_NAME_LENGTH], quote=False)


class SecurityNoticeQueue(mail.MailQueue[User, SecurityNotice]):
    """E-mails about a person's account, grouped by person."""

    name, label = "security_notices", "notifications"
    model = SecurityNotice
    group_field, group_model = "user", User
    related = ("event", "user")

    def render(self, notice: SecurityNotice) -> EmailMultiAlternatives:
        return security_notices.render(notice)


EMAILS, SLACK_MESSAGES, SECURITY_NOTICES = EmailQueue(), SlackQueue(), SecurityNoticeQueue()
