"""Two people at the same rows at the same moment, and a database that can't: staff are told, nothing is half done."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, connections, transaction

from leads.models import Lead
from leads.services import add_lead, edit_lead
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization, Role
from organizations.services import LastOwner, add_member
from pipeline_backend.api.exceptions import ValidationFailed
from tests.admin.forms import form_data
from tests.admin.pages import admin_url, form_errors, logged_in_client
from tests.factories import make_member, make_organization, owner_of, snapshot_of

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@contextmanager
def rival(first: Membership, second: Membership) -> Iterator[None]:
    """Somebody who locks the one row, and the other when the test waits for the first: PostgreSQL gives the test up."""
    has_first = threading.Event()

    def lock(member: Membership) -> None:
        Membership.unscoped.select_for_update().get(pk=member.pk)

    def work() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL deadlock_timeout = '20s'")  # the other one is found first
            lock(first)
            has_first.set()
            while not cursor.execute(WAITING).fetchone()[0]:
                pass
            lock(second)
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    assert has_first.wait(10)
    yield
    thread.join(30)


@pytest.mark.django_db(transaction=True)
def test_a_save_that_the_database_gives_up_is_made_anew():
    organization = make_organization()
    first, second = owner_of(organization), make_member(organization, "olga@acme.example", role=Role.OWNER)
    client, address = logged_in_client(first), admin_url(Membership, "change", second.pk)
    data = form_data(client, address, role="SETTER")

    with rival(second, first):
        answer = client.post(address, data)

    second.refresh_from_db()
    assert (answer.status_code, second.role) == (302, "SETTER")


@pytest.mark.django_db(transaction=True)
def test_a_row_that_stays_locked_is_told_in_words_and_nothing_is_saved(settings):
    organization = make_organization()
    lead = add_lead(organization=organization, actor=SYSTEM, email="ada@example.com")
    client, address = logged_in_client(owner_of(organization)), admin_url(Lead, "change", lead.pk)
    client.raise_request_exception = False
    data, before = form_data(client, address, first_name="Ada"), snapshot_of(organization)

    with locked_elsewhere(lead), short_patience():
        answer = client.post(address, data)

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "What you were just sending was not stored" in answer.content.decode()
    assert snapshot_of(organization) == before


@contextmanager
def locked_elsewhere(lead: Lead) -> Iterator[None]:
    """Another connection has the row until the end of the block."""
    is_locked, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Lead.unscoped.select_for_update().get(pk=lead.pk)
            is_locked.set()
            is_over.wait(20)
        connections.close_all()

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_locked.wait(10)
    yield
    is_over.set()
    thread.join(20)


@contextmanager
def short_patience() -> Iterator[None]:
    """This connection waits a moment for a lock, not ten seconds."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
        yield
    connection.close()


@pytest.mark.parametrize("email", ["grace@example.com", "GRACE@example.com"])
def test_a_lead_does_not_take_anothers_e_mail(email: str, organization: Organization):
    add_lead(organization=organization, actor=SYSTEM, email="grace@example.com")
    lead, before = add_lead(organization=organization, actor=SYSTEM, email="ada@example.com"), snapshot_of(organization)

    with pytest.raises(ValidationFailed) as refused:
        edit_lead(organization=organization, actor=SYSTEM, lead=lead, email=email, first_name="Ada")

    assert refused.value.errors == {"email": ["email belongs to another lead"]}
    assert snapshot_of(organization) == before


def test_a_lead_keeps_its_own_e_mail_in_other_letters(organization: Organization):
    lead = add_lead(organization=organization, actor=SYSTEM, email="ada@example.com")

    assert (
        edit_lead(organization=organization, actor=SYSTEM, lead=lead, email="Ada@Example.com").email
        == "Ada@Example.com"
    )


@pytest.mark.django_db(transaction=True)
def test_of_two_who_give_two_leads_the_same_e_mail_one_is_told():
    organization = make_organization()
    leads = [
        add_lead(organization=organization, actor=SYSTEM, email=f"{name}@example.com") for name in ("ada", "grace")
    ]
    together, told = threading.Barrier(2), []

    def rename(lead: Lead) -> None:
        together.wait()
        try:
            edit_lead(organization=organization, actor=SYSTEM, lead=lead, email="one@example.com")
        except ValidationFailed as problem:
            told.append(problem.errors)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=rename, args=[lead]) for lead in leads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert told == [{"email": ["email belongs to another lead"]}]


def test_adding_the_last_owner_again_does_not_demote_them(organization: Organization):
    owner = owner_of(organization)

    with pytest.raises(LastOwner):
        add_member(organization=organization, user=owner.user, role=Role.SETTER)

    assert owner_of(organization) == owner
    assert add_member(organization=organization, user=owner.user, role=Role.OWNER) == owner


def test_an_owner_who_cannot_sign_in_is_no_other_owner(organization: Organization):
    owner = owner_of(organization)
    make_member(organization, "gone@acme.example", role=Role.OWNER, is_active=False)
    client, address = logged_in_client(owner), admin_url(Membership, "change", owner.pk)

    answer = client.post(address, form_data(client, address, role="SETTER"))

    assert form_errors(answer) == [f"{owner} is the last active owner; make someone else an owner first"]
