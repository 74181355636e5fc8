"""The project's own app: its commands, and the start of Django."""

import gc

from django.apps import AppConfig

from pipeline_backend.former_settings import warn_of_former_settings

# Imported modules are never freed, so don't collect garbage while importing: saves a sixth of the start.
gc.disable()


class PipelineBackendConfig(AppConfig):
    """The last app, so that everything has been imported when it is ready."""

    name = "pipeline_backend"

    def ready(self) -> None:
        """Import the modules that register something, start tracing, and collect garbage from now on."""
        # Imported here because all need the app registry to be ready.
        from appointments import imports, undoing  # noqa: F401, PLC0415
        from foundation.api import openapi  # noqa: F401, PLC0415
        from leads.imports import leads, undoing_leads  # noqa: F401, PLC0415
        from pipeline_backend import celery, migration_checks, observability  # noqa: F401, PLC0415

        warn_of_former_settings()
        migration_checks.connect()
        observability.start()
        gc.freeze()
        gc.enable()
