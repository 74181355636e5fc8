"""A list's total is kept by the database: exact after whatever changes the number of rows."""

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

TABLES = [Appointment, Lead, OptIn]


def kept(organization: Organization) -> list[int]:
    """What the database has counted."""
    sums = (
        RowCount.objects.of(organization)
        .values("table_name")
        .annotate(total=Sum("rows"))
        .values_list("table_name", "total")
    )
    return [dict(sums).get(table._meta.db_table, 0) for table in TABLES]


def there(organization: Organization) -> list[int]:
    """What is there."""
    return [table.objects.of(organization).count() for table in TABLES]


def test_rows_are_counted_for_their_organization(
    api: ApiClient, other_api: ApiClient, organization: Organization, other_organization: Organization
) -> None:
    other_api.book()
    for number in range(3):
        api.book(external_reference=f"ref-{number}")
    api.submit(email="other@example.com")

    assert kept(organization) == there(organization) == [3, 2, 1]
    assert kept(other_organization) == there(other_organization) == [1, 1, 0]


def test_deleted_rows_are_counted_no_more(api: ApiClient, organization: Organization) -> None:
    for number in range(3):
        api.book(external_reference=f"ref-{number}")

    Appointment.objects.of(organization).filter(external_reference__in=["ref-0", "ref-1"]).delete()

    assert kept(organization) == [1, 1, 0]
    assert api.get("/api/external/appointments").json()["pagination"]["total"] == 1


def test_what_is_rolled_back_is_not_counted(api: ApiClient, organization: Organization) -> None:
    with transaction.atomic():
        api.book()
        transaction.set_rollback(True)

    assert kept(organization) == [0, 0, 0]


@pytest.mark.django_db(transaction=True)
def test_rows_written_at_once_are_all_counted(api: ApiClient, organization: Organization) -> None:
    def book(number: int) -> int:
        try:
            return (
                ApiClient(api.key)
                .book(external_reference=f"ref-{number}", lead_email=f"lead{number % 5}@example.com")
                .status_code
            )
        finally:
            connections.close_all()

    with ThreadPoolExecutor(16) as pool:
        codes = set(pool.map(book, range(48)))

    assert codes == {201}
    assert kept(organization) == there(organization) == [48, 5, 0]


def test_rows_from_before_the_counting_are_counted_by_its_migration_and_only_once(
    api: ApiClient, organization: Organization
) -> None:
    api.book()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE organizations_rowcount SET rows = rows - 1 WHERE counted = %s", ["appointments_appointment"]
        )
        count = add_row_count_triggers("appointments_appointment")[1].sql[1]
        cursor.execute(count)
        cursor.execute(count)

    assert kept(organization) == there(organization)
