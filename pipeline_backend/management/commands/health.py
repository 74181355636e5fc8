"""manage.py health: what `/healthz` says, where there is no web server to ask."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from pipeline_backend.web.health import health_error


class Command(BaseCommand):
    """For the health check of a worker's container."""

    help = (
        "Say what /healthz would. Exit code 0 if all is well, 1 if the database is away or nobody takes up what is due."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """One sentence."""
        wrong = health_error()
        if wrong:
            raise CommandError(wrong)
        self.stdout.write("All is well.")
