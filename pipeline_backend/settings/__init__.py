"""Django's settings, in a module for each library or subject.

They are read from environment variables, which docs/operate.md lists; an invalid value stops the start and names its
variable. No secret has a default. A value that no installation has to change is a constant: here if tests change it in
the processes that they start, otherwise beside the code that uses it.
"""

from pipeline_backend.settings.accounts import *  # noqa: F403
from pipeline_backend.settings.applications import *  # noqa: F403
from pipeline_backend.settings.database import *  # noqa: F403
from pipeline_backend.settings.email import *  # noqa: F403
from pipeline_backend.settings.instance import *  # noqa: F403
from pipeline_backend.settings.observability import *  # noqa: F403
from pipeline_backend.settings.outbox import *  # noqa: F403
from pipeline_backend.settings.redis import *  # noqa: F403
from pipeline_backend.settings.rest_framework import *  # noqa: F403
from pipeline_backend.settings.unfold import *  # noqa: F403
from pipeline_backend.settings.web import *  # noqa: F403
