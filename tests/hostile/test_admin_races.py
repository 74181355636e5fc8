"""Concurrent changes in the admin: users get a clear message, and nothing is half saved."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, connections, transaction

from foundation.api.exceptions import Conflict, ValidationFailed
from leads.models import Lead
from leads.services import add_lead, edit_lead
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from organizations.services import add_member
from tests.factories import make_member, make_organization, owner_of, snapshot_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

COUNT_WAITING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@contextmanager
def deadlock(first: Membership, second: Membership) -> Iterator[None]:
    """Lock the first row in a thread, and the second once the block waits for the first: the block is aborted."""
    has_first_lock = threading.Event()

    def lock(member: Membership) -> None:
        Membership.unscoped.select_for_update().get(pk=member.pk)

    def lock_both() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            # The block's transaction, with the usual timeout, is the one that detects the deadlock and is aborted.
            cursor.execute("SET LOCAL deadlock_timeout = '20s'")
            lock(first)
            has_first_lock.set()
            while not cursor.execute(COUNT_WAITING).fetchone()[0]:
                pass
            lock(second)
        connections.close_all()

    thread = threading.Thread(target=lock_both)
    thread.start()
    assert has_first_lock.wait(60)
    yield
    thread.join(60)


@pytest.mark.django_db(transaction=True)
def test_a_save_that_postgresql_aborts_for_a_deadlock_is_retried():
    organization = make_organization()
    first, second = owner_of(organization), make_member(organization, "olga@acme.example", role=MemberRole.OWNER)
    client, url = logged_in_client(first), admin_url(Membership, "change", second.pk)
    data = form_data(client, url, role="SETTER")

    with deadlock(second, first):
        response = client.post(url, data)

    second.refresh_from_db()
    assert (response.status_code, second.role) == (302, "SETTER")


@pytest.mark.django_db(transaction=True)
def test_a_row_that_stays_locked_is_a_503_with_a_message_and_nothing_is_saved(settings):
    organization = make_organization()
    lead = add_lead(organization=organization, actor=SYSTEM, email="ada@example.com")
    client, url = logged_in_client(owner_of(organization)), admin_url(Lead, "change", lead.pk)
    client.raise_request_exception = False
    data, before = form_data(client, url, first_name="Ada"), snapshot_of(organization)

    with locked_in_another_connection(lead), short_lock_timeout():
        response = client.post(url, data)

    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert "If you were saving something, it was not saved" in response.content.decode()
    assert snapshot_of(organization) == before


@contextmanager
def locked_in_another_connection(lead: Lead) -> Iterator[None]:
    """Hold a lock on the lead's row during the block."""
    is_locked, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Lead.unscoped.select_for_update().get(pk=lead.pk)
            is_locked.set()
            is_over.wait(60)
        connections.close_all()

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_locked.wait(60)
    yield
    is_over.set()
    thread.join(60)


@contextmanager
def short_lock_timeout() -> Iterator[None]:
    """Let this connection wait for a lock for 50 ms instead of ten seconds."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
        yield
    connection.close()


@pytest.mark.parametrize("email", ["grace@example.com", "GRACE@example.com"])
def test_a_lead_cannot_get_the_e_mail_of_another_lead(email: str, organization: Organization):
    add_lead(organization=organization, actor=SYSTEM, email="grace@example.com")
    lead = add_lead(organization=organization, actor=SYSTEM, email="ada@example.com")
    before = snapshot_of(organization)

    with pytest.raises(ValidationFailed) as raised:
        edit_lead(organization=organization, actor=SYSTEM, lead=lead, email=email, first_name="Ada")

    assert raised.value.errors == {"email": ["email belongs to another lead"]}
    assert snapshot_of(organization) == before


def test_the_letter_case_of_a_leads_own_e_mail_can_change(organization: Organization):
    lead = add_lead(organization=organization, actor=SYSTEM, email="ada@example.com")

    edited = edit_lead(organization=organization, actor=SYSTEM, lead=lead, email="Ada@Example.com")

    assert edited.email == "Ada@Example.com"


@pytest.mark.django_db(transaction=True)
def test_of_two_concurrent_changes_to_the_same_e_mail_one_is_refused():
    organization = make_organization()
    leads = [
        add_lead(organization=organization, actor=SYSTEM, email=f"{name}@example.com") for name in ("ada", "grace")
    ]
    barrier, errors = threading.Barrier(2), []

    def change_email(lead: Lead) -> None:
        barrier.wait()
        try:
            edit_lead(organization=organization, actor=SYSTEM, lead=lead, email="one@example.com")
        except ValidationFailed as error:
            errors.append(error.errors)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=change_email, args=[lead]) for lead in leads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == [{"email": ["email belongs to another lead"]}]


def test_adding_the_last_owner_again_does_not_demote_them(organization: Organization):
    owner = owner_of(organization)

    with pytest.raises(Conflict, match="is the last active owner"):
        add_member(organization=organization, user=owner.user, role=MemberRole.SETTER)

    assert owner_of(organization) == owner
    assert add_member(organization=organization, user=owner.user, role=MemberRole.OWNER) == owner


def test_an_owner_who_cannot_log_in_does_not_count_as_another_owner(organization: Organization):
    owner = owner_of(organization)
    make_member(organization, "gone@acme.example", role=MemberRole.OWNER, is_active=False)
    client, url = logged_in_client(owner), admin_url(Membership, "change", owner.pk)

    response = client.post(url, form_data(client, url, role="SETTER"))

    assert form_errors(response) == [f"{owner} is the last active owner; make someone else an owner first"]
