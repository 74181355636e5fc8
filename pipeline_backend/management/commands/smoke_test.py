"""manage.py smoke_test: try the service on this database, and leave nothing behind."""

import json
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction
from django.test import Client
from standardwebhooks import Webhook
from uuid_utils.compat import uuid7

from accounts.onboarding import create_organization
from foundation.db.timestamps import isoformat_z, now
from organizations.services import issue_key
from pipeline_backend.management.commands._command import BaseServiceCommand
from webhooks.models import Delivery
from webhooks.services import add_endpoint
from webhooks.signing import signed_headers

APPOINTMENTS = "/api/external/appointments"


class Command(BaseServiceCommand):
    help = (
        "Try this installation: create two organizations with an API key each, book and list an appointment through "
        "the API, check that the other organization doesn't see it, and sign its webhook. All of it is one "
        "transaction that is rolled back: nothing is stored, and nothing is sent. Exit code 1 if anything fails."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        with transaction.atomic():
            self.try_service()
            transaction.set_rollback(True)
        self.stdout.write("Everything works. Nothing was stored or sent.")

    def try_service(self) -> None:
        reference = f"smoke-test-{uuid7()}"
        organization, other = (create_organization(name=reference) for _ in range(2))
        secret = add_endpoint(organization=organization, url="https://example.com/")[1]
        key, other_key = (issue_key(organization=each, name="Smoke test")[1] for each in (organization, other))
        booking = {
            "external_reference": reference,
            "schedule_time": isoformat_z(now()),
            "lead_email": f"{reference}@example.com",
            "event_type_name": "Smoke test",
        }
        self.request("book an appointment", key, 201, "POST", json.dumps(booking))
        self.request("repeat the booking", key, 200, "POST", json.dumps(booking))
        listed = self.request("list appointments", key, 200)
        if [row["external_reference"] for row in listed] != [reference]:
            raise CommandError("The list lacks the appointment that was booked")
        if self.request("list with another organization's key", other_key, 200):
            raise CommandError("Another organization sees the appointment: row-level security does not work")
        deliveries = Delivery.objects.of(organization).select_related("event", "endpoint")
        delivery = deliveries.get(event__type="appointment.created")
        headers = signed_headers(str(delivery.event_id), delivery.event.body, delivery.endpoint.signing_secrets())
        Webhook(secret).verify(delivery.event.body, headers)
        self.stdout.write("sign and verify its webhook: ok")

    def request(self, step: str, key: str, status: int, method: str = "GET", body: str = "") -> Any:
        """Send a request to the appointments of the API, and return its `data`. Raises CommandError."""
        host = urlsplit(settings.BASE_URL).netloc
        client = Client(raise_request_exception=False, headers={"host": host, "x-api-key": key})
        response = client.generic(method, APPOINTMENTS, body, "application/json", secure=settings.HTTPS)
        if response.status_code != status:
            text = response.content.decode(errors="replace")[:500]
            raise CommandError(f"{step}: expected {status}, got {response.status_code}: {text}")
        self.stdout.write(f"{step}: {status}")
        return response.json()["data"]
