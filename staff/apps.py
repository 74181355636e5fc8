"""The app of all admin pages, and Django's admin with its own site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig

from staff import labels


class StaffConfig(AppConfig):
    name = "staff"


class AdminSiteConfig(AdminConfig):
    default_site = "staff.site.PipelineAdminSite"

    def ready(self) -> None:
        labels.apply_labels()  # before the pages make forms of the models
        super().ready()
