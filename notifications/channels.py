"""The base of the channels that notifications are sent over."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

from django.db.models import Q

from notifications.models import ChannelKind, Notification
from organizations.models import Organization
from pipeline_backend.outbox import Limit, Queue, Result

Send = Callable[[Notification], Awaitable[Result]]


class Channel(ABC):
    """A way to send notifications. The outbox claims, retries and gives up; a channel only sends."""

    channel_kind: ClassVar[ChannelKind]
    limit: ClassVar[Limit | None] = None

    @abstractmethod
    def session(self, organization: Organization) -> AbstractAsyncContextManager[Send]:
        """Open what the organization's messages share, such as a connection, and return the function that sends one."""

    def queue(self) -> Queue:
        """Return the queue of the channel's notifications, grouped by organization."""
        return Queue(
            model=Notification,
            group_field="organization",
            group_model=Organization,
            open_session=self.session,
            enabled=Q(is_active=True),
            select_for_claim=lambda due: due.select_related("recipient__user", "organization"),
            build_job=lambda notification: notification,
            filter=Q(medium=self.channel_kind),
            limit=self.limit,
        )
