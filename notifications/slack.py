"""Slack, by an organization's incoming webhook; sent with the care that all outgoing requests get."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import orjson

from notifications.channels import Channel, Send
from notifications.mail import admin_link, format_local_time, one_line
from notifications.models import ChannelKind, Notification
from organizations.models import Organization
from pipeline_backend.egress import EndpointClient
from pipeline_backend.outbox import Result

LONGEST_NAME = 150


class SlackChannel(Channel):
    """One connection for an organization's turn."""

    medium = ChannelKind.SLACK

    @asynccontextmanager
    async def session(self, organization: Organization) -> AsyncIterator[Send]:
        """A function that posts over one connection; without an address any more, the message is given up."""
        line = EndpointClient(organization.slack_url)

        async def send(notification: Notification) -> Result:
            if not organization.slack_url:
                return Result(error="switched_off", is_final=True)
            return await line.post(orjson.dumps(message(notification)), {})

        try:
            yield send
        finally:
            line.close()


def message(notification: Notification) -> dict[str, Any]:
    """What Slack shows: one line for the list, and the facts under it."""
    facts = notification.context
    when = format_local_time(datetime.fromisoformat(facts["schedule_time"]), "UTC")
    title = f"{notification.get_kind_display()}: {escaped(facts['lead_name'])}"
    lines = [
        f"*{title}*",
        f"{escaped(facts['event_type'] or 'Call')}, {when}",
        f"Host: {escaped(facts['host'] or 'nobody yet')}",
        f"<{admin_link('appointments/appointment', facts['appointment_id'])}|Open it>",
    ]
    text = {
        "type": "mrkdwn",
        "text": "\n".join(lines),
        "verbatim": True,
    }  # otherwise Slack makes links and mentions of plain words
    return {"text": f"{title}, {when}", "blocks": [{"type": "section", "text": text}]}


def escaped(text: str) -> str:
    """Nobody's name becomes a link, a mention, or a line of its own; Slack refuses what is much longer."""
    return one_line(text)[:LONGEST_NAME].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
