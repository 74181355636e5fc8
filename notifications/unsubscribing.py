"""Links with which a member stops the e-mails of one kind without signing in (RFC 8058)."""

from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.urls import reverse

from notifications.models import Kind, Notification

SALT = "notifications.unsubscribe"


class Subscription(NamedTuple):
    organization_id: UUID
    member_id: UUID
    kind: Kind


def unsubscribe_url(notification: Notification) -> str:
    """Return the URL that ends the recipient's e-mails of this kind. It does not expire."""
    assert notification.recipient_id is not None  # only Slack messages have no recipient
    names = [notification.organization_id.hex, notification.recipient_id.hex, notification.kind]
    token = signing.Signer(salt=SALT).sign_object(names)
    return f"{settings.BASE_URL}{reverse('unsubscribe', args=[token])}"


def read_token(token: str) -> Subscription | None:
    """Return what a link's token ends, or None if it is not valid."""
    try:
        organization_id, member_id, kind = signing.Signer(salt=SALT).unsign_object(token)
    except (signing.BadSignature, ValueError):
        return None
    return Subscription(UUID(organization_id), UUID(member_id), Kind(kind))
