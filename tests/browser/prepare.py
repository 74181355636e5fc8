"""Loads the site's data; runs in a process of its own."""

import json
import os
import sys

from django.apps import apps
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.onboarding import create_organization
from dev.demo.loading import connect_inbox, load
from dev.local import ephemeral
from organizations.isolation import TenantModel, bypass_rls
from organizations.models import MemberRole, Membership, Organization, User
from organizations.services import add_member

PASSWORD = "secret-of-tests"
EMPTY = "EMPTY"  # stands among the roles for the owner of an organization without data
NEWCOMER = "NEWCOMER"  # a setter whose sign-in a test changes
COMMAND = ["manage.py", "shell", "--no-imports", "-c", "from tests.browser import prepare; prepare.main()"]


def main() -> None:
    """Create everything; print the e-mail of a member with each role, and the id of a row of each model, as JSON."""
    call_command("collectstatic", "--noinput", verbosity=0)
    if ephemeral.TEMPLATE not in os.environ:  # the database is no copy of a migrated one
        call_command("migrate", verbosity=0)
    with bypass_rls():
        demo = load()
        connect_inbox(demo)
        newcomer = User.objects.create_user("nora.new@northwind.example", first_name="Nora", last_name="New")
        add_member(organization=demo.organization, user=newcomer, role=MemberRole.SETTER)
        owner = User.objects.create_user("emma.owner@empty.example", first_name="Emma", last_name="Owner")
        create_organization(name="Empty Ltd", owner=owner)
        User.objects.update(password=make_password(PASSWORD), email_verified_at=timezone.now())
        members = Membership.objects.of(demo.organization).order_by("-created_at", "-id").select_related("user")
        users = {member.role: member.user for member in members} | {EMPTY: owner, NEWCOMER: newcomer}
        facts = {
            "members": {role: user.email for role, user in users.items()},
            "sessions": {role: start_session(user.email) for role, user in users.items()},
            "key": demo.key_text,
            "rows": rows_of_all_models(demo.organization) | {"organizations.user": str(demo.owner.pk)},
        }
    json.dump(facts, sys.stdout)


def start_session(email: str) -> str:
    """Sign the user in, and return the session's key."""
    client = Client()
    client.force_login(User.objects.get(email=email))
    return str(client.session.session_key)


def rows_of_all_models(organization: Organization) -> dict[str, str]:
    """Return the id of the organization and of one of its rows of each model, by the model's label."""
    rows = {"organizations.organization": str(organization.pk)}
    for model in apps.get_models():
        if issubclass(model, TenantModel):
            id = model.objects.of(organization).order_by("-pk").values_list("pk", flat=True).first()
            if id is not None:
                rows[model._meta.label_lower] = str(id)
    return rows
