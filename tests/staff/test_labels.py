"""Labels of the admin: sentence case, and the usual spelling of abbreviations."""

import re

import pytest
from django.apps import apps
from django.contrib.admin.utils import label_for_field
from django.db.models import Field
from django.test import Client, RequestFactory
from django.utils.text import capfirst

from organizations.models import Organization, User
from staff.labels import label
from staff.menu import MENU
from tests.factories import owner_of
from tests.staff.pages import MODEL_ADMINS, admin_url

# What no label has: an abbreviation in small letters, "Email", a capital letter in the middle, "Is" and "at".
WRONG = re.compile(r"\b(Utm|utm|Id|id|Url|url|Api|api|Email|email|Ai|Ip)\b|^Is | at$|\b[a-z-]+ (?!Slack\b)[A-Z][a-z]")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("utm source", "UTM source"),
        ("created at", "created"),
        ("is active", "active"),
        ("profile image url", "profile image URL"),
        ("is first name from email", "first name from e-mail"),
        ("paid", "paid"),
    ],
)
def test_names_become_labels(name: str, expected: str):
    assert label(name) == expected


def test_fields_have_labels_in_sentence_case():
    labels = {
        str(field): capfirst(str(field.verbose_name))
        for model in apps.get_models()
        if not model.__module__.startswith("django")
        for field in model._meta.get_fields()
        if isinstance(field, Field)
    }

    assert len(labels) > 300
    assert {field: text for field, text in labels.items() if WRONG.search(text)} == {}


def test_columns_and_forms_have_labels_in_sentence_case(organization: Organization):
    request = RequestFactory().get("/admin/")
    request.user = owner_of(organization).user
    wrong = {}
    for page in MODEL_ADMINS:
        texts = [label_for_field(name, page.model, page) for name in page.get_list_display(request)]
        if page.has_add_permission(request):
            texts += [str(field.label) for field in page.get_form(request).base_fields.values() if field.label]
        wrong[str(page)] = [text for text in texts if WRONG.search(capfirst(text))]

    assert {page: texts for page, texts in wrong.items() if texts} == {}


def test_lists_are_called_as_in_the_menu(owner: Client):
    names = {model: name for entries in MENU.values() for name, _, model in entries}
    titles = {}
    for model in [apps.get_model(name) for name in names]:
        page = owner.get(admin_url(model, "changelist"))
        if page.status_code == 200:
            titles[model._meta.label_lower] = capfirst(model._meta.verbose_name_plural)

    assert len(titles) > 10
    # "Organization" is one, "All users" are for operators, and "Notes" leads to the lists of both kinds of notes.
    others = {"organizations.organization", "organizations.user", "leads.leadnote"}
    assert {
        title: names[model] for model, title in titles.items() if names[model] != title and model not in others
    } == {}


def test_an_empty_list_says_what_to_do(owner: Client):
    page = owner.get("/admin/webhooks/endpoint/").content.decode()
    nothing_found = owner.get("/admin/statuses/status/?q=zyxwv").content.decode()

    assert "No webhook endpoints yet" in page
    assert "Add the URL of a system" in page
    assert "Add webhook endpoint" in page
    assert "No statuses found" in nothing_found
    assert "Show all statuses" in nothing_found


def test_every_list_has_advice_for_its_first_row():
    never_empty = {Organization, User}
    assert [str(page) for page in MODEL_ADMINS if page.model not in never_empty and not page.empty_text] == []
