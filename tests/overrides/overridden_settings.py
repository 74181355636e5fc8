"""The project's settings, changed by `overriding`."""

import json
import os

from pipeline_backend.settings import *  # noqa: F403

globals().update(json.loads(os.environ["OVERRIDDEN_SETTINGS"]))
