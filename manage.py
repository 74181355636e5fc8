#!/usr/bin/env python
"""Django's command-line utility. Beside `make run` it uses that instance (`dev.local.attach`)."""

import os
import sys
from contextlib import ExitStack
from pathlib import Path

try:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
except ModuleNotFoundError:
    sys.exit(f"{sys.executable} has no Django; use .venv/bin/python manage.py (make run creates .venv)")

from dev.local import StartupError
from dev.local.attach import use_local_instance

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline_backend.settings")
    try:
        with ExitStack() as stack:
            use_local_instance(Path(__file__).resolve().parent, stack)
            execute_from_command_line(sys.argv)
    # The sentence names the variable; a traceback would bury it.
    except ImproperlyConfigured as error:
        sys.exit(f"Invalid settings: {error}")
    except StartupError as error:
        sys.exit(str(error))
