"""The limit on an organization's e-mails a day, so that one organization can't use up the mail server's reputation.

Notifications and invitations count together, when a worker claims them, in the organization's own row, which the claim
has locked. Those beyond the limit stay pending, and the queue is paused until the next day begins in UTC.

E-mails to leads have a lower limit besides, so that no organization uses the server for its mailings. Beyond it they
are not sent at all: a day later, an invitation or a reminder would be of no use. So each counts once, at its first
attempt.
"""

from datetime import UTC, datetime, time, timedelta
from uuid import UUID

from django.db.models import F, QuerySet
from django.db.models.functions import Now, TruncDate

from foundation.outbox import Limit
from organizations.models import Organization

MAILS_PER_DAY = 5000
LEAD_MAILS_PER_DAY = 1000
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


def take_for_leads(organization_id: UUID, count: int) -> int:
    """Count as many e-mails to leads as the limit allows, and return how many. The organization's row is locked."""
    rows = of_today(organization_id)
    counted = rows.values_list("lead_mail_count", flat=True).get()
    taken = max(0, min(LEAD_MAILS_PER_DAY - counted, count))
    rows.update(lead_mail_count=counted + taken)
    return taken


def give_back_for_leads(organization_id: UUID, count: int) -> None:
    rows = Organization.objects.filter(pk=organization_id, lead_mail_count__gte=count)
    rows.update(lead_mail_count=F("lead_mail_count") - count)


def of_today(organization_id: UUID) -> QuerySet[Organization]:
    """Return the organization's row, whose counts are today's: the first e-mail of a day sets both to 0."""
    rows = Organization.objects.filter(pk=organization_id)
    rows.exclude(mail_count_date=TODAY).update(mail_count_date=TODAY, mail_count=0, lead_mail_count=0)
    return rows
