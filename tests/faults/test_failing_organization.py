"""An error in one organization's data keeps no other organization from its turn in the periodic tasks."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from django.db import DatabaseError, connection
from django.db.models import Model

from appointments.tasks import refresh_touch_points
from foundation.db.timestamps import now
from foundation.outbox import State
from leads.models import Lead
from organizations.models import Organization
from pipeline_backend.tasks import send_endpoint_digest
from tests.factories import make_api, make_organization
from tests.faults.backlog import make_backlog, make_endpoint
from webhooks.models import Delivery, Endpoint
from webhooks.tasks import prune_all

LONG_AGO = now() - timedelta(days=365)
# Makes every change of the organization's rows fail, as data that the code doesn't expect would.
FAIL = """
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'unexpected data'; END $$;
CREATE TRIGGER fail BEFORE UPDATE OR DELETE ON {table}
FOR EACH ROW WHEN (OLD.organization_id = '{organization}') EXECUTE FUNCTION fail()
"""


class Task(NamedTuple):
    """A task, the table that it writes to, and columns that make each row due; `is_due` are those that it changes."""

    run: Callable[[], None]
    model: type[Model]
    due: dict[str, Any]
    is_due: dict[str, Any]


TASKS = [
    Task(refresh_touch_points, Lead, {"next_touch_point_type": "CALL"}, {"next_touch_point_at": LONG_AGO}),
    Task(send_endpoint_digest, Endpoint, {"failing_since": LONG_AGO, "failures": 6}, {"owners_notified_at": None}),
    Task(prune_all, Delivery, {"state": State.DONE, "created_at": LONG_AGO}, {"finished_at": LONG_AGO}),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.run.name)
def test_an_error_in_one_organization_delays_no_other(task: Task, settings: Any) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    organizations = [make_organization(name) for name in ("First", "Second", "Third")]
    for organization in organizations:
        make_rows(organization)
    rows: Any = task.model._default_manager
    rows.update(**task.due, **task.is_due)
    failing = organizations[1]

    with connection.cursor() as cursor:
        cursor.execute(FAIL.format(table=task.model._meta.db_table, organization=failing.pk))
    try:
        with pytest.raises(ExceptionGroup) as raised:
            task.run()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION fail CASCADE")

    [error] = raised.value.exceptions
    assert isinstance(error, DatabaseError)
    assert error.__notes__ == [f"Organization: {failing.pk}"]
    assert set(rows.filter(**task.is_due).values_list("organization", flat=True)) == {failing.pk}


def make_rows(organization: Organization) -> None:
    """Create a lead, an endpoint and a delivery."""
    make_api(organization).submit()
    make_backlog(make_endpoint(organization, "http://127.0.0.1:9/events"), 1)
