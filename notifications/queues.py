"""The queues of e-mails and of Slack messages. The outbox claims, retries and gives up; these only send."""

import asyncio
import contextlib
import smtplib
import socket
from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import orjson
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from foundation.db.timestamps import now
from foundation.metrics.definitions import LIMITS_EXCEEDED
from foundation.outbox import Batch, ClaimedJob, Group, Queue, Result, Session, State
from notifications import mail, slack
from notifications.daily_limit import DailyLimit, LimitedKind, give_back_of_kind, take_of_kind
from notifications.lead_mail import render_to_lead
from notifications.models import LEAD_KINDS, ChannelKind, Kind, Notification
from organizations.models import Organization

if TYPE_CHECKING:
    from foundation.egress.client import EndpointClient

ABORT_INTERVAL_SECONDS = 0.5

# smtplib blocks, so e-mails are sent in threads of their own and not on the dispatcher's event loop.
_senders = ThreadPoolExecutor(max_workers=8, thread_name_prefix="mail")


class MailQueue(Queue[Group, ClaimedJob, BaseEmailBackend]):
    @abstractmethod
    def render(self, job: ClaimedJob) -> EmailMultiAlternatives | Result:
        """Return the job's e-mail, or the result if there is nothing to send. Makes no query."""

    @asynccontextmanager
    async def open_session(self, group: Group) -> AsyncIterator[BaseEmailBackend]:
        connection = get_connection()
        try:
            yield connection
        finally:
            await asyncio.get_running_loop().run_in_executor(_senders, connection.close)

    async def send(self, connection: BaseEmailBackend, group: Group, job: ClaimedJob) -> Result:
        """Send the job's e-mail in a thread. Ends well before the lease does, by shutting the connection down."""
        # The socket's own timeout applies to each response and not to the whole conversation: a server that responds
        # slowly enough could hold the e-mail until its lease has ended.
        sending = asyncio.get_running_loop().run_in_executor(_senders, self.send_now, connection, job)
        seconds = settings.DELIVERY_LEASE_SECONDS / 2
        while not (await asyncio.wait([sending], timeout=seconds))[0]:
            if sock := getattr(getattr(connection, "connection", None), "sock", None):
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
            # Repeated, because the socket may not exist yet while the connection is being opened.
            seconds = ABORT_INTERVAL_SECONDS
        return sending.result()

    def send_now(self, connection: BaseEmailBackend, job: ClaimedJob) -> Result:
        email = self.render(job)
        if isinstance(email, Result):
            return email
        email.connection = connection
        try:
            # Django closes a connection after each e-mail unless it was opened before.
            connection.open()
            email.send()
        except (smtplib.SMTPException, OSError) as error:
            connection.close()
            return Result(error=classify_error(error))
        return Result()


def classify_error(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return "recipient_refused"
    # smtplib raises its own errors while handling a timeout.
    is_timeout = isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError)
    return "timeout" if is_timeout else "mail_server"


class NotificationQueue(Queue[Organization, Notification, Session]):
    label = "notifications"
    model = Notification
    group_field, group_model = "organization", Organization
    related = ("recipient__user", "organization")
    enabled = Q(is_active=True)
    channel: ChannelKind

    @property
    def rows(self) -> QuerySet:
        return super().rows.filter(medium=self.channel)


class EmailQueue(MailQueue[Organization, Notification], NotificationQueue[BaseEmailBackend]):
    name = "emails"
    channel = ChannelKind.EMAIL
    limit = DailyLimit()

    def complete_jobs(self, jobs: list[Notification]) -> list[Notification]:
        """End the e-mails to leads whose call has begun, and those beyond their kind's limit, which staff see as dead.

        Returns the others.
        """
        late = [job for job in jobs if job.kind in LEAD_KINDS and is_late(job)]
        if late:
            end(late, state=State.CANCELED)
        jobs = [job for job in jobs if job not in late]
        for kind, new in first_attempts(jobs).items():
            if refused := new[take_of_kind(new[0].organization_id, kind, len(new)) :]:
                LIMITS_EXCEEDED.labels(f"{kind}_emails").inc()
                end(refused, state=State.DEAD, last_error=f"{kind}_limit")
                jobs = [job for job in jobs if job not in refused]
        return jobs

    @transaction.atomic
    def release(self, batch: Batch[Organization, Notification], unsent: Sequence[Notification]) -> None:
        super().release(batch, unsent)
        for kind, new in first_attempts(unsent).items():
            give_back_of_kind(batch.group.pk, kind, len(new))

    def render(self, notification: Notification) -> EmailMultiAlternatives | Result:
        recipient = notification.recipient
        if recipient is None and notification.kind in LEAD_KINDS:
            return render_to_lead(notification, notification.context["to"])
        if recipient is None or not (recipient.is_active and recipient.user.is_active):
            return Result(error="not_a_member", is_final=True)
        if notification.kind in LEAD_KINDS:  # a test, which a member sends to themselves
            return render_to_lead(notification, recipient.user.email)
        return mail.render(notification, recipient.user)


def first_attempts(notifications: Sequence[Notification]) -> dict[LimitedKind, list[Notification]]:
    """Return the notifications that were never claimed before and have a limit of their own, by its kind."""
    found: dict[LimitedKind, list[Notification]] = {}
    for notification in notifications:
        kind: LimitedKind = "mention" if notification.kind == Kind.MENTIONED else "lead"
        is_limited = kind == "mention" or notification.kind in LEAD_KINDS
        if is_limited and not (notification.attempt_count or notification.claim_count):
            found.setdefault(kind, []).append(notification)
    return found


def is_late(notification: Notification) -> bool:
    """Return whether the call that a lead would be written to about has begun."""
    return notification.recipient_id is None and datetime.fromisoformat(notification.context["schedule_time"]) <= now()


def end(notifications: list[Notification], **values: str) -> None:
    rows = Notification.unscoped.filter(pk__in=[notification.pk for notification in notifications])
    rows.update(next_attempt_at=None, finished_at=Now(), **values)


class SlackQueue(NotificationQueue["EndpointClient"]):
    name = "slack_messages"
    channel = ChannelKind.SLACK

    def open_session(self, organization: Organization) -> "EndpointClient":
        from foundation.egress.client import EndpointClient  # noqa: PLC0415  # slow, and only workers need it

        return EndpointClient(organization.slack_url, owner=organization.pk)

    async def send(self, client: "EndpointClient", organization: Organization, notification: Notification) -> Result:
        # Slack may have been disconnected since the message was queued. Then no retry can help.
        if not organization.slack_url:
            return Result(error="switched_off", is_final=True)
        return await client.post(orjson.dumps(slack.render(notification)), {})


EMAILS, SLACK_MESSAGES = EmailQueue(), SlackQueue()
