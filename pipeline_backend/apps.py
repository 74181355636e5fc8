"""The project's own Django apps: one for its commands and templates, one for its admin site."""

import gc

from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin.apps import AdminConfig
from django.core.management import CommandError
from django.db.models.signals import pre_migrate

# What the apps import stays until the end: to look for garbage among it takes a sixth of the time of a start.
gc.disable()


class PipelineBackendConfig(AppConfig):
    """Lets Django find the management commands, and imports modules that register something."""

    name = "pipeline_backend"

    def ready(self) -> None:
        """Set labels, start tracing, import modules that register something (Celery, two pages, OpenAPI extensions)."""
        # Imported here because all need the app registry to be ready.
        from pipeline_backend import celery, observability  # noqa: F401, PLC0415
        from pipeline_backend.admin import labels  # noqa: PLC0415

        labels.apply_labels()  # before the admin pages make forms of the models
        from pipeline_backend.admin import invitations, organizations  # noqa: F401, PLC0415
        from pipeline_backend.api import openapi  # noqa: F401, PLC0415

        pre_migrate.connect(refuse_pooled_migrations)
        observability.start()


def refuse_pooled_migrations(plan: list[object], **_: object) -> None:
    """Raise CommandError if there is anything to migrate through a pooler in transaction mode."""
    # Migrations change time-outs of their session, which is somebody else's there.
    if plan and settings.DATABASE_POOLER == "transaction":
        raise CommandError(
            "Migrations need a session: run migrate with the address of PostgreSQL itself in DATABASE_URL, and without "
            "DATABASE_POOLER"
        )


class AdminSiteConfig(AdminConfig):
    """Replaces Django's admin site with ours."""

    default_site = "pipeline_backend.admin.site.PipelineAdminSite"

    def ready(self) -> None:
        """Import the pages, the last of what is imported; collect garbage from now on, but not among all that."""
        super().ready()
        gc.freeze()
        gc.enable()
