"""People between organizations: who can get where, tried by HTTP requests alone (U1 to U10).

The table at the top says for each kind of person and each thing they can do how it ends.
"""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django_otp.oath import TOTP

from foundation.api.emails import mail_address
from foundation.api.exceptions import ValidationFailed
from foundation.db.timestamps import now
from leads.models import Lead
from notifications.models import Notification
from organizations.actors import SYSTEM
from organizations.models import (
    Invitation,
    MemberRole,
    Membership,
    Organization,
    PasswordReset,
    SecurityEvent,
    TotpDevice,
    User,
)
from organizations.permissions import roles_up_to
from organizations.services import add_member, change_member
from tests.accounts import (
    PASSWORD,
    accept,
    choose_password,
    deliver_mail,
    invite_and_read_link,
    is_signed_in,
    links_mailed_to,
    post_invitation,
    request_reset,
    run_together,
    sign_in,
)
from tests.factories import deactivate, make_api, make_member, make_organization, owner_of, snapshot_of
from tests.migrations import run_data_steps
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

OLD_PASSWORD = "secret-of-tests"
TWO_FACTOR = "/admin/account/two-factor/"


@dataclass(frozen=True)
class World:
    """Acme, the other organization Globex, and a signed-in owner of each."""

    acme: Organization
    globex: Organization
    owner: Client
    other_owner: Client


@dataclass(frozen=True)
class Person:
    """Somebody with a mailbox and a browser."""

    email: str
    client: Client

    @property
    def account(self) -> User | None:
        return User.objects.filter(email=self.email).first()

    def membership(self, organization: Organization) -> Membership | None:
        """Return the person's membership, active or not."""
        found: Membership | None = Membership.objects.of(organization).filter(user__email=self.email).first()
        return found

    def active_in(self, *organizations: Organization) -> list[str]:
        """Return the names of those organizations of which the person is an active member."""
        return [str(row) for row in organizations if (member := self.membership(row)) and member.is_active]


@pytest.fixture
def world(organization: Organization, other_organization: Organization) -> World:
    """Acme and Globex, each with an owner whose address is verified."""
    User.objects.update(email_verified_at=now())
    clients = [logged_in_client(owner_of(row)) for row in (organization, other_organization)]
    return World(organization, other_organization, *clients)


def make_person(world: World, who: str) -> Person:
    """Create a person of a row of the table."""
    verified = {"email_verified_at": now()}
    if who == "stranger":
        return Person("sally@stranger.example", Client())
    if who == "invited":
        post_invitation(world.owner, "ivan@invited.example")
        return Person("ivan@invited.example", Client())
    if who == "OWNER here":
        return Person("owner@acme.example", world.owner)
    if who == "OWNER elsewhere":
        return Person("owner@globex.example", world.other_owner)
    role = who.split()[0] if who.endswith(" here") else MemberRole.CLOSER
    member = make_member(world.acme, f"{role.lower()}@members.example", role=role, **verified)
    client = logged_in_client(member)
    if who == "deactivated":
        deactivate(member)
    if who == "banned":
        User.objects.filter(pk=member.user_id).update(is_active=False)
        deactivate(member)
    return Person(member.user.email, client)


def switch_two_factor_on(client: Client, password: str) -> None:
    """Set two-factor sign-in up, as its page does."""
    key = client.post(TWO_FACTOR, {"start": "yes"}).context["key"].replace(" ", "")
    client.post(TWO_FACTOR, {"password": password, "code": f"{TOTP(base64.b32decode(key)).token():06}"})


def invite_setter(world: World, person: Person) -> str:
    return invite_somebody(world, person, MemberRole.SETTER)


def invite_owner(world: World, person: Person) -> str:
    return invite_somebody(world, person, MemberRole.OWNER)


def invite_somebody(world: World, person: Person, role: str) -> str:
    """Invite an address; say where the invitation stands."""
    post_invitation(person.client, "new@somebody.example", role)
    return where_invited(world, "new@somebody.example")


def where_invited(world: World, email: str) -> str:
    rows = Invitation.unscoped.filter(email=email).order_by("organization__name")
    return " and ".join(str(row.organization) for row in rows) or "refused"


def invite_again(world: World, person: Person) -> str:
    """Invite an address that Acme has invited already."""
    post_invitation(world.owner, "waiting@somebody.example")
    post_invitation(person.client, "waiting@somebody.example")
    return where_invited(world, "waiting@somebody.example")


def send_again(world: World, person: Person) -> str:
    """Send Acme's invitation once more, as the button does."""
    post_invitation(world.owner, "waiting@somebody.example")
    invitation = Invitation.objects.of(world.acme).get(email="waiting@somebody.example")
    Invitation.objects.of(world.acme).update(last_sent_at=now() - timedelta(minutes=6))
    person.client.post(admin_url(Invitation, "send_again", invitation.pk))
    invitation.refresh_from_db()
    return "sent" if invitation.sent_count == 2 else "refused"


def accept_invitation(world: World, person: Person) -> str:
    """Accept Acme's invitation, if it makes one."""
    post_invitation(world.owner, person.email, MemberRole.MANAGER)
    return accept_mailed_link(world, person, world.acme)


def join_second(world: World, person: Person) -> str:
    """Accept an invitation of Globex."""
    post_invitation(world.other_owner, person.email)
    return accept_mailed_link(world, person, world.globex)


def accept_mailed_link(world: World, person: Person, organization: Organization) -> str:
    """Use the last link in the mailbox, and say of which organizations the person is a member afterwards."""
    deliver_mail(organization)
    links = links_mailed_to(person.email)
    if links:
        accept(person.client, links[-1])
    return " and ".join(person.active_in(world.acme, world.globex)) or "nowhere"


def keep_withdrawn_link(world: World, person: Person) -> str:
    """Keep Globex's link, and use it after the invitation is withdrawn and Acme has invited the person too."""
    before = person.active_in(world.acme, world.globex)
    post_invitation(world.other_owner, person.email)
    deliver_mail(world.globex)
    links = links_mailed_to(person.email)
    for invitation in Invitation.objects.of(world.globex):
        world.other_owner.post(admin_url(Invitation, "withdraw", invitation.pk))
    post_invitation(world.owner, person.email)
    for link in links:
        assert accept(person.client, link).status_code == 404
    return "nothing changed" if person.active_in(world.acme, world.globex) == before else "changed"


def reset(world: World, person: Person) -> str:
    """Ask for a new password and use the link, if the mailbox gets one."""
    response = request_reset(person.email)
    assert (response.status_code, response.headers["Location"]) == (302, "/admin/password-reset/done/")
    before = len(links_mailed_to(person.email))
    deliver_mail()
    links = links_mailed_to(person.email)[before:]
    if not links:
        return "no mail"
    choose_password(links[0], "another horse battery")
    assert person.account is not None
    assert person.account.check_password("another horse battery")
    return "new password"


def change_address(world: World, person: Person) -> str:
    """Send one's own page with somebody else's address."""
    account = person.account
    if account:
        person.client.post(
            admin_url(User, "change", account.pk), {"email": "evil@somebody.example", "time_zone": "UTC"}
        )
    return "changed" if User.objects.filter(email="evil@somebody.example").exists() else "refused"


def save_role(person: Person, member: Membership, role: MemberRole) -> None:
    """Send the member's form, with what the person can see of it, and this role."""
    url = admin_url(Membership, "change", member.pk)
    shown = form_data(person.client, url) if person.client.get(url).status_code == 200 else {}
    person.client.post(url, {**shown, "role": role, "is_active": "on", "wants_mail": "on"})


def raise_own_role(world: World, person: Person) -> str:
    """Send one's own membership with the role of an owner."""
    member = person.membership(world.acme)
    if member is None:
        return "refused"
    save_role(person, member, MemberRole.OWNER)
    after = person.membership(world.acme)
    assert after is not None
    return "changed" if (after.role, after.is_active) != (member.role, member.is_active) else "refused"


def change_role(world: World, person: Person) -> str:
    """Make a setter of Acme a closer."""
    setter = make_member(world.acme, "colleague@acme.example", role=MemberRole.SETTER)
    save_role(person, setter, MemberRole.CLOSER)
    setter.refresh_from_db()
    return "changed" if setter.role == MemberRole.CLOSER else "refused"


def leave(world: World, person: Person) -> str:
    """Leave Acme, as the button does."""
    member = person.membership(world.acme) or owner_of(world.acme)
    before = member.is_active
    person.client.post(admin_url(Membership, "leave", member.pk))
    member.refresh_from_db()
    return "left" if before and not member.is_active else "refused"


ACTIONS: list[Callable[[World, Person], str]] = [
    invite_setter,
    invite_owner,
    invite_again,
    send_again,
    accept_invitation,
    join_second,
    keep_withdrawn_link,
    reset,
    change_address,
    raise_own_role,
    change_role,
    leave,
]
NOBODY = ["refused", "refused", "Acme", "refused"]
LEADER = ["Acme", "refused", "Acme", "sent"]
TABLE = {
    "stranger": [*NOBODY, "Acme", "Globex", "nothing changed", "no mail", *["refused"] * 4],
    "invited": [*NOBODY, "Acme", "Globex", "nothing changed", "no mail", *["refused"] * 4],
    "SETTER here": [*NOBODY, "Acme", "Acme and Globex", "nothing changed", "new password", *["refused"] * 3, "left"],
    "CLOSER here": [*NOBODY, "Acme", "Acme and Globex", "nothing changed", "new password", *["refused"] * 3, "left"],
    "SALES_OPS here": [*NOBODY, "Acme", "Acme and Globex", "nothing changed", "new password", *["refused"] * 3, "left"],
    "MANAGER here": [
        *LEADER, "Acme", "Acme and Globex", "nothing changed", "new password", "refused", "refused", "changed", "left"
    ],
    "OWNER here": [
        "Acme", "Acme", "Acme", "sent", "Acme", "Acme and Globex", "nothing changed", "new password",
        "refused", "refused", "changed", "refused",
    ],
    "OWNER elsewhere": [
        "Globex", "Globex", "Acme and Globex", "refused", "Acme and Globex", "Globex", "nothing changed",
        "new password", *["refused"] * 4,
    ],
    "deactivated": [*NOBODY, "Acme", "Globex", "nothing changed", "new password", *["refused"] * 4],
    "banned": [*NOBODY, "nowhere", "nowhere", "nothing changed", "no mail", *["refused"] * 4],
}  # fmt: skip
CELLS = [
    pytest.param(who, action, expected, id=f"{who}-{action.__name__}")
    for who, row in TABLE.items()
    for action, expected in zip(ACTIONS, row, strict=True)
]


@pytest.mark.parametrize(("who", "action", "expected"), CELLS)
def test_each_person_gets_as_far_as_the_table_says(who: str, action: Any, expected: str, world: World) -> None:
    person = make_person(world, who)

    end = action(world, person)

    assert end == expected
    # Nobody but who accepted is a member, and no account appears without its person.
    emails = set(User.objects.exclude(email=person.email).values_list("email", flat=True))
    assert emails <= {"owner@acme.example", "owner@globex.example", "colleague@acme.example"}


# U1


def test_the_inviter_never_sees_the_link(world: World) -> None:
    link = invite_and_read_link(world.owner, world.acme, "new@somebody.example")
    invitation = Invitation.objects.of(world.acme).get()

    pages = [
        world.owner.get(url, follow=True).content.decode()
        for url in (
            "/admin/",
            admin_url(Invitation, "changelist"),
            admin_url(Invitation, "change", invitation.pk),
            admin_url(Invitation, "history", invitation.pk),
            admin_url(Invitation, "send_again", invitation.pk),
            admin_url(Membership, "changelist"),
        )
    ]
    kept = [str(snapshot_of(world.acme)), str(list(LogEntry.objects.values()))]

    token = link.split("/")[3].split("-")[1]
    assert [text for text in [*pages, *kept] if token in text or "/admin/invitation/" in text] == []
    assert [message.to for message in mail.outbox] == [["new@somebody.example"]]


def test_no_page_of_the_admin_makes_a_link_for_somebody_else(world: World) -> None:
    member = make_member(world.acme, "mia@acme.example")

    answers = [
        world.owner.post(f"/admin/organizations/membership/{member.pk}/make_password_link/").status_code,
        world.owner.post(f"/admin/organizations/membership/{member.pk}/make-password-link/").status_code,
        world.owner.post(
            "/admin/organizations/membership/add/", {"email": "x@y.example", "role": "SETTER"}
        ).status_code,
    ]

    assert answers == [302, 302, 403]
    assert mail.outbox == []


# U2


def test_a_link_opens_only_its_own_invitation_and_only_once(world: World) -> None:
    link = invite_and_read_link(world.other_owner, world.globex, "victim@somebody.example")
    post_invitation(world.owner, "victim@somebody.example", MemberRole.OWNER)

    first, second = accept(Client(), link), accept(Client(), link, "an attackers password")

    victim = User.objects.get(email="victim@somebody.example")
    assert (first.status_code, second.status_code) == (302, 404)
    assert not Membership.objects.of(world.acme).filter(user=victim).exists()
    assert victim.check_password(PASSWORD)


def test_a_link_that_only_names_an_existing_invitation_opens_nothing(world: World) -> None:
    link = invite_and_read_link(world.owner, world.acme, "new@somebody.example")
    name, mac = link.strip("/").rsplit("/", 1)[1].split("-")
    wrong_mac = "0" * 64 if mac != "0" * 64 else "1" * 64

    responses = [accept(Client(), f"/admin/invitation/{name}-{wrong}/") for wrong in (wrong_mac, mac[:-1])]

    assert [response.status_code for response in responses] == [404, 404]
    assert not User.objects.filter(email="new@somebody.example").exists()


@pytest.mark.parametrize("how", ["expires", "declined", "withdrawn", "organization is closed"])
def test_a_closed_invitation_cannot_be_accepted(how: str, world: World) -> None:
    link = invite_and_read_link(world.owner, world.acme, "new@somebody.example")
    invitation = Invitation.objects.of(world.acme).get()
    if how == "expires":
        Invitation.objects.of(world.acme).update(expires_at=now())
    if how == "declined":
        assert b"You have declined the invitation" in Client().post(link, {"decline": "yes"}).content
    if how == "withdrawn":
        world.owner.post(admin_url(Invitation, "withdraw", invitation.pk))
    if how == "organization is closed":
        Organization.objects.filter(pk=world.acme.pk).update(is_active=False)

    response = accept(Client(), link)

    assert response.status_code == 404
    assert not User.objects.filter(email="new@somebody.example").exists()


@pytest.mark.parametrize("how", ["demoted", "deactivated", "banned"])
def test_an_invitation_dies_with_its_inviters_right_to_make_it(how: str, world: World) -> None:
    second = make_member(world.acme, "second@acme.example", role=MemberRole.OWNER, email_verified_at=now())
    link = invite_and_read_link(logged_in_client(second), world.acme, "alias@attacker.example", MemberRole.OWNER)
    if how == "banned":
        User.objects.filter(pk=second.user_id).update(is_active=False)
    else:
        url = admin_url(Membership, "change", second.pk)
        change = {"role": "SETTER"} if how == "demoted" else {"is_active": ""}
        world.owner.post(url, form_data(world.owner, url, **change))

    response = accept(Client(), link)

    assert response.status_code == 404
    assert [member.user.email for member in Membership.objects.of(world.acme).filter(is_active=True, role="OWNER")][
        :1
    ] == ["owner@acme.example"]
    assert not User.objects.filter(email="alias@attacker.example").exists()


CHANGES: dict[str, Callable[[User, World], object]] = {
    "password": lambda user, world: (user.set_password("something else"), user.save()),
    "address": lambda user, world: User.objects.filter(pk=user.pk).update(email="moved@acme.example"),
    "ban": lambda user, world: User.objects.filter(pk=user.pk).update(is_active=False),
    "sign-in": lambda user, world: sign_in(user.email, OLD_PASSWORD),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_reset_link_dies_with_a_change_of(change: str, world: World) -> None:
    member = make_member(world.acme, "mia@acme.example")
    request_reset("mia@acme.example")
    deliver_mail()
    [link] = links_mailed_to("mia@acme.example")
    CHANGES[change](member.user, world)

    response = choose_password(link, "an attackers password")

    member.user.refresh_from_db()
    assert b"This link has already been used or has expired" in response.content
    assert not member.user.check_password("an attackers password")


ACTS_OF_OTHERS: dict[str, Callable[[Membership, World], object]] = {
    "another role": lambda member, world: change_member(
        member=member, role=MemberRole.MANAGER, is_active=True, wants_mail=True, actor=SYSTEM
    ),
    "deactivating the member": lambda member, world: change_member(
        member=member, role=member.role, is_active=False, wants_mail=True, actor=SYSTEM
    ),
    "a second membership": lambda member, world: add_member(
        organization=world.globex, user=member.user, role=MemberRole.OWNER
    ),
}


@pytest.mark.parametrize("act", ACTS_OF_OTHERS.values(), ids=ACTS_OF_OTHERS)
def test_what_an_organization_does_to_a_member_ends_no_reset_link(
    world: World, act: Callable[[Membership, World], object]
) -> None:
    member = make_member(world.acme, "mia@acme.example")
    stranger = make_member(world.globex, "gil@globex.example")
    assert ask_for_links("mia@acme.example", 1) == 1

    act(member, world)

    assert choose_password(links_mailed_to("mia@acme.example")[0]).status_code == 302
    member.user.refresh_from_db()
    stranger.user.refresh_from_db()
    assert (member.user.check_password(PASSWORD), stranger.user.check_password(OLD_PASSWORD)) == (True, True)


def test_an_owner_who_changes_roles_all_the_time_leaves_a_member_of_two_organizations_a_link(world: World) -> None:
    member = make_member(world.acme, "mia@acme.example", role=MemberRole.SETTER)
    add_member(organization=world.globex, user=member.user, role=MemberRole.OWNER)
    url, counts = admin_url(Membership, "change", member.pk), []

    for role in [MemberRole.CLOSER, MemberRole.SETTER] * 7:
        counts.append(ask_for_links("mia@acme.example", 1))
        world.owner.post(url, form_data(world.owner, url, role=role))
        member.refresh_from_db()
        assert member.role == role

    assert counts == [1] * 3 + [0] * 11
    links = links_mailed_to("mia@acme.example")
    assert choose_password(links[0]).status_code == 302
    assert ask_for_links("mia@acme.example", 1) == 1
    assert choose_password(links_mailed_to("mia@acme.example")[-1], "another new password").status_code == 302


def test_a_reset_link_works_once_and_ends_all_sessions(world: World) -> None:
    member = make_member(world.acme, "mia@acme.example")
    sessions = [logged_in_client(member), logged_in_client(member)]
    request_reset("mia@acme.example")
    deliver_mail()
    [link] = links_mailed_to("mia@acme.example")

    first, second = choose_password(link), choose_password(link, "an attackers password")

    member.user.refresh_from_db()
    assert (first.status_code, first.headers["Location"]) == (302, "/admin/login/")
    assert b"This link has already been used or has expired" in second.content
    assert [is_signed_in(client) for client in sessions] == [False, False]
    assert is_signed_in(sign_in("mia@acme.example"))
    assert member.user.email_verified_at is not None


def test_a_reset_link_expires(world: World, settings: Any) -> None:
    member = make_member(world.acme, "mia@acme.example")
    request_reset("mia@acme.example")
    deliver_mail()
    [link] = links_mailed_to("mia@acme.example")
    settings.PASSWORD_RESET_TIMEOUT = -1

    response = choose_password(link, "an attackers password")

    assert b"This link has already been used or has expired" in response.content
    member.user.refresh_from_db()
    assert member.user.check_password(OLD_PASSWORD)


# U3


def test_an_account_of_somebody_who_never_proved_the_address_is_not_inherited(world: World) -> None:
    squatter = make_member(world.globex, "victim@somebody.example", first_name="Evil")
    attacker = logged_in_client(squatter)
    link = invite_and_read_link(world.owner, world.acme, "victim@somebody.example", MemberRole.OWNER)

    by_session = accept(attacker, "/admin/invitation/guess/")
    accept(Client(), link, PASSWORD)

    account = User.objects.get(email="victim@somebody.example")
    assert by_session.status_code == 404
    assert not is_signed_in(attacker)
    assert not is_signed_in(sign_in("victim@somebody.example", OLD_PASSWORD))
    assert is_signed_in(sign_in("victim@somebody.example"))
    assert (account.first_name, account.email_verified_at is not None) == ("Nina", True)


def test_somebody_who_never_proved_the_address_cannot_switch_two_factor_on(world: World) -> None:
    """A second factor of theirs would keep the address's person out, or an invitation would have to end it."""
    squatter = make_member(world.globex, "victim@somebody.example")
    attacker = logged_in_client(squatter)

    page = attacker.get(TWO_FACTOR).content.decode()
    started = attacker.post(TWO_FACTOR, {"start": "yes"})
    confirmed = attacker.post(TWO_FACTOR, {"password": OLD_PASSWORD, "code": "123456"})

    assert ("Verify the address" in page, 'name="start"' in page) == (True, False)
    # Without a key, the page that the code is sent to leads back to the first one.
    assert [response.headers["Location"] for response in (started, confirmed)] == [TWO_FACTOR] * 2
    assert not TotpDevice.objects.exists()


def test_a_reset_by_mail_opens_two_factor_to_somebody_with_an_unverified_address(world: World) -> None:
    make_member(world.acme, "mia@acme.example")
    request_reset("mia@acme.example")
    deliver_mail()
    choose_password(links_mailed_to("mia@acme.example")[0])
    client = sign_in("mia@acme.example")

    switch_two_factor_on(client, PASSWORD)

    assert User.objects.get(email="mia@acme.example").two_factor_enabled_at is not None


def test_an_invitation_does_not_end_the_second_factor_of_an_account_with_a_changed_address(world: World) -> None:
    member = make_member(world.globex, "mia@globex.example", email_verified_at=now())
    switch_two_factor_on(logged_in_client(member), OLD_PASSWORD)
    operator = Client()
    operator.force_login(User.objects.create_superuser("root@example.com", OLD_PASSWORD))
    url = admin_url(User, "change", member.user_id)
    operator.post(url, form_data(operator, url, email="mia@new.example"))
    link = invite_and_read_link(world.owner, world.acme, "mia@new.example")

    accept(Client(), link, "an attackers password")

    member.user.refresh_from_db()
    assert (member.user.email, member.user.email_verified_at) == ("mia@new.example", None)
    assert member.user.two_factor_enabled_at is not None
    assert member.user.check_password(OLD_PASSWORD)
    assert not Membership.objects.of(world.acme).filter(user=member.user).exists()


def test_a_verified_account_is_not_opened_by_an_invitations_link(world: World) -> None:
    member = make_member(world.globex, "vera@globex.example", email_verified_at=now())
    link = invite_and_read_link(world.owner, world.acme, "vera@globex.example")

    by_link = accept(Client(), link, "an attackers password")
    page = Client().get(link).content.decode()

    member.user.refresh_from_db()
    assert by_link.status_code == 200
    assert member.user.check_password(OLD_PASSWORD)
    assert not Membership.objects.of(world.acme).filter(user=member.user).exists()
    assert ("Sign in to accept" in page, "new_password1" in page) == (True, False)


def test_an_operators_account_is_not_opened_by_an_invitations_link(world: World) -> None:
    operator = User.objects.create_superuser("root@example.com", OLD_PASSWORD)
    link = invite_and_read_link(world.owner, world.acme, "root@example.com")

    accept(Client(), link, "an attackers password")

    operator.refresh_from_db()
    assert operator.check_password(OLD_PASSWORD)


def test_somebody_without_an_organization_signs_in_to_accept_an_invitation(world: World) -> None:
    member = make_member(world.globex, "vera@globex.example", email_verified_at=now())
    deactivate(member)
    refused = sign_in("vera@globex.example", OLD_PASSWORD)
    link = invite_and_read_link(world.owner, world.acme, "vera@globex.example")

    client = sign_in("vera@globex.example", OLD_PASSWORD)
    before = is_signed_in(client)
    accept(client, link)

    assert (is_signed_in(refused), before, is_signed_in(client)) == (False, False, True)


def test_a_link_is_not_answered_by_somebody_who_is_signed_in_as_somebody_else(world: World) -> None:
    link = invite_and_read_link(world.owner, world.acme, "new@somebody.example")

    page = world.other_owner.get(link)
    accept(world.other_owner, link)
    world.other_owner.post(link, {"decline": "yes"})

    assert b"Sign out first" in page.content
    assert b"Acme" not in page.content
    assert Invitation.objects.of(world.acme).get().status == "Open"
    assert not User.objects.filter(email="new@somebody.example").exists()


# U4

VARIANTS = {
    "letter case": "OLIVIA@Globex.example",
    "a dot": "o.livia@globex.example",
    "a tag": "olivia+x@globex.example",
    "sharp s in the domain": "olivia@globe\u00df.example",
}


def is_same_for_the_unique_index(first: str, second: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT lower(%s) = lower(%s)", [first, second])
        return bool(cursor.fetchone()[0])


@pytest.mark.parametrize("variant", VARIANTS)
def test_addresses_are_compared_as_the_unique_index_compares_them(variant: str, world: World) -> None:
    email = VARIANTS[variant]
    olivia = make_member(world.globex, "olivia@globex.example", role=MemberRole.MANAGER, email_verified_at=now())
    is_same, hers = is_same_for_the_unique_index(email, olivia.user.email), logged_in_client(olivia)

    links = [invite_and_read_link(world.owner, world.acme, email)]
    by_link = accept(Client(), links[0])
    if is_same:
        accept(hers, links[0])
    mail.outbox.clear()
    request_reset(email)
    deliver_mail()

    [joined] = Membership.objects.of(world.acme).exclude(user__email="owner@acme.example")
    assert (by_link.status_code, joined.user_id == olivia.user_id) == (200 if is_same else 302, is_same)
    assert [message.to for message in mail.outbox] == [[olivia.user.email if is_same else mail_address(email)]]
    olivia.user.refresh_from_db()
    assert olivia.user.check_password(OLD_PASSWORD)
    assert sorted(str(row.organization) for row in olivia.user.memberships.all()) == ["Acme"] * is_same + ["Globex"]


def test_the_mailbox_of_a_similar_address_does_not_open_an_account(world: World) -> None:
    """PostgreSQL may lower the dotted capital I to i, and an attacker can own a domain with such a letter."""
    victim = make_member(world.globex, "victim@initech.example")
    link = invite_and_read_link(world.owner, world.acme, "victim@i\u0307nitech.example")
    # As earlier versions have stored it.
    Invitation.objects.of(world.acme).update(email="victim@\u0130nitech.example")

    accept(Client(), link, "an attackers password")

    victim.user.refresh_from_db()
    assert victim.user.check_password(OLD_PASSWORD)
    assert [str(row.organization) for row in victim.user.memberships.all()] == ["Globex"]


# U5


def stored_users() -> list[dict[str, Any]]:
    """Return all accounts, without when each was last seen: the owner opens pages."""
    return [row | {"last_seen_at": None} for row in User.objects.order_by("pk").values()]


def test_inviting_another_organizations_member_tells_and_changes_nothing_of_them(world: World) -> None:
    make_member(world.globex, "gina@globex.example", first_name="Gina", last_name="Globexson", email_verified_at=now())
    before, users = snapshot_of(world.globex), stored_users()

    post_invitation(world.owner, "gina@globex.example", MemberRole.OWNER)
    pages = [
        world.owner.get(url).content.decode()
        for url in (
            admin_url(Invitation, "changelist"),
            admin_url(Invitation, "change", Invitation.objects.of(world.acme).get().pk),
            admin_url(Membership, "changelist"),
        )
    ]

    assert (snapshot_of(world.globex), stored_users()) == (before, users)
    # The page's title is the address, with a capital letter.
    assert [page for page in pages if "Gina " in page or "Globex" in page or "Globexson" in page] == []


def test_a_former_member_cannot_be_made_a_member_again_without_consent(world: World) -> None:
    member = make_member(world.acme, "mia@acme.example", role=MemberRole.SETTER)
    deactivate(member)
    url = admin_url(Membership, "change", member.pk)

    world.owner.post(url, {"role": "SETTER", "is_active": "on", "wants_mail": "on"})

    member.refresh_from_db()
    assert not member.is_active


def test_a_mail_that_waits_is_not_sent_to_somebody_who_has_left(world: World) -> None:
    from notifications.models import Kind, Notification  # noqa: PLC0415
    from tests.jobs import send_notifications  # noqa: PLC0415

    member = make_member(world.acme, "mia@acme.example")
    context = {"organization": "Acme", "endpoints": [], "attendees": []}
    Notification.objects.create(organization=world.acme, kind=Kind.ENDPOINTS_FAILING, recipient=member, context=context)
    logged_in_client(member).post(admin_url(Membership, "leave", member.pk))

    send_notifications(str(world.acme.pk))

    assert mail.outbox == []
    assert Notification.objects.of(world.acme).get().last_error == "not_a_member"


def test_an_owner_sees_no_sign_ins_from_before_a_former_member_came_back(world: World) -> None:
    member = make_member(world.acme, "mia@acme.example", email_verified_at=now())
    add_member(organization=world.globex, user=member.user)
    Membership.objects.of(world.acme).filter(pk=member.pk).update(created_at=now() - timedelta(days=9))
    logged_in_client(member).post(admin_url(Membership, "leave", member.pk))
    for days, address in ((10, "192.0.2.10"), (1, "192.0.2.1"), (0, "192.0.2.77")):
        if not days:
            accept(logged_in_client(member), invite_and_read_link(world.owner, world.acme, "mia@acme.example"))
        sign_in("mia@acme.example", OLD_PASSWORD, client=Client(REMOTE_ADDR=address))
        SecurityEvent.objects.filter(address=address).update(created_at=now() - timedelta(days=days))

    page = world.owner.get(admin_url(SecurityEvent, "changelist")).content.decode()

    assert [address in page for address in ("192.0.2.10<", "192.0.2.1<", "192.0.2.77<")] == [False, False, True]


def test_owners_see_no_address_and_browser_of_somebody_who_declines(world: World) -> None:
    """That person never becomes a member, and the page says that owners see them of members."""
    vera = logged_in_client(make_member(world.globex, "vera@globex.example"))
    for client, email in ((Client(), "ann@somebody.example"), (vera, "vera@globex.example")):
        link = invite_and_read_link(world.owner, world.acme, email)
        client.post(link, {"decline": "yes"}, headers={"User-Agent": "Their browser"}, REMOTE_ADDR="192.0.2.9")
    accepting = Client(REMOTE_ADDR="192.0.2.9")
    accept(accepting, invite_and_read_link(world.owner, world.acme, "bea@somebody.example"))

    events = SecurityEvent.objects.filter(organization=world.acme)
    declined = events.filter(kind="invitation_declined")
    assert list(declined.values_list("actor", "address", "user_agent", "details")) == [(None, "", "", "as Setter")] * 2
    assert events.get(kind="invitation_accepted").address == "192.0.2.9"


def test_an_invitation_says_that_owners_see_sign_ins(world: World) -> None:
    link = invite_and_read_link(world.owner, world.acme, "new@somebody.example")

    assert "its owners see when, from which address and with which browser" in Client().get(link).content.decode()


# U6


def test_no_invitation_lifts_a_ban(world: World) -> None:
    person = make_person(world, "banned")

    accept_invitation(world, person)

    assert person.account is not None
    assert not person.account.is_active
    assert not is_signed_in(sign_in(person.email))


def test_a_manager_cannot_invite_a_former_owner_at_any_role(world: World) -> None:
    former = make_member(world.acme, "former@acme.example", role=MemberRole.OWNER)
    deactivate(former)
    manager = logged_in_client(make_member(world.acme, "mia@acme.example", role=MemberRole.MANAGER))

    refused = post_invitation(manager, "FORMER@acme.example")
    allowed = post_invitation(world.owner, "FORMER@acme.example")

    assert form_errors(refused) == ["Belonged to a member whose role is above yours; ask an owner to invite them"]
    assert allowed.status_code == 302
    former.refresh_from_db()
    assert (former.role, former.is_active) == ("OWNER", False)


def test_a_manager_cannot_send_again_or_withdraw_an_owners_invitation(world: World) -> None:
    manager = logged_in_client(make_member(world.acme, "mia@acme.example", role=MemberRole.MANAGER))
    post_invitation(world.owner, "boss@somebody.example", MemberRole.OWNER)
    invitation = Invitation.objects.of(world.acme).get()

    answers = [
        manager.post(admin_url(Invitation, button, invitation.pk)).status_code for button in ("send_again", "withdraw")
    ]

    assert answers == [403, 403]
    invitation.refresh_from_db()
    assert (invitation.status, invitation.sent_count) == ("Open", 1)


def test_a_manager_who_saves_an_old_page_does_not_change_somebody_who_is_an_owner_by_now(world: World) -> None:
    member = make_member(world.acme, "mia@acme.example", role=MemberRole.SETTER)
    Membership.objects.of(world.acme).filter(pk=member.pk).update(role=MemberRole.OWNER)

    with pytest.raises(ValidationFailed):
        change_member(
            actor=SYSTEM,
            member=member,
            role="CLOSER",
            is_active=False,
            wants_mail=True,
            assignable=roles_up_to(MemberRole.MANAGER),
        )

    member.refresh_from_db()
    assert (member.role, member.is_active) == ("OWNER", True)


# U7


def test_inviting_takes_the_same_steps_whether_or_not_an_account_exists(world: World) -> None:
    make_member(world.globex, "known@globex.example")
    world.owner.get("/admin/")
    answers = []

    for email in ("known@globex.example", "never@globex.example"):
        with CaptureQueriesContext(connection) as queries:
            response = post_invitation(world.owner, email)
        answers.append((response.status_code, len(queries), [len(query["sql"]) // 100 for query in queries][:10]))

    assert answers[0] == answers[1]


def test_asking_for_a_new_password_takes_the_same_steps_for_every_address(world: World) -> None:
    person = make_person(world, "banned")
    request_reset("warm@up.example")
    answers = []

    for email in ("owner@acme.example", person.email, "never@globex.example", "OWNER@acme.example"):
        with CaptureQueriesContext(connection) as queries:
            response = request_reset(email)
        page = Client().get(response.headers["Location"]).content
        answers.append((response.status_code, response.headers["Location"], len(queries), len(page) // 100))

    assert answers == [answers[0]] * 4
    assert PasswordReset.objects.count() == 5


def test_an_account_gets_at_most_three_links_an_hour(world: World) -> None:
    for email in ("owner@acme.example", "OWNER@acme.example", "Owner@Acme.example", "owner@ACME.example"):
        request_reset(email)
        deliver_mail()

    assert len(mail.outbox) == 3


class BrokenMail(BaseEmailBackend):
    def send_messages(self, email_messages: Any) -> int:
        raise ConnectionRefusedError


def ask_for_links(email: str, count: int) -> int:
    """Ask for links as a stranger does, from another network each time; return how many are mailed."""
    before = len(mail.outbox)
    for _ in range(count):
        stranger = Client(REMOTE_ADDR=f"203.0.113.{PasswordReset.objects.count()}")
        assert stranger.post("/admin/password-reset/", {"email": email}).url
        deliver_mail()
    return len(mail.outbox) - before


LINK_ENDS: dict[str, Callable[[Membership], object]] = {
    "a sign-in": lambda member: sign_in(member.user.email, OLD_PASSWORD),
    "a change of the password": lambda member: logged_in_client(member).post(
        reverse("admin:password_change"),
        {"old_password": OLD_PASSWORD, "new_password1": PASSWORD, "new_password2": PASSWORD},
    ),
    "a reset": lambda member: choose_password(links_mailed_to(member.user.email)[0]),
}


@pytest.mark.parametrize("end", LINK_ENDS.values(), ids=LINK_ENDS)
def test_links_that_a_stranger_asked_for_and_the_person_ended_leave_three_others(
    world: World, end: Callable[[Membership], object]
) -> None:
    member = make_member(world.acme, "mia@acme.example")
    assert ask_for_links("mia@acme.example", 5) == 3

    end(member)
    assert b"This link has already been used" in choose_password(links_mailed_to("mia@acme.example")[-1]).content
    assert ask_for_links("mia@acme.example", 5) == 3

    assert choose_password(links_mailed_to("mia@acme.example")[-1], "another new password").status_code == 302


def test_after_twelve_links_within_an_hour_an_account_gets_one_at_a_time(world: World) -> None:
    make_member(world.acme, "mia@acme.example")
    counts = []
    for _ in range(6):
        counts.append(ask_for_links("mia@acme.example", 4))
        sign_in("mia@acme.example", OLD_PASSWORD)
    counts += [ask_for_links("mia@acme.example", 1), ask_for_links("mia@acme.example", 4)]

    assert counts == [3, 3, 3, 3, 1, 1, 1, 0]
    assert choose_password(links_mailed_to("mia@acme.example")[-1]).status_code == 302


def test_requests_that_waited_while_the_person_signed_in_count_when_they_are_mailed(world: World) -> None:
    make_member(world.acme, "mia@acme.example")
    for _ in range(8):
        request_reset("mia@acme.example")
    sign_in("mia@acme.example", OLD_PASSWORD)

    deliver_mail()

    assert len(links_mailed_to("mia@acme.example")) == 3


def test_a_link_whose_first_attempt_failed_is_mailed_although_others_were_asked_for(
    world: World, settings: Any
) -> None:
    make_member(world.acme, "mia@acme.example")
    working, settings.EMAIL_BACKEND = settings.EMAIL_BACKEND, "tests.hostile.test_accounts.BrokenMail"
    assert ask_for_links("mia@acme.example", 5) == 0
    settings.EMAIL_BACKEND = working

    PasswordReset.objects.filter(state="PENDING").update(next_attempt_at=now())
    deliver_mail()

    links = links_mailed_to("mia@acme.example")
    assert (len(links), choose_password(links[-1]).status_code) == (3, 302)


@pytest.mark.usefixtures("stopped_clock")  # the window of the limit must not end meanwhile
def test_a_client_asks_for_at_most_ten_links_a_minute(world: World) -> None:
    responses = [request_reset(f"nobody-{number}@x.example") for number in range(12)]

    assert [response.status_code for response in responses] == [302] * 10 + [200] * 2
    assert PasswordReset.objects.count() == 10


def test_an_invitation_is_sent_at_most_three_times_and_once_in_five_minutes(world: World) -> None:
    post_invitation(world.owner, "new@somebody.example")
    invitation = Invitation.objects.of(world.acme).get()
    url = admin_url(Invitation, "send_again", invitation.pk)
    counts = []

    for wait in (False, True, True, True):
        if wait:
            Invitation.objects.of(world.acme).update(last_sent_at=now() - timedelta(minutes=6))
        deliver_mail(world.acme)
        world.owner.post(url)
        invitation.refresh_from_db()
        counts.append(invitation.sent_count)
    deliver_mail(world.acme)

    assert counts == [1, 2, 3, 3]
    assert len(set(links_mailed_to("new@somebody.example"))) == 1
    assert len(mail.outbox) == 3


def test_nobody_is_mailed_without_end_by_withdrawing_and_inviting_anew(world: World) -> None:
    for _ in range(5):
        post_invitation(world.owner, "new@somebody.example")
        for invitation in Invitation.objects.of(world.acme):
            world.owner.post(admin_url(Invitation, "withdraw", invitation.pk))

    assert Invitation.objects.of(world.acme).count() == 3


def test_invitations_count_against_the_organizations_mails_a_day(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("notifications.daily_limit.MAILS_PER_DAY", 2)
    for number in range(3):
        post_invitation(world.owner, f"new-{number}@somebody.example")

    deliver_mail(world.acme)

    assert len(mail.outbox) == 2


@pytest.mark.parametrize(
    "path",
    [
        "/admin/invitation/x/",
        "/admin/invitation/%00/",
        f"/admin/invitation/{'0' * 32}-{'0' * 64}/",
        "/admin/invitation/\u0130/",
        "/admin/password-reset/AAAA/x/",
        "/admin/password-reset/AA/set-password/",
        "/admin/password-reset/%00/%00/",
        f"/admin/password-reset/{'A' * 3000}/x-y/",
    ],
)
def test_a_made_up_link_is_no_server_error(path: str, db: None) -> None:
    client = Client(raise_request_exception=False)

    codes = [client.get(path).status_code, client.post(path, {"email": "a\0b", "new_password1": "\0"}).status_code]

    assert [code for code in codes if code >= 500] == []


# U10


def test_the_last_owner_cannot_leave(world: World) -> None:
    response = world.owner.post(admin_url(Membership, "leave", owner_of(world.acme).pk))

    assert any("is the last active owner" in error for error in form_errors(response))
    assert owner_of(world.acme).is_active


def test_somebody_who_has_left_their_last_organization_can_sign_out(world: World) -> None:
    member = make_member(world.acme, "mia@acme.example")
    client = logged_in_client(member)
    client.post(admin_url(Membership, "leave", member.pk))

    client.post("/admin/logout/")

    assert SESSION_KEY not in client.session


def test_somebody_without_an_organization_learns_why_they_see_no_page(world: World) -> None:
    member = make_member(world.acme, "mia@acme.example")
    client = logged_in_client(member)
    client.post(admin_url(Membership, "leave", member.pk))
    left = client.get("/admin/", follow=True).content.decode()
    link = invite_and_read_link(world.owner, world.acme, "mia@acme.example")

    invited = sign_in("mia@acme.example", "secret-of-tests")
    page = invited.get("/admin/leads/lead/", follow=True).content.decode()
    accept(invited, link)

    for text in (left, page):
        assert "You are signed in as mia@acme.example, but not a member of any active organization." in text
        assert ("Sign out" in text, 'name="password"' in text, link in text) == (True, False, False)
    assert is_signed_in(sign_in("mia@acme.example"))


def test_nobody_ends_somebody_elses_membership_by_leaving_for_them(world: World) -> None:
    member = make_member(world.acme, "mia@acme.example")

    response = world.owner.post(admin_url(Membership, "leave", member.pk))

    member.refresh_from_db()
    assert (response.status_code, member.is_active) == (403, True)


@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_leave_at_once_one_stays() -> None:
    organization = make_organization()
    owners = [owner_of(organization), make_member(organization, "second@acme.example", role=MemberRole.OWNER)]
    clients = [logged_in_client(owner) for owner in owners]

    run_together(
        *(
            lambda client=client, owner=owner: client.post(admin_url(Membership, "leave", owner.pk))
            for client, owner in zip(clients, owners, strict=True)
        )
    )

    assert Membership.objects.of(organization).filter(role=MemberRole.OWNER, is_active=True).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_link_that_is_used_twice_at_once_makes_one_account_with_one_password() -> None:
    organization = make_organization()
    User.objects.update(email_verified_at=now())
    link = invite_and_read_link(logged_in_client(owner_of(organization)), organization, "new@somebody.example")
    responses: list[Any] = []

    run_together(*[lambda: responses.append(accept(Client(), link))] * 4)

    assert sorted(response.status_code for response in responses) == [302, 404, 404, 404]
    assert Membership.objects.of(organization).filter(user__email="new@somebody.example").count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_requests_with_one_reset_link_at_once_only_one_sets_the_password() -> None:
    member = make_member(make_organization(), "mia@acme.example")
    request_reset("mia@acme.example")
    deliver_mail()
    [link] = links_mailed_to("mia@acme.example")
    clients = [Client(), Client(), Client()]
    forms = [(client, client.get(link, follow=True).request["PATH_INFO"]) for client in clients]
    responses: list[Any] = []

    def send(client: Client, path: str) -> None:
        responses.append(client.post(path, {"new_password1": PASSWORD, "new_password2": PASSWORD}))

    run_together(*(partial(send, *form) for form in forms))

    assert sorted(response.status_code for response in responses) == [200, 200, 302]
    kinds = SecurityEvent.objects.filter(user=member.user).values_list("kind", flat=True)
    assert list(kinds).count("password_reset") == 1


# Permissions come from memberships


def test_is_staff_decides_nothing(world: World) -> None:
    member = make_member(world.acme, "mia@acme.example")
    alone = User.objects.create_user("alone@example.com", OLD_PASSWORD, is_staff=True)
    nobody = Client()
    nobody.force_login(alone)

    assert not member.user.is_staff
    assert is_signed_in(sign_in("mia@acme.example", OLD_PASSWORD))
    assert (is_signed_in(nobody), is_signed_in(sign_in("alone@example.com", OLD_PASSWORD))) == (False, False)


# Data from before


@pytest.mark.django_db
def test_members_from_before_are_invited_and_bookings_can_name_them_until_they_answer() -> None:
    acme, initech = make_organization("Acme"), make_organization("Initech")
    answers = {"Globex": "accepts", "Hooli": "declines", "Umbrella": "is withdrawn", "Stark": "asks for no more"}
    organizations = {make_organization(name): answer for name, answer in answers.items()}
    User.objects.filter(email__startswith="owner@").exclude(email="owner@initech.example").update(
        password="pbkdf2_sha256$1$a$b"
    )
    make_member(acme, "member@acme.example")
    for organization, email, role in (
        (acme, "new@acme.example", MemberRole.MANAGER),
        (acme, "second@acme.example", MemberRole.OWNER),
        (initech, "new@initech.example", MemberRole.SETTER),
        *(
            (organization, f"new@{organization.name.lower()}.example", MemberRole.SETTER)
            for organization in organizations
        ),
    ):
        add_member(organization=organization, user=User.objects.create_user(email), role=role)

    run_data_steps("organizations", "0011_invite_anew")
    run_data_steps("organizations", "0014_unconfirmed_members")

    first_two = [acme, initech]
    active = Membership.unscoped.filter(is_active=True, organization__in=first_two)
    invited = Invitation.unscoped.filter(organization__in=first_two)
    assert set(active.values_list("user__email", flat=True)) == {
        "owner@acme.example",
        "member@acme.example",
        "owner@initech.example",
    }
    assert set(invited.values_list("email", "role", "organization__name")) == {
        ("new@acme.example", "MANAGER", "Acme"),
        ("second@acme.example", "OWNER", "Acme"),
        ("owner@initech.example", "OWNER", "Initech"),
        ("new@initech.example", "SETTER", "Initech"),
    }
    deliver_mail(acme, initech)
    accept(Client(), links_mailed_to("new@acme.example")[0])
    accept(Client(), links_mailed_to("owner@initech.example")[0])
    assert is_signed_in(sign_in("new@acme.example"))
    assert is_signed_in(sign_in("owner@initech.example"))
    assert {answer: book_and_answer(organization, answer) for organization, answer in organizations.items()} == {
        "accepts": (201, 201, 201),
        "declines": (201, 201, 400),
        "is withdrawn": (201, 201, 400),
        "asks for no more": (201, 201, 400),
    }


def book_and_answer(organization: Organization, answer: str) -> tuple[int, int, int]:
    """Let the member from before answer. Return the status codes of an opt-in and a booking before, and one after."""
    email, api = f"new@{organization.name.lower()}.example", make_api(organization)
    [member] = Membership.objects.of(organization).filter(user__email=email)

    opt_in = api.submit(traffic={"utm_content": member.user_id})
    before = api.book(external_reference="before", host_email=email.replace("new", "NEW"))
    recipients = list(Notification.objects.of(organization).values_list("recipient__user__email", flat=True))
    deliver_mail(organization)
    [link] = links_mailed_to(email)
    if answer == "accepts":
        accept(Client(), link)
    if answer == "declines":
        Client().post(link, {"decline": "yes"})
    if answer == "is withdrawn":
        invitation = Invitation.objects.of(organization).get()
        logged_in_client(owner_of(organization)).post(admin_url(Invitation, "withdraw", invitation.pk))
    if answer == "asks for no more":
        unsubscribe = re.findall(r"/unsubscribe/invitation/\S+", str(mail.outbox[-1].body))
        Client().post(unsubscribe[0])
    after = api.book(external_reference="after", host_email=email)

    assert not member.is_active
    assert Lead.objects.of(organization).filter(setter=member).exists()
    assert recipients == [email.replace("new", "owner")]
    return opt_in.status_code, before.status_code, after.status_code
