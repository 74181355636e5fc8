"""The security log: what is recorded, and who sees it."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.mail import SECURITY_NOTICES
from foundation.db.timestamps import now
from organizations.models import (
    ApiKey,
    Membership,
    Organization,
    SecurityEvent,
    SecurityEventKind,
    SecurityNotice,
    User,
)
from organizations.security_log import record_security_event
from organizations.services import add_member
from pipeline_backend.celery import app
from tests.factories import make_member, owner_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, logged_in_client


def listed_events(client: Client) -> list[tuple[str, str | None]]:
    """Return kind and account of each event that the client's list shows, oldest first."""
    rows = client.get(admin_url(SecurityEvent, "changelist")).context["cl"].result_list
    return [(event.kind, event.user and event.user.email) for event in reversed(rows)]


def test_a_changed_role_is_recorded_with_who_changed_it_and_from_where(owner: Client, host: Membership):
    url = admin_url(Membership, "change", host.pk)
    owner.post(
        url, form_data(owner, url, role="MANAGER"), headers={"User-Agent": "Test\tBrowser"}, REMOTE_ADDR="192.0.2.7"
    )

    event = SecurityEvent.objects.get(kind=SecurityEventKind.ROLE_CHANGED)
    assert (event.user, event.actor, event.organization) == (
        host.user,
        owner_of(host.organization).user,
        host.organization,
    )
    assert (event.details, event.address, event.user_agent) == ("Closer → Manager", "192.0.2.7", "Test Browser")


def test_saving_a_member_without_a_change_records_nothing(owner: Client, host: Membership):
    url = admin_url(Membership, "change", host.pk)
    owner.post(url, form_data(owner, url))

    assert not SecurityEvent.objects.filter(user=host.user).exists()


def test_a_deactivated_member_is_recorded(owner: Client, host: Membership):
    url = admin_url(Membership, "change", host.pk)
    owner.post(url, form_data(owner, url, is_active=""))

    assert listed_events(owner) == [("member_deactivated", "hana@acme.example")]


def test_what_an_operator_changes_of_an_account_is_recorded(operator: Client, owner: Client, host: Membership):
    root, url = User.objects.get(email="root@example.com"), admin_url(User, "change", host.user_id)
    for field, value in (("is_active", ""), ("is_active", "on"), ("is_superuser", "on"), ("is_superuser", "")):
        operator.post(url, form_data(operator, url, **{field: value}), REMOTE_ADDR="192.0.2.7")

    events = SecurityEvent.objects.order_by("created_at", "id")
    assert [(event.kind, event.details) for event in events] == [
        ("member_deactivated", "The account, in all organizations"),
        ("member_activated", "The account, in all organizations"),
        ("role_changed", "Operator, with access to all organizations"),
        ("role_changed", "No longer an operator"),
    ]
    assert {(event.user, event.actor, event.address) for event in events} == {(host.user, root, "192.0.2.7")}
    assert [kind for kind, _ in listed_events(owner)] == [event.kind for event in events]
    emails = [SECURITY_NOTICES.render(notice) for notice in SecurityNotice.objects.all()]
    rights = "Security notice: Your rights as an operator of the installation were changed"
    assert [(email.to, email.subject) for email in emails] == [(["hana@acme.example"], rights)] * 2


def test_a_former_member_who_comes_back_is_recorded(owner: Client, host: Membership, organization: Organization):
    Membership.objects.of(organization).filter(pk=host.pk).update(is_active=False)

    add_member(organization=organization, user=host.user)
    add_member(organization=organization, user=host.user)  # nothing changes

    assert listed_events(owner) == [("member_activated", "hana@acme.example")]


def test_keys_issued_rotated_and_revoked_are_recorded_without_their_secret(owner: Client, organization: Organization):
    url = admin_url(ApiKey, "add")
    page = owner.post(url, form_data(owner, url, name="Zapier"))
    key = ApiKey.objects.of(organization).get()
    owner.post(admin_url(ApiKey, "rotate", key.pk), {"overlap": "1h"})
    owner.post(admin_url(ApiKey, "revoke", key.pk), {})

    events = list(SecurityEvent.objects.order_by("created_at", "id"))
    assert [event.kind for event in events] == ["key_issued", "key_rotated", "key_issued", "key_revoked"]
    assert {event.actor for event in events} == {owner_of(organization).user}
    assert events[0].details == f"Zapier (pb_{key.key_id}_…)"
    assert page.context["secret"] not in str([event.details for event in events])


def test_changed_settings_of_an_organization_are_recorded_by_name(owner: Client, organization: Organization):
    url = admin_url(Organization, "change", organization.pk)
    owner.post(url, form_data(owner, url, requires_two_factor="on", default_country="DE"))

    event = SecurityEvent.objects.get()
    assert (event.kind, event.organization, event.actor) == (
        "organization_changed",
        organization,
        owner_of(organization).user,
    )
    assert event.details == "default country, requires two-factor sign-in"


def test_an_owner_sees_nothing_of_another_organization(
    owner: Client, organization: Organization, other_organization: Organization
):
    both = make_member(organization, "both@example.com")
    add_member(organization=other_organization, user=both.user)
    stranger = owner_of(other_organization)
    record_security_event(SecurityEventKind.ROLE_CHANGED, user=both.user, organization=other_organization)
    record_security_event(SecurityEventKind.KEY_ISSUED, organization=other_organization)
    record_security_event(SecurityEventKind.SIGNED_IN, user=stranger.user)
    record_security_event(SecurityEventKind.SIGNED_IN, user=both.user)
    hidden = SecurityEvent.objects.get(kind=SecurityEventKind.KEY_ISSUED)

    assert listed_events(owner) == [("signed_in", "both@example.com")]
    assert owner.get(admin_url(SecurityEvent, "change", hidden.pk)).status_code == 302


def test_an_owner_sees_sign_ins_only_while_the_person_is_a_member(owner: Client, organization: Organization):
    before = record_security_event(SecurityEventKind.SIGNED_IN, user=User.objects.create_user("new@example.com", "x"))
    SecurityEvent.objects.filter(pk=before.pk).update(created_at=now() - timedelta(days=1))
    add_member(organization=organization, user=before.user)
    former = make_member(organization, "former@example.com")
    record_security_event(SecurityEventKind.SIGNED_IN, user=former.user)
    Membership.objects.of(organization).filter(pk=former.pk).update(is_active=False)
    record_security_event(SecurityEventKind.SIGN_IN_FAILED, user=before.user)

    assert listed_events(owner) == [("sign_in_failed", "new@example.com")]


def test_signing_in_and_out_is_recorded(host: Membership):
    client = Client(REMOTE_ADDR="192.0.2.1")
    client.post(reverse("admin:login"), {"username": "hana@acme.example", "password": "secret-of-tests"})
    client.post(reverse("admin:logout"))

    events = SecurityEvent.objects.order_by("created_at", "id")
    assert [(event.kind, event.user, event.actor, event.address) for event in events] == [
        ("signed_in", host.user, host.user, "192.0.2.1"),
        ("signed_out", host.user, host.user, "192.0.2.1"),
    ]


@pytest.mark.parametrize("role", ["MANAGER", "SALES_OPS", "CLOSER", "SETTER", "VIEWER"])
def test_others_than_owners_see_only_their_own_account(organization: Organization, role: str):
    member = make_member(organization, "member@acme.example", role=role)
    record_security_event(SecurityEventKind.SIGNED_IN, user=owner_of(organization).user)
    record_security_event(SecurityEventKind.KEY_ISSUED, organization=organization)
    record_security_event(SecurityEventKind.SIGNED_IN, user=member.user)

    assert listed_events(logged_in_client(member)) == [("signed_in", "member@acme.example")]


def test_nobody_can_change_or_delete_an_entry(owner: Client, operator: Client, organization: Organization):
    event = record_security_event(SecurityEventKind.KEY_ISSUED, organization=organization, details="Zapier")

    for client in (owner, operator):
        assert client.post(admin_url(SecurityEvent, "change", event.pk), {"details": "x"}).status_code == 403
        assert client.post(admin_url(SecurityEvent, "delete", event.pk), {"post": "yes"}).status_code == 403
        assert client.get(admin_url(SecurityEvent, "add")).status_code == 403
    event.refresh_from_db()
    assert event.details == "Zapier"


def test_old_entries_are_deleted_by_the_periodic_task(organization: Organization, settings: Any):
    settings.KEEP_SECURITY_EVENTS_DAYS = 30
    old, young = (record_security_event(SecurityEventKind.KEY_ISSUED, organization=organization) for _ in range(2))
    SecurityEvent.objects.filter(pk=old.pk).update(created_at=now() - timedelta(days=31))

    app.loader.import_default_modules()
    app.tasks["organizations.prune"].apply(throw=True)

    assert list(SecurityEvent.objects.values_list("pk", flat=True)) == [young.pk]
