"""`python -m benchmarks.prepare 1000` fills an empty database with 1,000 appointments and prints a Dataset as JSON."""

import json
import sys
from dataclasses import asdict
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.db.models import Count, QuerySet  # noqa: E402  # after the settings
from django.test import Client  # noqa: E402

from accounts.onboarding import create_organization  # noqa: E402
from appointments.models import Appointment  # noqa: E402
from benchmarks.bulk_data import RARE_EMAIL, create_data  # noqa: E402
from benchmarks.environment import Dataset  # noqa: E402
from foundation.db.timestamps import isoformat_z  # noqa: E402
from organizations.models import Organization, User  # noqa: E402
from organizations.services import issue_key  # noqa: E402
from webhooks.services import add_endpoint  # noqa: E402

UNREACHABLE_LIMIT = 100_000_000  # requests are counted as usual, but none is refused
OTHER_ORGANIZATIONS = 16


def prepare(appointments: int) -> Dataset:
    """Create the organizations with their data and keys, and choose values to filter by."""
    organization = create_data(appointments)
    owners = [User.objects.create_user(f"owner@other{number}.example") for number in range(OTHER_ORGANIZATIONS)]
    others = [create_organization(name=f"Other {number}", owner=owner) for number, owner in enumerate(owners)]
    limited = create_organization(name="Rate limited", owner=User.objects.create_user("owner@limited.example"))

    rows = Appointment.objects.of(organization)
    newest_first = rows.order_by("-created_at")
    with_host = newest_first.select_related("host__user")
    with_setter = newest_first.exclude(setter=None).select_related("setter__user")
    leads = rows.values_list("lead", flat=True).annotate(appointments=Count("pk")).filter(appointments=2)
    return Dataset(
        organization_id=str(organization.pk),
        api_key=set_up_api_access(organization),
        rate_limited_key=set_up_api_access(limited, rate_limit=1),
        other_organizations_keys=[set_up_api_access(other) for other in others],
        other_cookie=sign_in(owners[0]),
        appointment_ids=[str(id) for id in newest_first.values_list("pk", flat=True)[:500]],
        lead_id=str(middle(leads.order_by("lead"))),
        external_reference=middle(newest_first.exclude(external_reference=None)).external_reference,
        event_type_id=str(middle(newest_first.exclude(event_type=None)).event_type_id),
        rare_email=RARE_EMAIL,
        host_email=middle(with_host).host.user.email,
        setter_email=middle(with_setter).setter.user.email,
        quantiles={column: quantiles(rows, column) for column in ("created_at", "updated_at", "schedule_time")},
    )


def sign_in(user: User) -> str:
    """Return the `Cookie` header of a new session."""
    client = Client()
    client.force_login(user)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def set_up_api_access(organization: Organization, rate_limit: int = UNREACHABLE_LIMIT) -> str:
    """Set the rate limit, add a webhook endpoint, and return the text of a new API key."""
    organization.rate_limit_per_minute = rate_limit
    organization.save()
    # Nothing listens there and no worker runs: the endpoint only makes the service write a delivery for each event.
    add_endpoint(organization=organization, url="http://127.0.0.1:9/events")
    _, key_text = issue_key(organization=organization, name="Benchmark")
    return key_text


def middle(rows: QuerySet[Any, Any]) -> Any:
    """Return the row in the middle of the queryset."""
    return rows[rows.count() // 2]


def quantiles(rows: QuerySet[Appointment], column: str) -> dict[str, str]:
    """Return three timestamps: half a percent of the rows are before `early`, and half a percent after `late`."""
    ordered, size = rows.order_by(column).values_list(column, flat=True), rows.count()
    positions = {"early": size // 200, "median": size // 2, "late": size - size // 200}
    return {name: isoformat_z(ordered[position]) for name, position in positions.items()}


if __name__ == "__main__":
    print(json.dumps(asdict(prepare(int(sys.argv[1])))))  # noqa: T201
