"""People, who belong to no organization: which accounts go along, and which account is theirs in another installation.

A person with the same id is the same person. A member whose id is unknown, but whose e-mail address another account
has, would get that account's id, which the API shows: that needs a decision. Others (who once issued a key, or changed
something) get the account with their address. Whoever is unknown gets an account: a member with password and
two-factor sign-in, others without. Nobody becomes an operator.
"""

from collections.abc import Collection
from typing import NamedTuple

from django.db import connection

from organizations.actors import SYSTEM
from organizations.events import event_occurred
from organizations.models import Membership, Organization, User
from pipeline_backend.moving import Refused
from pipeline_backend.moving.tables import USER, Catalog, Table

# What belongs to an account and goes along; sessions and requests for a new password don't.
SIGN_IN_TABLES = ("organizations_totpdevice", "organizations_recoverycode")
UNUSABLE = "!"  # the password with which no one can sign in, as Django marks it

CREATE_TEMPORARY = "CREATE TEMPORARY TABLE moved_user (LIKE organizations_user) ON COMMIT DROP"
INSERT_USERS = """
INSERT INTO organizations_user ({columns})
SELECT {columns} FROM moved_user
WHERE id <> ALL (%s) AND NOT EXISTS (SELECT FROM organizations_user AS known WHERE known.id = moved_user.id)
RETURNING id
"""


# What `UserSerializer` shows of those who were known, as the other installation showed it.
SHOWN = """
SELECT id, json_build_object(
    'email', email, 'first_name', first_name, 'last_name', last_name, 'profile_image_url', profile_image_url
)::text
FROM moved_user
WHERE id = ANY (%s) OR EXISTS (SELECT FROM organizations_user AS known WHERE known.id = moved_user.id)
"""


class People(NamedTuple):
    """Those who were unknown, the ids here of those who have another one, and how others were shown, by id here."""

    new: set[str]
    others: dict[str, str]
    shown: dict[str, str]


def account_tables(catalog: Catalog, tables: list[Table]) -> list[Table]:
    """Return the tables of the accounts that these tables refer to, and of how members sign in."""
    selects = [
        f"SELECT {column} FROM {table.name} WHERE {table.condition}"  # noqa: S608  # names of the catalog
        for table in tables
        for column in catalog.columns_of(table.name, USER)
    ]
    users = catalog.table(USER, f"id IN ({' UNION '.join(selects)})")
    [members] = [table for table in tables if table.name == "organizations_membership"]
    condition = f"user_id IN (SELECT user_id FROM {members.name} WHERE {members.condition})"  # noqa: S608  # as above
    return [users, *(catalog.table(name, condition) for name in SIGN_IN_TABLES)]


def import_people(rows: bytes, columns: Collection[str], members: Collection[str], *, by_email: bool) -> People:
    """Create the accounts of people who are unknown here, in the caller's transaction.

    Raises Refused if a member has another account here, unless `by_email` says to use that one.
    """
    names = ", ".join(columns)
    with connection.cursor() as cursor:
        cursor.execute(CREATE_TEMPORARY)
        with cursor.copy(f"COPY moved_user ({names}) FROM STDIN") as copy:
            copy.write(rows)
        cursor.execute("UPDATE moved_user SET is_superuser = false, is_staff = false")
        cursor.execute(
            "UPDATE moved_user SET password = %s, two_factor_enabled_at = NULL WHERE id <> ALL (%s)",
            [UNUSABLE, list(members)],
        )
        cursor.execute("SELECT id, email FROM moved_user ORDER BY email")
        others = other_accounts(cursor.fetchall())
        if taken := [email for id, (_, email) in others.items() if id in members and not by_email]:
            raise Refused(
                f"{', '.join(taken)}: another account has this e-mail address here. The API would show its id in place "
                "of the member's. To use it, add --match-accounts-by-email"
            )
        ids = {id: account for id, (account, _) in others.items()}
        cursor.execute(SHOWN, [list(ids)])
        shown = {ids.get(id, id): text for id, text in cursor.fetchall()}
        cursor.execute(INSERT_USERS.format(columns=names), [list(others)])
        new = {id for (id,) in cursor.fetchall()}
    return People(new & set(members), ids, shown)


def record_differences(organization: Organization, people: People) -> None:
    """Record an event for each member whose account here shows other values, in the caller's transaction."""
    members = Membership.objects.of(organization).filter(user__in=people.shown).order_by("pk")
    for member in members:
        # Records nothing if no value differs.
        before = people.shown[member.user_id]
        event_occurred.send(None, topic="member.updated", subject=member, actor=SYSTEM, before=before)


def other_accounts(people: list[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the ids of the accounts that have another id but the person's address, with the address, by id."""
    known = set(User.objects.filter(pk__in=[id for id, _ in people]).values_list("pk", flat=True))
    found = ((id, email, User.objects.with_email(email).first()) for id, email in people if id not in known)
    return {id: (user.pk, email) for id, email, user in found if user is not None}
