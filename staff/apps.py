"""The app of all admin pages, and Django's admin with its own site."""

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig

from staff import labels


class StaffConfig(AppConfig):
    name = "staff"


class AdminSiteConfig(SimpleAdminConfig):
    """The URLs import the pages: workers and most commands need none, and start a tenth faster."""

    default_site = "staff.site.PipelineAdminSite"

    def ready(self) -> None:
        labels.apply_labels()  # before the pages make forms of the models
        super().ready()
