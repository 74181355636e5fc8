"""Channels: one class for each medium a notification can take.

A channel opens a session for an organization and gives a coroutine function that sends one notification and says how it went;
claiming, retrying and giving up are the outbox's.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

from django.db.models import Q

from notifications.models import ChannelKind, Notification
from organizations.models import Organization
from pipeline_backend.outbox.queue import Queue
from pipeline_backend.outbox.retries import Result

Send = Callable[[Notification], Awaitable[Result]]


class Channel(ABC):
    """A medium, and how it sends."""

    medium: ClassVar[ChannelKind]

    @abstractmethod
    def session(self, organization: Organization) -> AbstractAsyncContextManager[Send]:
        """Whatever one organization's messages share, such as a connection."""

    def queue(self) -> Queue:
        """The channel's jobs, a group for each organization."""
        return Queue(
            model=Notification,
            group="organization",
            group_model=Organization,
            session=self.session,
            open=Q(is_active=True),
            read=lambda due: due.select_related("recipient__user", "organization"),
            job=lambda notification: notification,
            only=Q(medium=self.medium),
        )
