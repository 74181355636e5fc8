"""The app's configuration."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class WebhooksConfig(AppConfig):
    name = "webhooks"

    def ready(self) -> None:
        from webhooks.transaction_ids import renumber_after_migrate  # noqa: PLC0415  # needs the models to be loaded

        post_migrate.connect(renumber_after_migrate, sender=self, dispatch_uid="webhooks.transaction_ids")
