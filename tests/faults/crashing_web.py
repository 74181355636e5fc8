"""The web application with a crash built in: it kills its server in the middle of a booking, or right after its commit.

The environment variable CRASH says when: "before commit" or "after commit".
"""

import os
import signal

from pipeline_backend.web.rsgi import server

# isort: split
import notifications.services  # these need Django, which the import above has set up
import webhooks.events
from foundation.outbox import wakeup

__all__ = ["server"]


def crash(*_: object) -> None:
    """Kill the server and its worker processes."""
    os.killpg(0, signal.SIGKILL)


if os.environ["CRASH"] == "before commit":
    # Services notify within their transaction; the message itself is sent after the commit.
    notifications.services.notify_on_commit = webhooks.events.notify_on_commit = crash
else:
    wakeup.enqueue = crash
