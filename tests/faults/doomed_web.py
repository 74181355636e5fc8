"""The web application, which kills its server between the commit of a booking and its doorbell."""

import os
import signal

from pipeline_backend.wsgi import application

# isort: split
from pipeline_backend.outbox import Doorbell  # now that Django is ready

__all__ = ["application"]


def die(*_: object) -> None:
    """The server and its worker processes."""
    os.killpg(0, signal.SIGKILL)


Doorbell.publish = die
