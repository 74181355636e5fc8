"""Every row belongs to an organization, and every query says whose rows it wants."""

import re
from pathlib import Path

import pytest
from django.apps import apps

from organizations.models import Organization
from organizations.tenancy import TenantModel, UnscopedQuery

ROOT = Path(__file__).resolve().parents[2]
OURS = ["organizations", "statuses", "webhooks", "notifications", "leads", "optins", "appointments"]
MODELS = [model for app in OURS for model in apps.get_app_config(app).get_models()]
TENANTS = [model for model in MODELS if issubclass(model, TenantModel)]
# Where rows of all organizations are rightly read or written, and why.
UNSCOPED = {
    "pipeline_backend/outbox.py": "the sweep serves every organization",
    "organizations/authentication.py": "the key says which organization it is",
    "organizations/rights.py": "a person's memberships say which organizations they work in",
    "pipeline_backend/inbox.py": "the local run's inbox verifies whatever was sent to it",
}


def test_every_model_belongs_to_an_organization() -> None:
    others = {model.__name__ for model in MODELS} - {model.__name__ for model in TENANTS}

    assert others == {"Organization", "User"}


@pytest.mark.parametrize("model", TENANTS, ids=lambda model: model.__name__)
def test_a_query_that_names_no_organization_is_refused(model: type[TenantModel]) -> None:
    for verb in ("all", "count", "exists", "first"):
        with pytest.raises(UnscopedQuery):
            getattr(model.objects, verb)()


@pytest.mark.parametrize("model", TENANTS, ids=lambda model: model.__name__)
def test_django_itself_uses_the_plain_manager(model: type[TenantModel]) -> None:
    assert model._default_manager.name == "unscoped"
    assert model._base_manager.name == "unscoped"


def test_unscoped_queries_stand_only_where_they_must() -> None:
    reads = re.compile(r"unscoped\.(?!bulk_create)(?!filter\((?:organization|appointment|opt_in|lead|mentioned_in|pk__in)=)")
    found = {
        str(path.relative_to(ROOT))
        for app in [*OURS, "pipeline_backend"]
        for path in (ROOT / app).rglob("*.py")
        if not {"migrations", "demo", "commands", "admin"} & set(path.parts) and path.name != "admin.py" and reads.search(path.read_text())
    }

    assert found <= set(UNSCOPED), found - set(UNSCOPED)


def test_organizations_can_be_made_and_counted_freely(organization: Organization, stranger: Organization) -> None:
    assert Organization.objects.count() == 2
