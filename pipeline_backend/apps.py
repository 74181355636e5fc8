"""The roof as Django apps: its commands and templates, and its admin site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class PipelineBackendConfig(AppConfig):
    """Lets Django find the management commands that compose apps."""

    name = "pipeline_backend"

    def ready(self) -> None:
        """Register the parts that Django and drf-spectacular find by import."""
        from . import celery  # noqa: F401, PLC0415  # apps must be ready first
        from .api import schema  # noqa: F401, PLC0415


class AdminSiteConfig(AdminConfig):
    """Puts our admin site where Django's stands."""

    default_site = "pipeline_backend.admin_site.Site"
