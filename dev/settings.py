"""The project's settings for `make run`, with the local inbox, which shows e-mails with links that sign people in."""

from pipeline_backend.settings import *  # noqa: F403

LOCAL_RUN = True
ROOT_URLCONF = "dev.urls"
