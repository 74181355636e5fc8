"""The app's configuration."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class WebhooksConfig(AppConfig):
    name = "webhooks"

    def ready(self) -> None:
        import webhooks.key_endpoints  # noqa: F401, PLC0415  # has receivers of signals; needs the models to be loaded
        from webhooks.transaction_ids import renumber_after_migrate  # noqa: PLC0415

        post_migrate.connect(renumber_after_migrate, sender=self, dispatch_uid="webhooks.transaction_ids")
