"""Settings of Django's that a test changes in the processes which it starts. No variable of the service sets them."""

import json
from pathlib import Path


def overriding(**settings: object) -> dict[str, str]:
    """Return the environment variables of a process that has these settings."""
    # A folder of its own: a copy of the service, which some tests start, has no folder `tests`.
    folder = str(Path(__file__).parent)
    return {
        "PYTHONPATH": folder,
        "DJANGO_SETTINGS_MODULE": "overridden_settings",
        "OVERRIDDEN_SETTINGS": json.dumps(settings),
    }
