#!/usr/bin/env python
"""Django's command-line utility."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline_backend.settings")
    try:
        execute_from_command_line(sys.argv)
    # The sentence names the variable; a traceback would bury it.
    except ImproperlyConfigured as error:
        sys.exit(f"Invalid settings: {error}")
