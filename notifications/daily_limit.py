"""The limit on an organization's e-mails a day, so that one organization can't use up the mail server's reputation.

Notifications and invitations count together, when a worker claims them, in the organization's own row, which the claim
has locked. Those beyond the limit stay pending, and the queue is paused until the next day begins in UTC.

E-mails to leads have a lower limit besides, so that no organization uses the server for its mailings, and so have those
about mentions, so that one person's notes can't use up what the others need. Beyond it they are not sent at all: a day
later, an invitation or a reminder would be of no use. So each counts once, at its first attempt.
"""

from datetime import UTC, datetime, time, timedelta
from typing import Literal
from uuid import UUID

from django.db.models import F, QuerySet
from django.db.models.functions import Now, TruncDate

from foundation.outbox import Limit
from organizations.models import Organization

MAILS_PER_DAY = 5000
LEAD_MAILS_PER_DAY = MENTION_MAILS_PER_DAY = 1000
LimitedKind = Literal["lead", "mention"]
TODAY = TruncDate(Now(), tzinfo=UTC)


class DailyLimit(Limit[Organization]):
    pause_field = "mail_paused_until"

    def take(self, organization: Organization, count: int) -> int:
        """Count as many e-mails as the limit allows, and return how many. If not all, pause until tomorrow."""
        rows = of_today(organization.pk)
        today, counted = rows.values_list("mail_count_date", "mail_count").get()
        taken = max(0, min(MAILS_PER_DAY - counted, count))
        rows.update(mail_count=counted + taken)
        if taken < count:
            assert today
            rows.update(mail_paused_until=datetime.combine(today + timedelta(days=1), time(), UTC))
        return taken

    def give_back(self, organization: Organization, count: int) -> None:
        rows = Organization.objects.filter(pk=organization.pk, mail_count__gte=count)
        rows.update(mail_count=F("mail_count") - count)


def limit_of(kind: LimitedKind) -> int:
    return LEAD_MAILS_PER_DAY if kind == "lead" else MENTION_MAILS_PER_DAY


def is_used_up(organization_id: UUID, kind: LimitedKind) -> bool:
    """Return whether the organization has sent as many e-mails of the kind today as it may."""
    counted = {"mail_count_date": TODAY, f"{kind}_mail_count__gte": limit_of(kind)}
    return Organization.objects.filter(pk=organization_id, **counted).exists()


def take_of_kind(organization_id: UUID, kind: LimitedKind, count: int) -> int:
    """Count as many e-mails of the kind as its limit allows, and return how many. The organization's row is locked."""
    rows, field = of_today(organization_id), f"{kind}_mail_count"
    counted = rows.values_list(field, flat=True).get()
    taken = max(0, min(limit_of(kind) - counted, count))
    rows.update(**{field: counted + taken})
    return taken


def give_back_of_kind(organization_id: UUID, kind: LimitedKind, count: int) -> None:
    field = f"{kind}_mail_count"
    Organization.objects.filter(pk=organization_id, **{f"{field}__gte": count}).update(**{field: F(field) - count})


def of_today(organization_id: UUID) -> QuerySet[Organization]:
    """Return the organization's row, whose counts are today's: the first e-mail of a day sets them to 0."""
    rows = Organization.objects.filter(pk=organization_id)
    zeros = dict.fromkeys(("mail_count", "lead_mail_count", "mention_mail_count"), 0)
    rows.exclude(mail_count_date=TODAY).update(mail_count_date=TODAY, **zeros)
    return rows
