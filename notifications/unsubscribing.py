"""Links with which a member stops the e-mails of one kind without signing in (RFC 8058)."""

from uuid import UUID

from django.conf import settings
from django.core import signing
from django.urls import reverse

from notifications.models import Kind, Notification

SALT = "notifications.unsubscribe"


def unsubscribe_url(notification: Notification) -> str:
    """Return the URL that ends the recipient's e-mails of this kind. It does not expire."""
    assert notification.recipient_id is not None  # only Slack messages have no recipient
    names = [notification.organization_id.hex, notification.recipient_id.hex, notification.kind]
    token = signing.Signer(salt=SALT).sign_object(names)
    return f"{settings.BASE_URL}{reverse('unsubscribe', args=[token])}"


def read_token(token: str) -> tuple[UUID, UUID, Kind] | None:
    """Return the organization, the member and the kind of e-mails that a link ends, or None if it is not valid."""
    try:
        organization_id, member_id, kind = signing.Signer(salt=SALT).unsign_object(token)
    except (signing.BadSignature, ValueError):
        return None
    return UUID(organization_id), UUID(member_id), Kind(kind)
