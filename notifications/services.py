"""Queueing notifications."""

from typing import Any

from notifications.models import APPOINTMENT_KINDS, ChannelKind, Kind, MailPreference, Notification
from organizations.models import Membership, Organization
from pipeline_backend.db.writes import insert_all
from pipeline_backend.outbox import notify_on_commit

WAKE_UP_TASK = "notifications.deliver_due"


def enqueue(*, organization: Organization, kind: Kind, recipients: list[Membership], context: dict[str, Any]) -> None:
    """A row for each message, in the transaction of the change; a ring after its commit."""
    insert_all(*build_notifications(organization=organization, kind=kind, recipients=recipients, context=context))


def build_notifications(
    *, organization: Organization, kind: Kind, recipients: list[Membership], context: dict[str, Any]
) -> list[Notification]:
    """The rows, for the caller to store in this transaction; the ring after its commit is ordered.

    A mail for each recipient who wants it; for calls one message to the organization's Slack, where there is one.
    """
    context = context | {"attendees": [{"name": str(member), "email": member.user.email} for member in recipients]}
    rows = [
        Notification(organization=organization, kind=kind, recipient=member, context=context)
        for member in recipients
        if accepts(member, kind)
    ]
    if organization.slack_url and kind in APPOINTMENT_KINDS:
        rows.append(Notification(organization=organization, kind=kind, medium=ChannelKind.SLACK, context=context))
    if rows:
        notify_on_commit(WAKE_UP_TASK, organization.pk)
    return rows


def accepts(member: Membership, kind: Kind) -> bool:
    """True unless the member has switched such mails off."""
    preference: MailPreference | None = getattr(member, "mail_preference", None)
    return member.wants_mail and (preference is None or kind not in preference.muted)


def set_muted_kinds(*, member: Membership, kinds: list[str]) -> None:
    """Switch off a member's mails of these kinds, and on those of all others."""
    MailPreference.objects.of(member.organization).update_or_create(
        member=member, defaults={"muted": kinds}, create_defaults={"muted": kinds, "organization": member.organization}
    )
