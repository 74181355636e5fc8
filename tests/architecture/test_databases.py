"""The tests' database is empty again after a test with real transactions."""

import pytest

from organizations.models import Organization
from tests import databases
from tests.databases import MADE_BY_MIGRATE, empty_tables, rows_of_all_tables
from tests.staff.sample_data import create_replays, create_sample_data


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("large_table", [databases.LARGE_TABLE, 8192])
def test_rows_of_all_models_are_deleted_and_permissions_stay(
    organization: Organization, monkeypatch: pytest.MonkeyPatch, large_table: int
) -> None:
    monkeypatch.setattr(databases, "LARGE_TABLE", large_table)
    create_sample_data(organization, "ours")
    create_replays(organization)
    before = rows_of_all_tables()

    empty_tables()

    after = rows_of_all_tables()
    kept = {"django_migrations", *MADE_BY_MIGRATE}
    assert {name: rows for name, rows in after.items() if rows} == {name: before[name] for name in kept}
