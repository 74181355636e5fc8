"""The queues of notifications and security notices. The outbox claims, retries and gives up; these only send."""

from contextlib import AbstractAsyncContextManager

from django.db.models import Q, QuerySet

from notifications import mail, security_notices, slack
from notifications.daily_limit import DailyLimit
from notifications.models import ChannelKind, Notification
from organizations.models import Organization, SecurityNotice, User
from pipeline_backend.outbox import Queue, Result, Send


class NotificationQueue(Queue[Organization, Notification, Result]):
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


class EmailQueue(NotificationQueue):
    """Sends an organization's e-mails over one connection to the mail server."""

    channel = ChannelKind.EMAIL
    limit = DailyLimit()

    def open_session(self, organization: Organization) -> AbstractAsyncContextManager[Send[Notification, Result]]:
        """Yield a coroutine function that sends a notification."""
        return mail.mail_session(mail.send)


class SlackQueue(NotificationQueue):
    """Posts an organization's messages to its Slack channel."""

    channel = ChannelKind.SLACK

    def open_session(self, organization: Organization) -> AbstractAsyncContextManager[Send[Notification, Result]]:
        """Yield a coroutine function that posts a notification."""
        return slack.open_session(organization)


class SecurityNoticeQueue(Queue[User, SecurityNotice, Result]):
    """E-mails about a person's account, grouped by person."""

    label = "notifications"
    model = SecurityNotice
    group_field, group_model = "user", User
    related = ("event", "user")

    def open_session(self, user: User) -> AbstractAsyncContextManager[Send[SecurityNotice, Result]]:
        """Yield a coroutine function that sends a notice."""
        return mail.mail_session(security_notices.send)


EMAILS, SLACK_MESSAGES, SECURITY_NOTICES = EmailQueue(), SlackQueue(), SecurityNoticeQueue()
