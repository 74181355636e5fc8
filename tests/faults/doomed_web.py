"""The web application, which kills its server in the middle of a booking, or between its commit and its doorbell.

The setting DOOM names the moment.
"""

import os
import signal

from pipeline_backend.web.rsgi import server

# isort: split
from pipeline_backend.outbox.wakeup import WakeUp  # now that Django is ready

__all__ = ["server"]


def die(*_: object) -> None:
    """The server and its worker processes."""
    os.killpg(0, signal.SIGKILL)


setattr(WakeUp, {"before the commit": "ring", "after the commit": "publish"}[os.environ["DOOM"]], die)
