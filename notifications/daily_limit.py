"""The limit on an organization's e-mails a day, so that one organization can't use up the mail server's reputation.

Notifications and invitations count together, when a worker claims them, in the organization's own row, which the claim
has locked. Those beyond the limit stay pending, and the queue is paused until the next day begins in UTC.

E-mails to leads have a lower limit besides, so that no organization uses the server for its mailings. Beyond it they
are not sent at all: a day later, an invitation or a reminder would be of no use.
"""

from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now, TruncDate

from foundation.outbox import Limit
from organizations.models import Organization

MAILS_PER_DAY = 5000
LEAD_MAILS_PER_DAY = 1000


class DailyLimit(Limit[Organization]):
    pause_field = "mail_paused_until"

    def take(self, organization: Organization, count: int) -> int:
        """Count as many e-mails as the limit allows, and return how many. If not all, pause until tomorrow."""
        rows = Organization.objects.filter(pk=organization.pk)
        today: date = rows.values_list(TruncDate(Now(), tzinfo=UTC), flat=True).get()
        counted = organization.mail_count if organization.mail_count_date == today else 0
        taken = max(0, min(MAILS_PER_DAY - counted, count))
        rows.update(mail_count=counted + taken, mail_count_date=today)
        if taken < count:
            rows.update(mail_paused_until=datetime.combine(today + timedelta(days=1), time(), UTC))
        return taken

    def give_back(self, organization: Organization, count: int) -> None:
        rows = Organization.objects.filter(pk=organization.pk, mail_count__gte=count)
        rows.update(mail_count=F("mail_count") - count)


def take_for_leads(organization_id: UUID, count: int) -> int:
    """Count as many e-mails to leads as the limit allows, and return how many. The organization's row is locked."""
    rows = Organization.objects.filter(pk=organization_id)
    today, day, counted = rows.values_list(TruncDate(Now(), tzinfo=UTC), "mail_count_date", "lead_mail_count").get()
    counted = counted if day == today else 0
    taken = max(0, min(LEAD_MAILS_PER_DAY - counted, count))
    new_day = {} if day == today else {"mail_count_date": today, "mail_count": 0}
    rows.update(lead_mail_count=counted + taken, **new_day)
    return taken
