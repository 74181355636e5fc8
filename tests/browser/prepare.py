"""Loads the site's data; runs in a process of its own."""

import json
import sys

from django.apps import apps
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.utils import timezone

from organizations.isolation import TenantModel, bypass_rls
from organizations.models import MemberRole, Membership, Organization, User
from organizations.services import add_member
from pipeline_backend.demo.loading import load, register_inbox
from pipeline_backend.onboarding import create_organization

PASSWORD = "secret-of-tests"
EMPTY = "EMPTY"  # stands among the roles for the owner of an organization without data
COMMAND = ["manage.py", "shell", "--no-imports", "-c", "from tests.browser import prepare; prepare.main()"]


def main() -> None:
    """Create everything; print the e-mail of a member with each role, and the id of a row of each model, as JSON."""
    call_command("migrate", verbosity=0)
    with bypass_rls():
        demo = load()
        register_inbox(demo)
        if "VIEWER" in MemberRole.names:
            viewer = User.objects.create_user("victor.view@northwind.example", first_name="Victor", last_name="View")
            add_member(organization=demo.organization, user=viewer, role=MemberRole["VIEWER"])
        owner = User.objects.create_user("emma.owner@empty.example", first_name="Emma", last_name="Owner")
        create_organization(name="Empty Ltd", owner=owner)
        User.objects.update(password=make_password(PASSWORD), email_verified_at=timezone.now())
        members = Membership.objects.of(demo.organization).order_by("-created_at", "-id").select_related("user")
        facts = {
            "members": {member.role: member.user.email for member in members} | {EMPTY: owner.email},
            "rows": rows_of_all_models(demo.organization) | {"organizations.user": str(demo.owner.pk)},
        }
    json.dump(facts, sys.stdout)


def rows_of_all_models(organization: Organization) -> dict[str, str]:
    """Return the id of the organization and of one of its rows of each model, by the model's label."""
    rows = {"organizations.organization": str(organization.pk)}
    for model in apps.get_models():
        if issubclass(model, TenantModel):
            id = model.objects.of(organization).order_by("-pk").values_list("pk", flat=True).first()
            if id is not None:
                rows[model._meta.label_lower] = str(id)
    return rows
