"""Events of apps that can't import `webhooks`, and of members, whose data several organizations show."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast
from uuid import UUID

from django.dispatch import Signal

from foundation.db.timestamps import now
from organizations.actors import Actor
from organizations.isolation import bypass_rls
from organizations.models import Membership, Organization, User
from organizations.serializers import MemberSerializer, UserSerializer

# Sent in the transaction of a change, with the arguments of `webhooks.events.record_event`, and the topic's name.
event_occurred = Signal()
# Its one receiver, in `webhooks`, returns the id of the organization's newest event in the events list, or None.
last_event_requested = Signal()
# Sent in the transaction of a revocation or a rotation, which holds the organization's lock, with the key (`key`), and
# of a rotation the new one (`new_key`).
key_revoked = Signal()
key_rotated = Signal()


def last_event_id(organization: Organization) -> UUID | None:
    [(_, id)] = last_event_requested.send(None, organization=organization)
    return cast("UUID | None", id)


@contextmanager
def recorded_as_member(user: User, actor: Actor) -> Iterator[None]:
    """Record the block's changes to the user in each organization. Needs a transaction that holds the locks."""
    # Appointments show former members, too. Such an organization is out of a request's scope.
    with bypass_rls():
        members = [
            (member, UserSerializer.get_text(member.organization, member.pk), shown(member))
            for member in user.memberships.select_related("organization").order_by("pk")
        ]
    yield
    with bypass_rls():
        for member, before, shown_before in members:
            if shown(member) != shown_before:
                Membership.objects.of(member.organization).filter(pk=member.pk).update(updated_at=now())
            event_occurred.send(None, topic="member.updated", subject=member, actor=actor, before=before)


def shown(member: Membership) -> str | None:
    return MemberSerializer.get_text(member.organization, member.pk)
