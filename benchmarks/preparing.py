"""`python -m benchmarks.preparing 1000`: fill a database, and say as JSON what the benchmark must know of it."""

import json
import sys
from typing import Any

import django

django.setup()

from django.db.models import Count  # noqa: E402  # after the settings

from appointments.models import Appointment  # noqa: E402
from benchmarks.filling import RARE, fill  # noqa: E402
from organizations.models import Organization  # noqa: E402
from organizations.services import issue_key  # noqa: E402
from pipeline_backend.db.timestamps import isoformat_z  # noqa: E402
from pipeline_backend.onboarding import create_organization  # noqa: E402
from webhooks.services import add_endpoint  # noqa: E402

NO_LIMIT = 100_000_000  # counted as ever, and never reached
OTHERS = 16


def allow(organization: Organization, limit: int = NO_LIMIT) -> str:
    """A key for load, and a receiver of events; it has no network, for no worker runs."""
    organization.rate_limit_per_minute = limit
    organization.save()
    add_endpoint(organization=organization, url="http://127.0.0.1:9/events")
    return issue_key(organization=organization, name="Benchmark")[1]


def prepare(appointments: int) -> dict[str, Any]:
    """The organizations, their keys, and values to ask for."""
    organization = fill(appointments)
    others = [
        create_organization(name=f"Other {number}", owner_email=f"owner@other{number}.example").organization
        for number in range(OTHERS)
    ]
    eager = create_organization(name="Eager", owner_email="owner@eager.example").organization
    rows, key = Appointment.objects.of(organization), allow(organization)
    middle = rows.order_by("-created_at").select_related("host__user", "lead")[appointments // 2]
    return {
        "organization": str(organization.pk),
        "key": key,
        "other_keys": [allow(other) for other in others],
        "eager_key": allow(eager, limit=1),
        "details": [str(id) for id in rows.order_by("-created_at").values_list("pk", flat=True)[:500]],
        "lead": str(
            rows.values_list("lead", flat=True)
            .annotate(calls=Count("pk"))
            .filter(calls=2)
            .order_by("lead")[appointments // 20]
        ),
        "rare": RARE,
        "host": middle.host.user.email,
        "setter": rows.exclude(setter=None)
        .select_related("setter__user")
        .order_by("-created_at")[appointments // 2]
        .setter.user.email,
        "moments": {name: quantiles(rows, name) for name in ("created_at", "updated_at", "schedule_time")},
    }


def quantiles(rows: Any, name: str) -> dict[str, str]:
    """Before `early` and after `late` lie half a percent of the rows; before `middle` half of them."""
    ordered, size = rows.order_by(name).values_list(name, flat=True), rows.count()
    places = {"early": size // 200, "middle": size // 2, "late": size - size // 200}
    return {place: isoformat_z(ordered[number]) for place, number in places.items()}


if __name__ == "__main__":
    print(json.dumps(prepare(int(sys.argv[1]))))  # noqa: T201
