"""Erasing a lead: opt-ins are counted, so they stay, without personal data."""

from django.db.models import Q

from leads.privacy.rules import count_as_activity, delete_rows, empty_rows, sync_by_reference
from optins.models import TRAFFIC_FIELDS, OptIn, QuestionAnswer

empty_rows(
    OptIn,
    dict.fromkeys([*TRAFFIC_FIELDS, "external_reference"]),
    harmless={"source", "provider_form_id", "provider_form_name", "synced_at", "booked_at"},
)
sync_by_reference(OptIn, OptIn, "pk", Q(synced_at__isnull=False))
delete_rows(QuestionAnswer)
count_as_activity(OptIn, "created_at", "synced_at")
