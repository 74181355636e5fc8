"""`make soak`, short: mixed load while processes are killed and Redis restarts, and every guarantee verified."""

from django.db import connection

from appointments.models import Appointment
from leads.models import LeadStatusChange
from optins.models import OptIn
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack
from tests.soak.report import find_failures, result_table
from tests.soak.soak import SoakResult, run_soak
from webhooks.models import Event

SECONDS = 25


def test_load_and_faults_lose_nothing_and_a_loss_would_be_detected(
    stack: Stack, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    result = run_soak(stack, inbox, seconds=SECONDS)

    measurements.update({f"soak, {name}": value for name, value in result_table(result, inbox).items()})
    assert find_failures(result, inbox) == {}
    assert result.injected_faults.keys() == {
        "the web server killed",
        "a web process killed",
        "a worker killed",
        "Redis restarted",
    }

    delete_one_of_each()
    assert count_failures(result, inbox) == {
        "writes lost": 2,
        "unexpected rows": 2,
        "wrong events": 4,
        "undelivered events": 1,
    }


def delete_one_of_each() -> None:
    """Delete an appointment, an opt-in, an event and a lead's status change, as if they had never been stored."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # no foreign keys, no triggers
        for model, rows in {
            Appointment: Appointment.unscoped.exclude(outcome__role="CANCELED"),
            OptIn: OptIn.unscoped.all(),
            Event: Event.unscoped.filter(type="lead.created"),
            LeadStatusChange: LeadStatusChange.unscoped.exclude(from_status=None),
        }.items():
            cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE id = %s", [rows.values_list("id", flat=True)[0]])  # noqa: S608
        cursor.execute("SET session_replication_role = origin")


def count_failures(result: SoakResult, inbox: FastReceiver) -> dict[str, int]:
    """Return the number of failures of each kind that the verification finds."""
    return {name: len(details) for name, details in find_failures(result, inbox).items()}
