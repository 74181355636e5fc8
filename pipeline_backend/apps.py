"""The project's own app: its commands, and the start of Django."""

import gc

from django.apps import AppConfig
from django.conf import settings
from django.core.management import CommandError
from django.db.models.signals import pre_migrate

from pipeline_backend.former_settings import warn_of_former_settings

# Imported modules are never freed, so don't collect garbage while importing: saves a sixth of the start.
gc.disable()


class PipelineBackendConfig(AppConfig):
    """The last app, so that everything has been imported when it is ready."""

    name = "pipeline_backend"

    def ready(self) -> None:
        """Import the modules that register something, start tracing, and collect garbage from now on."""
        # Imported here because all need the app registry to be ready.
        from appointments import imports  # noqa: F401, PLC0415
        from foundation.api import openapi  # noqa: F401, PLC0415
        from leads.imports import leads  # noqa: F401, PLC0415
        from pipeline_backend import celery, observability  # noqa: F401, PLC0415

        warn_of_former_settings()
        pre_migrate.connect(refuse_pooled_migrations)
        observability.start()
        gc.freeze()
        gc.enable()


def refuse_pooled_migrations(plan: list[object], **_: object) -> None:
    # Migrations change time-outs of their session, which belongs to another client there.
    if plan and settings.DATABASE_POOLER == "transaction":
        raise CommandError(
            "Migrations need a session: run migrate with the address of PostgreSQL itself in DATABASE_URL, and without "
            "DATABASE_POOLER"
        )
