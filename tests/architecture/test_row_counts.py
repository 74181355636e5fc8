"""The database keeps the number of rows of each organization's tables: exact after every kind of change."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections, transaction
from django.db.models import Sum

from appointments.models import Appointment
from leads.models import Lead
from optins.models import OptIn
from organizations.migrations._row_counts import add_row_count_triggers
from organizations.models import Organization, RowCount
from tests.client import ApiClient

COUNTED_MODELS = [Appointment, Lead, OptIn]


def stored_counts(organization: Organization) -> list[int]:
    """Return the numbers that the triggers have stored, in the order of `COUNTED_MODELS`."""
    sums = (
        RowCount.objects.of(organization)
        .values("table_name")
        .annotate(total=Sum("rows"))
        .values_list("table_name", "total")
    )
    return [dict(sums).get(model._meta.db_table, 0) for model in COUNTED_MODELS]


def actual_counts(organization: Organization) -> list[int]:
    """Return the numbers of rows, in the order of `COUNTED_MODELS`."""
    return [model.objects.of(organization).count() for model in COUNTED_MODELS]


def test_rows_are_counted_for_their_own_organization(
    api: ApiClient, other_api: ApiClient, organization: Organization, other_organization: Organization
) -> None:
    other_api.book()
    for number in range(3):
        api.book(external_reference=f"ref-{number}")
    api.submit(email="other@example.com")

    assert stored_counts(organization) == actual_counts(organization) == [3, 2, 1]
    assert stored_counts(other_organization) == actual_counts(other_organization) == [1, 1, 0]


def test_deleted_rows_are_no_longer_counted(api: ApiClient, organization: Organization) -> None:
    for number in range(3):
        api.book(external_reference=f"ref-{number}")

    Appointment.objects.of(organization).filter(external_reference__in=["ref-0", "ref-1"]).delete()

    assert stored_counts(organization) == [1, 1, 0]
    assert api.get("/api/external/appointments").json()["pagination"]["total"] == 1


def test_rows_of_a_transaction_that_is_rolled_back_are_not_counted(api: ApiClient, organization: Organization) -> None:
    with transaction.atomic():
        api.book()
        transaction.set_rollback(True)

    assert stored_counts(organization) == [0, 0, 0]


@pytest.mark.django_db(transaction=True)
def test_rows_that_are_written_concurrently_are_all_counted(api: ApiClient, organization: Organization) -> None:
    def book(number: int) -> int:
        try:
            client = ApiClient(api.key)
            response = client.book(external_reference=f"ref-{number}", lead_email=f"lead{number % 5}@example.com")
            return response.status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(16) as pool:
        codes = set(pool.map(book, range(48)))

    assert codes == {201}
    assert stored_counts(organization) == actual_counts(organization) == [48, 5, 0]


def test_the_migration_counts_existing_rows_and_can_be_repeated(api: ApiClient, organization: Organization) -> None:
    api.book()
    backfill = add_row_count_triggers("appointments_appointment")[1].sql[1]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE organizations_rowcount SET rows = rows - 1 WHERE counted = %s", ["appointments_appointment"]
        )

        cursor.execute(backfill)
        cursor.execute(backfill)

    assert stored_counts(organization) == actual_counts(organization)
