"""Queueing notifications, the members' choice of e-mails, links to unsubscribe, and deletion of old notifications."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.db.models import F, Func, JSONField, Model, Q, QuerySet, Value
from django.db.models.functions import Now
from django.urls import reverse

from foundation.db.deletes import delete_in_batches
from foundation.db.expressions import is_any_of
from foundation.db.timestamps import now
from foundation.db.writes import insert_all
from foundation.outbox import State, notify_on_commit
from notifications.models import LEAD_KINDS, ChannelKind, Context, Kind, MailPreference, Notification
from organizations.models import MemberRole, Membership, Organization

UNSUBSCRIBE_SALT = "notifications.unsubscribe"
LEAD_UNSUBSCRIBE_SALT = "notifications.unsubscribe_lead"
# Also of jobs that are being sent: without the lease, their result isn't stored.
CANCELED: dict[str, Any] = {"state": State.CANCELED, "next_attempt_at": None, "lease_token": None}
DELETED_LEAD = {"lead_name": "a deleted lead", "lead_email": "", "lead_phone": "", "meeting_url": "", "note": ""}


def build_notifications(
    *, organization: Organization, kind: Kind, recipients: list[Membership], context: Context
) -> list[Notification]:
    subject_id = context.get("appointment_id") or context.get("lead_id")
    fields = {"organization": organization, "kind": kind, "subject_id": subject_id}
    members = recipients_of(organization, kind, recipients)
    return [Notification(**fields, recipient=member, context=context) for member in members]


def recipients_of(organization: Organization, kind: Kind, members: Iterable[Membership]) -> list[Membership]:
    """Return those of the members who get e-mails of the kind: of a test organization, only owners."""
    return [
        member
        for member in members
        if accepts(member, kind) and (member.role == MemberRole.OWNER or not organization.is_test)
    ]


def insert_notifications(rows: Sequence[Notification], *others: Model) -> None:
    """Insert notifications of one organization, with other rows; the dispatcher is notified after the commit."""
    insert_all(*others, *rows)
    if rows:
        notify_on_commit(Notification, rows[0].organization_id)


def accepts(member: Membership, kind: Kind) -> bool:
    preference: MailPreference | None = getattr(member, "mail_preference", None)
    return member.wants_mail and (preference is None or kind not in preference.muted)


def unsubscribe_url(notification: Notification) -> str:
    """Return the URL that ends the recipient's e-mails of this kind. It does not expire."""
    assert notification.recipient_id is not None  # only Slack messages have no recipient
    names = [notification.organization_id.hex, notification.recipient_id.hex, notification.kind]
    token = signing.Signer(salt=UNSUBSCRIBE_SALT).sign_object(names)
    return f"{settings.BASE_URL}{reverse('unsubscribe', args=[token])}"


def lead_unsubscribe_url(organization_id: UUID, lead_id: str) -> str:
    """Return the URL that ends all e-mails to the lead. It does not expire."""
    token = signing.Signer(salt=LEAD_UNSUBSCRIBE_SALT).sign_object([organization_id.hex, lead_id])
    return f"{settings.BASE_URL}{reverse('unsubscribe_lead', args=[token])}"


def read_lead_token(token: str) -> tuple[UUID, UUID] | None:
    """Return the organization and the lead whose e-mails a link ends, or None if it is not valid."""
    try:
        organization_id, lead_id = signing.Signer(salt=LEAD_UNSUBSCRIBE_SALT).unsign_object(token)
        return UUID(organization_id), UUID(lead_id)
    except (signing.BadSignature, ValueError):
        return None


def cancel_lead_mails(
    *,
    organization: Organization,
    subject_ids: Collection[UUID] | QuerySet[Any],
    kinds: Collection[str] = tuple(LEAD_KINDS),
) -> None:
    """Cancel the waiting e-mails to leads about these appointments, of these kinds.

    One that is being sent may still arrive, but isn't sent again if that fails.
    """
    waiting = Notification.objects.of(organization).filter(
        kind__in=kinds, recipient=None, subject_id__in=subject_ids, state=State.PENDING
    )
    waiting.update(**CANCELED, finished_at=Now())


def read_token(token: str) -> tuple[UUID, UUID, Kind] | None:
    """Return the organization, the member and the kind of e-mails that a link ends, or None if it is not valid."""
    try:
        organization_id, member_id, kind = signing.Signer(salt=UNSUBSCRIBE_SALT).unsign_object(token)
    except (signing.BadSignature, ValueError):
        return None
    return UUID(organization_id), UUID(member_id), Kind(kind)


@transaction.atomic
def unsubscribe(*, member: Membership, kind: Kind) -> None:
    """Switch off the member's e-mails of the kind; cancel waiting ones. Repeating is safe. Locks the preference."""
    preferences = MailPreference.objects.of(member.organization)
    preferences.get_or_create(member=member, defaults={"organization": member.organization, "muted": []})
    preference = preferences.select_for_update().get(member=member)
    if kind not in preference.muted:
        preference.muted.append(kind)
        preference.save(update_fields=["muted"])
    waiting = Notification.objects.of(member.organization).filter(
        recipient=member, kind=kind, medium=ChannelKind.EMAIL, state=State.PENDING
    )
    waiting.update(**CANCELED, finished_at=Now())


def set_muted_kinds(*, member: Membership, kinds: list[str]) -> None:
    MailPreference.objects.of(member.organization).update_or_create(
        member=member, defaults={"muted": kinds}, create_defaults={"muted": kinds, "organization": member.organization}
    )


def erase_notifications(
    *,
    organization: Organization,
    subject_ids: list[UUID],
    limit: int,
    between: tuple[datetime, datetime] | None = None,
) -> int:
    """Delete up to `limit` notifications about the subjects, all or those of a time; return how many.

    A message being sent still arrives.
    """
    texts = [str(id) for id in subject_ids]
    notifications = Notification.objects.of(organization).order_by()
    if between:
        notifications = notifications.filter(created_at__range=between)
    # Those of version 0.2 name the appointment in their context only. One after the other, so that each uses its index.
    older = notifications.filter(is_any_of("context__appointment_id", texts, JSONField), subject_id=None)
    for about in (notifications.filter(is_any_of("subject_id", subject_ids)), older):
        if ids := list(about.values_list("pk", flat=True)[:limit]):
            return int(notifications.filter(pk__in=ids).delete()[0])
    return 0


def forget_deleted_leads(*, organization: Organization, lead_ids: Collection[UUID]) -> None:
    """Delete the notifications about deleted leads, except cancellations to be sent, which no longer name them.

    Calendars need these. A message being sent still arrives.
    """
    notifications = Notification.objects.of(organization).filter(subject_id__in=lead_ids)
    waiting = Q(kind=Kind.CALL_CANCELED, state=State.PENDING)
    notifications.exclude(waiting).delete()
    context = Func(F("context"), Value(DELETED_LEAD, JSONField()), arg_joiner=" || ", template="%(expressions)s")
    notifications.filter(waiting).update(context=context)


def prune_notifications(*, organization: Organization) -> int:
    """Delete notifications that ended more than KEEP_DELIVERIES_DAYS days ago. Returns how many."""
    cutoff = now() - timedelta(days=settings.KEEP_DELIVERIES_DAYS)
    # `created_at` has an index, and nothing ends before it is made.
    old = Notification.objects.of(organization).filter(created_at__lt=cutoff, finished_at__lt=cutoff)
    return delete_in_batches(old.exclude(state=State.PENDING).order_by("created_at", "id"))
