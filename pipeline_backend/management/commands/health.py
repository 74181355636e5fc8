"""manage.py health: the same check as `/healthz`, for containers without a web server."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from pipeline_backend.web.health import health_error


class Command(BaseCommand):
    help = (
        "Check what /healthz checks. Exit code 0 if the service is healthy, "
        "1 if the database does not answer or no worker is processing what is due."
    )
    # System checks would load all URLs and admin pages: too slow for a probe every minute.
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        error = health_error()
        if error:
            raise CommandError(error)
        self.stdout.write("No problems found.")
