"""Row-level security in the admin: even without any filter of its own, it shows nothing of another organization."""

from typing import Any

import pytest
from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import quote
from django.test import Client
from django.urls import reverse

from organizations.isolation import TenantModel
from organizations.models import Organization, User
from staff.accounts.organizations import OrganizationAdmin
from staff.accounts.users import UserAdmin
from staff.toolkit import tenant
from staff.toolkit.tenant import TenantForm
from tests.factories import owner_of, snapshot_of
from tests.staff.pages import MODEL_ADMINS, TENANT_MODEL_ADMINS, admin_url, list_url, logged_in_client

BothOrganizations = tuple[Organization, Organization]
by_name: Any = {"ids": lambda model_admin: model_admin.opts.label}


@pytest.fixture
def owner(both_organizations: BothOrganizations, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Return a client of Acme's owner, in an admin without filters and with every permission."""
    unfiltered: Any = staticmethod(lambda request, roles, rows: rows)
    monkeypatch.setattr(tenant, "filter_by_role", unfiltered)
    monkeypatch.setattr(tenant, "organizations_with_role", lambda request, roles: Organization.objects.all())
    monkeypatch.setattr(tenant, "has_role", lambda *_: True)
    monkeypatch.setattr(TenantForm, "choices", lambda self, name, model: model._default_manager.all())
    for model_admin, model in ((OrganizationAdmin, Organization), (UserAdmin, User)):
        monkeypatch.setattr(model_admin, "get_queryset", lambda self, request, model=model: model.objects.all())
        for permission in ("view", "change"):
            monkeypatch.setattr(model_admin, f"has_{permission}_permission", lambda *_, **__: True)
    return logged_in_client(owner_of(both_organizations[0]))


def related_fields() -> list[tuple[str, str, str]]:
    """Return app label, model name and field name of every relation, as autocompletion is asked for it."""
    return [
        (model_admin.opts.app_label, model_admin.opts.model_name, field.name)
        for model_admin in MODEL_ADMINS
        for field in model_admin.opts.get_fields()
        if getattr(field, "remote_field", None) and not field.auto_created
    ]


def reveals_nothing(response: Any) -> bool:
    """Return whether the response is not a server error and contains no word of the other organization."""
    content = response.content.lower()
    return response.status_code in (200, 302, 403, 404) and b"zyxwv" not in content and b"globex" not in content


@pytest.mark.parametrize("model_admin", MODEL_ADMINS, **by_name)
def test_lists_and_searches(model_admin: ModelAdmin, owner: Client, both_organizations: BothOrganizations):
    url = list_url(model_admin.model)

    response = owner.get(url)

    assert response.status_code == 200
    assert reveals_nothing(response)
    if model_admin in TENANT_MODEL_ADMINS:
        assert {row.organization_id for row in response.context["cl"].result_list} == {both_organizations[0].pk}
    if model_admin.search_fields:
        assert len(owner.get(url, {"q": "zyxwv"}).context["cl"].result_list) == 0


@pytest.mark.parametrize("model_admin", TENANT_MODEL_ADMINS, **by_name)
def test_forms_and_their_choices(model_admin: ModelAdmin, owner: Client, both_organizations: BothOrganizations):
    model: type[TenantModel] = model_admin.model
    own_row, other_row = (model.objects.of(organization).first() for organization in both_organizations)
    before = snapshot_of(both_organizations[1])

    responses = [
        owner.get(admin_url(model, "change", own_row.pk)),
        owner.get(admin_url(model, "add")),
        owner.get(admin_url(model, "change", other_row.pk)),
        owner.get(admin_url(model, "history", other_row.pk)),
        owner.post(admin_url(model, "change", other_row.pk), {"name": "Taken over"}),
    ]

    assert all(reveals_nothing(response) for response in responses)
    assert snapshot_of(both_organizations[1]) == before


@pytest.mark.parametrize(("app", "model", "field"), related_fields())
def test_autocompletion(app: str, model: str, field: str, owner: Client):
    query = {"app_label": app, "model_name": model, "field_name": field}

    for term in ("", "zyxwv"):
        assert reveals_nothing(owner.get(reverse("admin:autocomplete"), {**query, "term": term}))


def test_the_dashboard(owner: Client):
    assert reveals_nothing(owner.get(reverse("admin:index")))


def test_a_row_of_another_organization_cannot_be_deleted(owner: Client, both_organizations: BothOrganizations):
    model_admin = next(model_admin for model_admin in TENANT_MODEL_ADMINS if model_admin.opts.model_name == "status")
    statuses = model_admin.model.objects.of(both_organizations[1])
    other_status = statuses.get(name="zyxwv status")

    response = owner.post(reverse("admin:statuses_status_delete", args=[quote(other_status.pk)]), {"post": "yes"})

    assert response.status_code == 302
    assert statuses.filter(pk=other_status.pk).exists()
