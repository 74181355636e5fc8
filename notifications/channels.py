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
from pipeline_backend.outbox import Queue, Result

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
            group_field="organization",
            group_model=Organization,
            open_session=self.session,
            enabled=Q(is_active=True),
            select_for_claim=lambda due: due.select_related("recipient__user", "organization"),
            build_job=lambda notification: notification,
            filter=Q(medium=self.medium),
        )
