"""The admin pages: their URLs, logged-in clients, and what a response shows."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from organizations.isolation import TenantModel
from organizations.models import Membership

MODEL_ADMINS = [page for page in admin.site._registry.values() if page.opts.app_label not in ("auth", "admin")]
TENANT_MODEL_ADMINS = [page for page in MODEL_ADMINS if issubclass(page.model, TenantModel)]


def logged_in_client(member: Membership) -> Client:
    """The member at the admin."""
    client = Client()
    client.force_login(member.user)
    return client


def admin_url(model: type[Any], view: str, *args: Any) -> str:
    """An address of the model's pages."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=[quote(id) for id in args])


def form_errors(answer: Any) -> list[str]:
    """All errors that the form shows."""
    assert answer.status_code == 200, (answer.status_code, answer.headers)
    form = answer.context["adminform"].form if "adminform" in answer.context else answer.context["form"]
    return [sentence for found in form.errors.values() for sentence in found]


def shown_messages(answer: Any) -> list[str]:
    """The messages that are shown next."""
    return [str(message) for message in get_messages(answer.wsgi_request)]
