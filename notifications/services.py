"""Queueing notifications, the members' choice of e-mails, and deletion of old notifications."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Model
from django.db.models.functions import Now

from foundation.db.deletes import delete_in_batches
from foundation.db.timestamps import now
from foundation.db.writes import insert_all
from foundation.outbox import State, notify_on_commit
from notifications.models import ChannelKind, Context, Kind, MailPreference, Notification
from organizations.models import Membership, Organization


def build_notifications(
    *, organization: Organization, kind: Kind, recipients: list[Membership], context: Context
) -> list[Notification]:
    """Return an unsaved e-mail for each recipient who accepts the kind."""
    return [
        Notification(
            organization=organization,
            kind=kind,
            recipient=member,
            subject_id=context.get("appointment_id"),
            context=context,
        )
        for member in recipients
        if accepts(member, kind)
    ]


def build_slack_messages(*, organization: Organization, kind: Kind, context: Context) -> list[Notification]:
    """Return the unsaved message to the organization's Slack channel, or an empty list if it has none."""
    if not organization.slack_url:
        return []
    subject_id = context.get("appointment_id")
    return [
        Notification(
            organization=organization, kind=kind, medium=ChannelKind.SLACK, subject_id=subject_id, context=context
        )
    ]


def insert_notifications(rows: Sequence[Notification], *others: Model) -> None:
    """Insert notifications of one organization, with other rows; the dispatcher is notified after the commit."""
    insert_all(*others, *rows)
    if rows:
        notify_on_commit(Notification, rows[0].organization_id)


def accepts(member: Membership, kind: Kind) -> bool:
    preference: MailPreference | None = getattr(member, "mail_preference", None)
    return member.wants_mail and (preference is None or kind not in preference.muted)


@transaction.atomic
def unsubscribe(*, member: Membership, kind: Kind) -> None:
    """Switch off a member's e-mails of this kind, and cancel waiting ones. Repeating it is safe.

    Locks the member's preference. An e-mail that is being sent still arrives.
    """
    preferences = MailPreference.objects.of(member.organization)
    preferences.get_or_create(member=member, defaults={"organization": member.organization, "muted": []})
    preference = preferences.select_for_update().get(member=member)
    if kind not in preference.muted:
        preference.muted.append(kind)
        preference.save(update_fields=["muted"])
    waiting = Notification.objects.of(member.organization).filter(
        recipient=member, kind=kind, medium=ChannelKind.EMAIL, state=State.PENDING, lease_token=None
    )
    waiting.update(state=State.CANCELED, next_attempt_at=None, finished_at=Now())


def set_muted_kinds(*, member: Membership, kinds: list[str]) -> None:
    MailPreference.objects.of(member.organization).update_or_create(
        member=member, defaults={"muted": kinds}, create_defaults={"muted": kinds, "organization": member.organization}
    )


def erase_notifications(*, organization: Organization, subject_ids: list[UUID], limit: int) -> int:
    """Delete up to `limit` notifications about these subjects, and return how many.

    A message that is being sent still arrives; its result finds no row.
    """
    texts = [str(id) for id in subject_ids]
    notifications = Notification.objects.of(organization).order_by()
    # Those of version 0.2 name the appointment in their context only. One after the other, so that each uses its index.
    older = notifications.filter(subject_id=None, context__appointment_id__in=texts)
    for about in (notifications.filter(subject_id__in=subject_ids), older):
        if ids := list(about.values_list("pk", flat=True)[:limit]):
            return int(notifications.filter(pk__in=ids).delete()[0])
    return 0


def prune_notifications(*, organization: Organization) -> int:
    """Delete notifications that ended more than KEEP_DELIVERIES_DAYS days ago. Returns how many."""
    cutoff = now() - timedelta(days=settings.KEEP_DELIVERIES_DAYS)
    # `created_at` has an index, and nothing ends before it is made.
    old = Notification.objects.of(organization).filter(created_at__lt=cutoff, finished_at__lt=cutoff)
    return delete_in_batches(old.exclude(state=State.PENDING).order_by("created_at", "id"))
