"""The project's own Django apps: one for its commands and templates, one for its admin site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class PipelineBackendConfig(AppConfig):
    """Lets Django find the management commands, and imports modules that register something."""

    name = "pipeline_backend"

    def ready(self) -> None:
        """Import the Celery app, two admin pages and the OpenAPI extensions; each registers itself."""
        # Imported here because all need the app registry to be ready.
        from pipeline_backend import celery  # noqa: F401, PLC0415
        from pipeline_backend.admin import invitations, organizations  # noqa: F401, PLC0415
        from pipeline_backend.api import openapi  # noqa: F401, PLC0415


class AdminSiteConfig(AdminConfig):
    """Replaces Django's admin site with ours."""

    default_site = "pipeline_backend.admin.site.PipelineAdminSite"
