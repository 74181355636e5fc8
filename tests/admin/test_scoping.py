"""A person sees the rows of their organizations and nothing of the others, on every page that the site has."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.test import Client
from django.urls import URLPattern, reverse

from appointments.models import Appointment
from notifications.models import MailPreference
from organizations.models import Organization, RowCount, User
from tests.admin.worlds import PAGES, TENANT_PAGES, url
from tests.factories import everything
from webhooks.models import Replay

by_name = {"ids": lambda page: page.opts.label}


def row_views() -> list[str]:
    """The name of every address that holds a row's id, as the site itself lists them."""
    patterns = [pattern for page in PAGES for pattern in page.get_urls()]
    return sorted({pattern.name for pattern in patterns if isinstance(pattern, URLPattern) and pattern.name and "object_id" in str(pattern.pattern)})


def page_of(view: str):
    return next(page for page in PAGES if view.startswith(f"{page.opts.app_label}_{page.opts.model_name}_"))


def foreign_row(page, stranger: Organization):
    if page.model is Organization:
        return stranger
    if page.model is User:
        return User.objects.get(email="owner@globex.example")
    return page.model.objects.of(stranger).first()


@pytest.mark.parametrize("page", PAGES, **by_name)
def test_a_list_has_own_rows_only(page, owner: Client, ours: Appointment, theirs: Appointment):
    answer = owner.get(url(page.model, "changelist"))

    assert answer.status_code == 200
    assert b"zyxwv" not in answer.content.lower()
    assert b"globex" not in answer.content.lower()
    if page in TENANT_PAGES:
        rows = answer.context["cl"].result_list
        assert len(rows) > 0
        assert {row.organization_id for row in rows} == {ours.organization_id}


@pytest.mark.parametrize("page", [page for page in PAGES if page.search_fields], **by_name)
@pytest.mark.parametrize("term", ["zyxwv", "globex"])
def test_a_search_finds_own_rows_only(page, term: str, owner: Client, ours: Appointment, theirs: Appointment):
    answer = owner.get(url(page.model, "changelist"), {"q": term})

    assert len(answer.context["cl"].result_list) == 0


@pytest.mark.parametrize("page", TENANT_PAGES, **by_name)
def test_a_filter_with_a_foreign_organization_finds_nothing(page, owner: Client, ours: Appointment, theirs: Appointment):
    answer = owner.get(url(page.model, "changelist"), {"organization__id__exact": str(theirs.organization_id)}, follow=True)

    assert b"zyxwv" not in answer.content.lower()
    assert {row.organization_id for row in answer.context["cl"].result_list} <= {ours.organization_id}


@pytest.mark.parametrize("view", row_views())
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_foreign_id_opens_nothing_and_changes_nothing(view: str, method: str, owner: Client, ours: Appointment, theirs: Appointment):
    row = foreign_row(page_of(view), theirs.organization)
    before = everything(theirs.organization)

    answer = getattr(owner, method)(reverse(f"admin:{view}", args=[quote(row.pk)]), {"post": "yes", "overlap": "now"})

    assert answer.status_code in (302, 403, 404)
    assert answer.status_code != 302 or answer.url == reverse("admin:index")
    assert everything(theirs.organization) == before


@pytest.mark.parametrize("page", TENANT_PAGES, **by_name)
def test_forms_offer_own_rows_only(page, owner: Client, ours: Appointment, theirs: Appointment):
    own = page.model.objects.of(ours.organization).first()

    forms = [owner.get(url(page.model, "change", own.pk)), owner.get(url(page.model, "add"))]

    for answer in forms:
        assert answer.status_code in (200, 403)
        assert b"zyxwv" not in answer.content.lower()
        assert b"globex" not in answer.content.lower()


def related_fields() -> list[tuple[str, str, str]]:
    """Every field that points at rows, as autocompletion can be asked about it."""
    return [
        (page.opts.app_label, page.opts.model_name, field.name)
        for page in PAGES
        for field in page.opts.get_fields()
        if getattr(field, "remote_field", None) and not field.auto_created
    ]


@pytest.mark.parametrize(("app", "model", "field"), related_fields())
def test_autocompletion_offers_own_rows_only(app: str, model: str, field: str, owner: Client, ours: Appointment, theirs: Appointment):
    asked = {"app_label": app, "model_name": model, "field_name": field}

    answers = [owner.get(reverse("admin:autocomplete"), {**asked, "term": term}) for term in ("", "zyxwv", "globex")]

    for answer in answers:
        assert answer.status_code in (200, 403, 404)
        assert b"zyxwv" not in answer.content.lower()
        assert b"globex" not in answer.content.lower()


def test_every_model_has_a_page_or_stands_on_one(owner: Client, ours: Appointment):
    inlines = {inline.model for page in PAGES for inline in [*page.inlines, *page.get_inlines(owner.get("/admin/").wsgi_request, ours)]}
    shown = {page.model for page in PAGES} | inlines

    own = [model for model in apps.get_models() if model.__module__.split(".")[0] in {page.opts.app_label for page in PAGES}]
    # A button of the member's page, a part of the endpoint's, and the lists' totals.
    assert {model for model in own if model not in shown} == {MailPreference, Replay, RowCount}
    assert not admin.site.is_registered(apps.get_model("auth.Group"))
