"""Imports that take long beside a worker's other tasks."""

from django.db import transaction
from django.utils import timezone
from redis import Redis

from leads.imports.models import Import, ImportTurn
from leads.imports.services import add_import
from organizations.actors import SYSTEM
from organizations.models import Organization
from tests.factories import make_organization
from tests.faults.stack import Stack, wait_for


def test_four_imports_that_wait_for_a_lock_keep_no_other_task_waiting(stack: Stack, organization: Organization) -> None:
    for owner in [organization, *map(make_organization, "BCD")]:
        ImportTurn.objects.create(organization=owner, expires_at=timezone.now())
        add_import(
            organization=owner,
            actor=SYSTEM,
            kind="LEADS",
            file_name="a.csv",
            content=b"email\na@example.com",
            time_zone="UTC",
        )

    with transaction.atomic(), Redis.from_url(stack.redis_url) as redis:
        list(ImportTurn.unscoped.select_for_update())  # each turn waits for this lock
        for _ in range(8):
            stack.celery.send_task("leads.run_imports", queue="imports")
        stack.start("worker")
        wait_for(lambda: redis.llen("imports") == 0 and redis.hlen("unacked") == 2)
        stack.send_task("leads.search_duplicates")
        # It has been taken and done, and the two imports still wait.
        wait_for(lambda: redis.llen("celery") == 0 and redis.hlen("unacked") == 2)
        assert set(Import.unscoped.values_list("state", flat=True)) == {"READING"}

    wait_for(lambda: set(Import.unscoped.values_list("state", flat=True)) == {"MAPPING"})
