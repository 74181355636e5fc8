"""Nobody makes more of themselves than they are, whatever they send (D4, D12, D13, D14)."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.conf import settings
from django.contrib.admin.models import LogEntry

from organizations.models import ApiKey, Membership, Organization, Role, User
from tests.admin.forms import form_data
from tests.admin.pages import admin_url
from tests.factories import make_member, owner_of
from tests.hostile.tenants import make_admin_client

RANKS = [Role.SETTER, Role.CLOSER, Role.SALES_OPS, Role.MANAGER, Role.OWNER]
ROOT = Path(__file__).resolve().parents[2]
MORE = {
    "is_staff": "on",
    "is_superuser": "on",
    "is_active": "on",
    "user_permissions": "1",
    "groups": "1",
    "wants_mail": "on",
}


def sent(client: Any, member: Membership, **fields: str) -> None:
    """The member's own pages, saved by hand with whatever could raise them."""
    for address in (admin_url(Membership, "change", member.pk), admin_url(User, "change", member.user_id)):
        opened = client.get(address)
        known = form_data(client, address) if opened.status_code == 200 else {}
        client.post(address, {**known, **MORE, **fields})


@pytest.mark.parametrize("role", RANKS[:-1])
def test_nobody_raises_themselves_or_changes_their_organization(
    role: Role, organization: Organization, other_organization: Organization
):
    member = make_member(organization, "climber@acme.example", role=role)
    client = make_admin_client(member)

    for wanted in RANKS[RANKS.index(role) + 1 :]:
        sent(
            client,
            member,
            role=wanted,
            organization=str(other_organization.pk),
            organization_id=str(other_organization.pk),
            user=owner_of(organization).user_id,
        )

    member = Membership.objects.of(organization).select_related("user").get(pk=member.pk)
    assert (member.role, member.user.email, member.user.is_superuser, member.user.is_staff) == (
        role,
        "climber@acme.example",
        False,
        True,
    )
    assert list(member.user.user_permissions.all()) == []


@pytest.mark.parametrize("role", RANKS)
def test_nobody_gives_a_role_above_their_own(role: Role, organization: Organization):
    first, client = (
        owner_of(organization),
        make_admin_client(make_member(organization, "giver@acme.example", role=role)),
    )
    other = make_member(organization, "friend@acme.example", role=Role.SETTER)

    for wanted in RANKS[RANKS.index(role) + 1 :]:
        client.post(
            admin_url(Membership, "add"),
            {"email": f"{wanted}@acme.example", "first_name": "", "last_name": "", "role": wanted},
        )
        client.post(admin_url(Membership, "change", other.pk), {"role": wanted, "is_active": "on"})

    above = RANKS[RANKS.index(role) + 1 :]
    held = set(Membership.objects.of(organization).exclude(pk=first.pk).values_list("role", flat=True))
    assert held & set(above) == set()


def test_who_is_made_inactive_is_out_with_the_next_request(organization: Organization):
    member = make_member(organization, "leaver@acme.example", role=Role.MANAGER)
    client, owner = make_admin_client(member), make_admin_client(owner_of(organization))
    address = admin_url(Membership, "change", member.pk)
    before = client.get("/admin/").status_code

    owner.post(address, {name: value for name, value in form_data(owner, address).items() if name != "is_active"})

    assert (before, client.get("/admin/").status_code, client.get(admin_url(ApiKey, "add")).status_code) == (
        200,
        302,
        302,
    )


def test_each_privileged_act_leaves_a_line_that_says_who(organization: Organization):
    owner, member = make_admin_client(owner_of(organization)), make_member(organization, "mia@acme.example")
    owner.post(admin_url(ApiKey, "add"), form_data(owner, admin_url(ApiKey, "add"), name="Zapier"))
    key = ApiKey.objects.of(organization).get()
    owner.post(admin_url(ApiKey, "rotate", key.pk), {"overlap": "1h"})
    owner.post(admin_url(ApiKey, "revoke", key.pk))
    owner.post(
        admin_url(Membership, "change", member.pk),
        form_data(owner, admin_url(Membership, "change", member.pk), role="MANAGER"),
    )
    owner.post(admin_url(Membership, "make_password_link", member.pk))
    owner.post(admin_url(Organization, "connect_slack", organization.pk), {"url": ""})

    lines = LogEntry.objects.order_by("id").values_list("content_type__model", "change_message", "user__email")
    assert {who for _, _, who in lines} == {"owner@acme.example"}
    assert [model for model, _, _ in lines] == [
        "apikey",
        "apikey",
        "apikey",
        "apikey",
        "membership",
        "membership",
        "organization",
    ]


def started(*command: str, **given: str) -> "subprocess.CompletedProcess[str]":
    """The service's command line with these variables, on a server's settings."""
    own = {
        "SECRET_KEY": "kL9#" * 15,
        "BASE_URL": "https://pipeline.example",
        "ALLOWED_HOSTS": "pipeline.example",
        **given,
    }
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_servers_settings_leave_djangos_own_check_nothing_to_say():
    checked = started("check", "--deploy", "--fail-level", "WARNING", SECRET_KEY=Fernet.generate_key().decode() * 2)

    assert (checked.returncode, checked.stdout) == (0, "System check identified no issues (0 silenced).\n"), (
        checked.stderr
    )


def test_without_debug_and_with_safe_cookies():
    asked = "import json; from django.conf import settings as s; print(s.DEBUG, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_HSTS_SECONDS)"

    assert started("shell", "--no-imports", "--command", asked).stdout == "False True True 31536000\n"
    assert settings.DEBUG is False


KEYS = {
    "none": ("", "FIELD_ENCRYPTION_KEYS must hold at least one Fernet key"),
    "no key": ("banana", "FIELD_ENCRYPTION_KEYS must hold Fernet keys"),
    "one of two": (f"{Fernet.generate_key().decode()},short", "FIELD_ENCRYPTION_KEYS must hold Fernet keys"),
}


@pytest.mark.parametrize(("keys", "sentence"), KEYS.values(), ids=KEYS)
def test_a_wrong_encryption_key_stops_the_start_and_is_not_repeated(keys: str, sentence: str):
    refused = started("check", FIELD_ENCRYPTION_KEYS=keys)

    assert refused.returncode == 1
    assert sentence in refused.stderr
    assert not keys or keys not in refused.stderr
