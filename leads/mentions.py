"""Members whom a note mentions by `@` and their name or e-mail, and their notifications."""

import re
from collections.abc import Collection

from django.db.models import QuerySet

from foundation.db.names import fold_name
from leads.models import LeadNote
from notifications.models import Kind
from notifications.services import build_notifications, insert_notifications
from organizations.actors import Actor
from organizations.models import IS_ACTIVE_MEMBER, Membership, Organization

STARTS = re.compile(r"(?<![\w.+-])@(?=\w)")  # not the @ of an e-mail address
MAX_MENTIONS = 20  # of a note: each gets an e-mail
MAX_STARTS, MAX_NAME = 200, 320  # of a text, each with as many characters


def active_members(organization: Organization) -> QuerySet[Membership]:
    rows: QuerySet[Membership] = Membership.objects.of(organization).filter(IS_ACTIVE_MEMBER)
    return rows.select_related("user", "mail_preference")


def find_mentioned(organization: Organization, text: str) -> tuple[set[Membership], list[str]]:
    """Return the active members whom the text names after an `@`, and the words after an `@` that begin no name.

    After each `@` the longest name counts.
    """
    starts = [match.end() for match in STARTS.finditer(text)][:MAX_STARTS]
    if not starts:
        return set(), []
    members: dict[str, set[Membership]] = {}
    for member in active_members(organization):
        for name in (str(member), member.user.email):
            members.setdefault(fold_name(name), set()).add(member)
    lengths = sorted({len(name) for name in members}, reverse=True)
    found: set[Membership] = set()
    unknown: list[str] = []
    for start in starts:
        rest = fold_name(text[start : start + MAX_NAME])
        ends = [length for length in lengths if rest[:length] in members and not re.match(r"\w", rest[length:])]
        if ends:
            found |= members[rest[: ends[0]]]
        else:
            unknown += re.findall(r"^[^\W\d]\w*", text[start : start + MAX_NAME])
    return found, unknown


def notify_mentioned(note: LeadNote, members: Collection[Membership], actor: Actor) -> None:
    """Store the notifications of the members whom a note of a lead mentions, without one to the actor."""
    if not members:
        return
    organization = note.organization
    rows = active_members(organization).filter(pk__in=[row.pk for row in members]).exclude(user_id=actor.id)
    # Copied, as that of appointments is: the message has the text as it was.
    context = {"lead_id": str(note.lead_id), "lead_name": str(note.lead), "note": note.note, "author": actor.name}
    context["organization"] = organization.name
    notifications = build_notifications(
        organization=organization, kind=Kind.MENTIONED, recipients=list(rows), context=context
    )
    insert_notifications(notifications)
