"""The app of all admin pages, and Django's admin with its own site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig

from staff import labels


class StaffConfig(AppConfig):
    """Lets Django find the templates and static files."""

    name = "staff"


class AdminSiteConfig(AdminConfig):
    """Replaces Django's admin site with ours."""

    default_site = "staff.site.PipelineAdminSite"

    def ready(self) -> None:
        """Import all pages (`staff.admin`)."""
        labels.apply_labels()  # before the pages make forms of the models
        super().ready()
