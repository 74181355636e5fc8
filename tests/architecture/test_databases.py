"""The tests' database: what an organization of the factory has, and that it is empty again after real transactions."""

import json

import pytest
from django.db import transaction
from django.forms import model_to_dict

from accounts.onboarding import create_organization
from organizations.models import Organization, User
from tests import databases
from tests.databases import MADE_BY_MIGRATE, empty_tables, rows_of_all_tables
from tests.factories import RECORDED_ID, RECORDED_TIME, make_organization, owner_of, snapshot_of
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


def test_an_organization_of_the_factory_has_what_the_service_creates(db: None) -> None:
    created = create_organization(name="Acme", owner=User.objects.create_user("owner@acme.example"))
    with transaction.atomic():  # the service creates the first of a name
        make_organization("Initech")
        transaction.set_rollback(True)

    made = make_organization("Initech")

    assert without_ids_and_times(made) == without_ids_and_times(created)
    assert owner_of(made).user.email == "owner@initech.example"


def without_ids_and_times(organization: Organization) -> list[tuple[str, str]]:
    """Return the organization's rows and its own, without what differs between two."""
    own = {**model_to_dict(organization), "name": ""}
    rows = [*snapshot_of(organization), ("Organization", json.dumps(own, default=str))]
    return sorted((model, RECORDED_TIME.sub("", RECORDED_ID.sub("", text))) for model, text in rows)
