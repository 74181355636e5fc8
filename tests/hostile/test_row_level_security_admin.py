"""An admin whose every filter is forgotten shows nothing of another organization."""

from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.test import Client
from django.urls import reverse

from organizations.admin import tenant
from organizations.admin.tenant import TenantForm
from organizations.admin.users import UserAdmin
from organizations.isolation import TenantModel
from organizations.models import Organization, User
from pipeline_backend.admin.organizations import OrganizationAdmin
from tests.admin.pages import MODEL_ADMINS, TENANT_MODEL_ADMINS, admin_url, logged_in_client
from tests.factories import owner_of, snapshot_of

by_name: Any = {"ids": lambda page: page.opts.label}


@pytest.fixture
def owner(both_organizations: Any, monkeypatch: Any) -> Client:
    """Acme's owner, at an admin that asks for everybody's rows and lets everybody do everything."""
    forgetful: Any = staticmethod(lambda request, roles, rows: rows)
    monkeypatch.setattr(tenant, "filter_by_role", forgetful)
    monkeypatch.setattr(tenant, "organizations_with_role", lambda request, roles: Organization.objects.all())
    monkeypatch.setattr(tenant, "has_role", lambda *_: True)
    monkeypatch.setattr(
        tenant.TenantAdmin,
        "related_choices",
        lambda self, field, request: field.remote_field.model._default_manager.all(),
    )
    monkeypatch.setattr(TenantForm, "limit_to_active", lambda *_: None)
    for page, model in ((OrganizationAdmin, Organization), (UserAdmin, User)):
        monkeypatch.setattr(page, "get_queryset", lambda self, request, model=model: model.objects.all())
        for right in ("view", "change"):
            monkeypatch.setattr(page, f"has_{right}_permission", lambda *_, **__: True)
    return logged_in_client(owner_of(both_organizations[0]))


def related_fields() -> list[tuple[str, str, str]]:
    """Every field that points at rows, as autocompletion can be asked about it."""
    fields = [
        (page.opts.app_label, page.opts.model_name, field) for page in MODEL_ADMINS for field in page.opts.get_fields()
    ]
    return [
        (app, model, field.name)
        for app, model, field in fields
        if getattr(field, "remote_field", None) and not field.auto_created
    ]


def shows_nothing_of_theirs(answer: Any) -> bool:
    return answer.status_code in (200, 302, 403, 404) and not any(
        word in answer.content.lower() for word in (b"zyxwv", b"globex")
    )


@pytest.mark.parametrize("page", MODEL_ADMINS, **by_name)
def test_lists_and_searches(page: Any, owner: Client, both_organizations: Any):
    answer = owner.get(admin_url(page.model, "changelist"))

    assert answer.status_code == 200
    assert shows_nothing_of_theirs(answer)
    if page in TENANT_MODEL_ADMINS:
        assert {row.organization_id for row in answer.context["cl"].result_list} == {both_organizations[0].pk}
    if page.search_fields:
        assert len(owner.get(admin_url(page.model, "changelist"), {"q": "zyxwv"}).context["cl"].result_list) == 0


@pytest.mark.parametrize("page", TENANT_MODEL_ADMINS, **by_name)
def test_forms_and_what_they_offer(page: Any, owner: Client, both_organizations: Any):
    model: type[TenantModel] = page.model
    own, theirs = (model.objects.of(whose).first() for whose in both_organizations)
    before = snapshot_of(both_organizations[1])

    answers = [
        owner.get(admin_url(model, view, *args))
        for view, args in (("change", [own.pk]), ("add", []), ("change", [theirs.pk]), ("history", [theirs.pk]))
    ]
    answers.append(owner.post(admin_url(model, "change", theirs.pk), {"name": "Taken over"}))

    assert all(shows_nothing_of_theirs(answer) for answer in answers)
    assert snapshot_of(both_organizations[1]) == before


@pytest.mark.parametrize(("app", "model", "field"), related_fields())
def test_autocompletion(app: str, model: str, field: str, owner: Client):
    asked = {"app_label": app, "model_name": model, "field_name": field}

    assert all(
        shows_nothing_of_theirs(owner.get(reverse("admin:autocomplete"), {**asked, "term": term}))
        for term in ("", "zyxwv")
    )


def test_the_first_page(owner: Client):
    assert shows_nothing_of_theirs(owner.get(reverse("admin:index")))


def test_a_row_of_another_organization_is_not_done_away_with(owner: Client, both_organizations: Any):
    page = next(page for page in TENANT_MODEL_ADMINS if page.opts.model_name == "status")
    theirs = page.model.objects.of(both_organizations[1]).get(name="zyxwv status")

    answer = owner.post(reverse("admin:statuses_status_delete", args=[quote(theirs.pk)]), {"post": "yes"})

    assert answer.status_code == 302
    assert page.model.objects.of(both_organizations[1]).filter(pk=theirs.pk).exists()
