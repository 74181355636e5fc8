"""The admin pages: their URLs, logged-in clients, and what a response shows."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.messages import get_messages
from django.db.models import Model
from django.test import Client
from django.urls import reverse

import pipeline_backend.urls  # noqa: F401  # registers the pages
from organizations.isolation import TenantModel
from organizations.models import Membership
from staff.toolkit.tenant import TenantAdmin

MODEL_ADMINS = [
    model_admin for model_admin in admin.site._registry.values() if model_admin.opts.app_label not in ("auth", "admin")
]
TENANT_MODEL_ADMINS = [model_admin for model_admin in MODEL_ADMINS if issubclass(model_admin.model, TenantModel)]


def logged_in_client(member: Membership) -> Client:
    """Return a client with a session of the member."""
    client = Client()
    client.force_login(member.user)
    return client


def admin_url(model: type[Model], view: str, *args: Any) -> str:
    """Return the URL of a model's admin view, such as "changelist" or "change"."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=[quote(id) for id in args])


def list_url(model: type[Model]) -> str:
    """Return the URL of a model's list with all rows, whatever view it opens with."""
    has_views = isinstance(admin.site.get_model_admin(model), TenantAdmin)
    return admin_url(model, "changelist") + ("?view=all" if has_views else "")


def form_errors(response: Any) -> list[str]:
    """Return all errors that the page's form shows."""
    assert response.status_code == 200, (response.status_code, response.headers)
    context = response.context
    form = context["adminform"].form if "adminform" in context else context["form"]
    return [message for messages in form.errors.values() for message in messages]


def shown_messages(response: Any) -> list[str]:
    """Return the messages that the next page will show."""
    return [str(message) for message in get_messages(response.wsgi_request)]
