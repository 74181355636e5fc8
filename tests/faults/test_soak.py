"""A minute of `make soak`: mixed load while processes are killed and Redis restarts, and every guarantee verified."""

from django.db import connection

from appointments.models import Appointment
from leads.models import LeadStatusChange
from optins.models import OptIn
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack
from tests.soak.report import failures, table
from tests.soak.soak import Outcome, soak
from webhooks.models import Event

SECONDS = 60


def test_a_minute_of_load_and_faults_loses_nothing_and_a_loss_would_be_detected(
    stack: Stack, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    outcome = soak(stack, inbox, seconds=SECONDS)

    measurements.update({f"soak, {name}": value for name, value in table(outcome, inbox).items()})
    assert failures(outcome, inbox) == {}
    assert outcome.survived.keys() == {
        "the web server killed",
        "a web process killed",
        "a worker killed",
        "Redis restarted",
    }

    delete_one_of_each()
    assert count_failures(outcome, inbox) == {
        "writes lost": 2,
        "writes that nobody accepted": 2,
        "events wrong": 4,
        "events undelivered": 1,
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


def count_failures(outcome: Outcome, inbox: FastReceiver) -> dict[str, int]:
    """Return the number of failures of each kind that the verification finds."""
    return {name: len(details) for name, details in failures(outcome, inbox).items()}
