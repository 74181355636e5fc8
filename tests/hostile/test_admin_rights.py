"""Privilege escalation in the admin, audit log, and safe settings of a server."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.test import Client

from organizations.models import ApiKey, Invitation, MemberRole, Membership, Organization, User
from organizations.permissions import ROLE_ORDER
from tests.factories import make_member, owner_of
from tests.hostile.tenants import make_admin_client
from tests.staff.forms import form_data
from tests.staff.pages import admin_url

ROOT = Path(__file__).resolve().parents[2]
# Fields that would raise a user's rights.
ESCALATION = {
    "is_superuser": "on",
    "is_active": "on",
    "user_permissions": "1",
    "groups": "1",
    "wants_mail": "on",
}


def roles_above(role: MemberRole) -> list[MemberRole]:
    return ROLE_ORDER[ROLE_ORDER.index(role) + 1 :]


def save_own_pages(client: Client, member: Membership, **fields: str) -> None:
    """Send the forms of the member and the user with these fields added by hand."""
    for url in (admin_url(Membership, "change", member.pk), admin_url(User, "change", member.user_id)):
        data = form_data(client, url) if client.get(url).status_code == 200 else {}
        client.post(url, {**data, **ESCALATION, **fields})


def test_the_order_of_roles():
    assert ROLE_ORDER == [
        MemberRole.VIEWER,
        MemberRole.SETTER,
        MemberRole.CLOSER,
        MemberRole.SALES_OPS,
        MemberRole.MANAGER,
        MemberRole.OWNER,
    ]


@pytest.mark.parametrize("role", ROLE_ORDER[:-1])
def test_users_cannot_raise_their_own_rights_or_change_their_organization(
    role: MemberRole, organization: Organization, other_organization: Organization
):
    member = make_member(organization, "climber@acme.example", role=role)
    client = make_admin_client(member)

    for higher_role in roles_above(role):
        save_own_pages(
            client,
            member,
            role=higher_role,
            organization=str(other_organization.pk),
            organization_id=str(other_organization.pk),
            user=owner_of(organization).user_id,
        )

    member = Membership.objects.of(organization).select_related("user").get(pk=member.pk)
    assert (member.role, member.user.email) == (role, "climber@acme.example")
    assert (member.user.is_superuser, member.user.is_staff) == (False, False)
    assert list(member.user.user_permissions.all()) == []


@pytest.mark.parametrize("role", ROLE_ORDER)
def test_users_cannot_assign_a_role_above_their_own(role: MemberRole, organization: Organization):
    owner = owner_of(organization)
    client = make_admin_client(make_member(organization, "giver@acme.example", role=role))
    colleague = make_member(organization, "friend@acme.example", role=MemberRole.VIEWER)

    for higher_role in roles_above(role):
        client.post(admin_url(Invitation, "add"), {"email": f"{higher_role}@acme.example", "role": higher_role})
        url = admin_url(Membership, "change", colleague.pk)
        shown = form_data(client, url) if client.get(url).status_code == 200 else {}
        client.post(url, {**shown, "role": higher_role, "is_active": "on"})

    roles = set(Membership.objects.of(organization).exclude(pk=owner.pk).values_list("role", flat=True))
    assert roles & set(roles_above(role)) == set()
    assert not Invitation.objects.of(organization).exists()


def test_a_deactivated_member_is_refused_from_the_next_request_on(organization: Organization):
    member = make_member(organization, "leaver@acme.example", role=MemberRole.MANAGER)
    client, owner = make_admin_client(member), make_admin_client(owner_of(organization))
    url = admin_url(Membership, "change", member.pk)
    before = client.get("/admin/").status_code

    owner.post(url, {name: value for name, value in form_data(owner, url).items() if name != "is_active"})

    after = [client.get(url).status_code for url in ("/admin/", admin_url(ApiKey, "add"))]
    assert (before, after) == (200, [302, 302])


def test_each_privileged_action_is_logged_with_its_user(organization: Organization):
    owner, member = make_admin_client(owner_of(organization)), make_member(organization, "mia@acme.example")
    owner.post(admin_url(ApiKey, "add"), form_data(owner, admin_url(ApiKey, "add"), name="Zapier"))
    key = ApiKey.objects.of(organization).get()
    owner.post(admin_url(ApiKey, "rotate", key.pk), {"overlap": "1h"})
    owner.post(admin_url(ApiKey, "revoke", key.pk))
    url = admin_url(Membership, "change", member.pk)
    owner.post(url, form_data(owner, url, role="MANAGER"))
    owner.post(admin_url(Invitation, "add"), {"email": "new@acme.example", "role": "SETTER"})
    owner.post(admin_url(Organization, "connect_slack", organization.pk), {"url": ""})

    entries = LogEntry.objects.order_by("id")

    assert set(entries.values_list("user__email", flat=True)) == {"owner@acme.example"}
    # A rotation is logged twice: for the old key and for the new one.
    models = [*["apikey"] * 4, "membership", "invitation", "organization"]
    assert list(entries.values_list("content_type__model", flat=True)) == models


def run_manage(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run manage.py with a server's environment and these variables."""
    environment = {
        "SECRET_KEY": "kL9#" * 15,
        "BASE_URL": "https://pipeline.example",
        "ALLOWED_HOSTS": "pipeline.example",
        **variables,
    }
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_djangos_deployment_check_finds_no_issue_in_a_servers_settings():
    secret_key = Fernet.generate_key().decode() * 2

    process = run_manage("check", "--deploy", "--fail-level", "WARNING", SECRET_KEY=secret_key)

    assert process.returncode == 0, process.stderr
    assert process.stdout == "System check identified no issues (0 silenced).\n"


def test_a_server_runs_without_debug_and_with_secure_cookies():
    code = (
        "from django.conf import settings as s; "
        "print(s.DEBUG, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_HSTS_SECONDS)"
    )

    process = run_manage("shell", "--no-imports", "--command", code)

    assert process.stdout == "False True True 31536000\n"
    assert settings.DEBUG is False


INVALID_KEYS = {
    "empty": ("", "FIELD_ENCRYPTION_KEYS must hold at least one Fernet key"),
    "not a key": ("banana", "FIELD_ENCRYPTION_KEYS must hold Fernet keys"),
    "one of two": (f"{Fernet.generate_key().decode()},short", "FIELD_ENCRYPTION_KEYS must hold Fernet keys"),
}


@pytest.mark.parametrize(("keys", "message"), INVALID_KEYS.values(), ids=INVALID_KEYS)
def test_an_invalid_encryption_key_stops_the_start_and_is_not_printed(keys: str, message: str):
    process = run_manage("check", FIELD_ENCRYPTION_KEYS=keys)

    assert process.returncode == 1
    assert message in process.stderr
    assert not keys or keys not in process.stderr
