"""The project's own Django apps: its commands, templates and admin site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class PipelineBackendConfig(AppConfig):
    """Lets Django find the management commands, and imports what registers itself."""

    name = "pipeline_backend"

    def ready(self) -> None:
        """Import modules that Celery, drf-spectacular and the admin know only once they are imported."""
        from pipeline_backend import celery  # noqa: F401, PLC0415  # apps must be ready first
        from pipeline_backend.admin import organizations  # noqa: F401, PLC0415
        from pipeline_backend.api import openapi  # noqa: F401, PLC0415


class AdminSiteConfig(AdminConfig):
    """Replaces Django's admin site by ours."""

    default_site = "pipeline_backend.admin.site.PipelineAdminSite"
