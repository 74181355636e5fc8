"""The limit on an organization's e-mails a day, so that one organization can't use up the mail server's reputation.

Notifications and invitations count together, when a worker claims them, in the organization's own row, which the claim
has locked. Those beyond the limit stay pending, and the queue is paused until the next day begins in UTC.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any, TypeAlias

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now, TruncDate

from notifications.models import Notification
from organizations.models import Invitation, Organization
from pipeline_backend.outbox import Limit

Email: TypeAlias = Notification | Invitation


class DailyLimit(Limit):
    """Counts e-mails, all of one organization, in its row, which the caller has locked."""

    pause_field = "mail_paused_until"

    def take(self, emails: Sequence[Email]) -> int:
        """Count the e-mails as far as the limit allows, and return how many these are. Else pause until tomorrow."""
        rows = Organization.objects.filter(pk=emails[0].organization_id)
        organization: Any = rows.annotate(today=TruncDate(Now(), tzinfo=UTC)).get()
        count = organization.mail_count if organization.mail_count_date == organization.today else 0
        taken = max(0, min(settings.MAILS_PER_ORGANIZATION_PER_DAY - count, len(emails)))
        changes: dict[str, Any] = {"mail_count": count + taken, "mail_count_date": organization.today}
        if taken < len(emails):
            tomorrow = organization.today + timedelta(days=1)
            changes["mail_paused_until"] = datetime.combine(tomorrow, time(), UTC)
        rows.update(**changes)
        return taken

    def give_back(self, emails: Sequence[Email]) -> None:
        """Count the e-mails no longer."""
        rows = Organization.objects.filter(pk=emails[0].organization_id, mail_count__gte=len(emails))
        rows.update(mail_count=F("mail_count") - len(emails))
