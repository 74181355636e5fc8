"""Erasing a lead: opt-ins are counted, so they stay, without personal data."""

from leads.privacy.rules import count_as_activity, delete_rows, empty_rows
from optins.models import TRAFFIC_FIELDS, OptIn, QuestionAnswer

empty_rows(
    OptIn,
    dict.fromkeys([*TRAFFIC_FIELDS, "external_reference"]),
    harmless={"source", "provider_form_id", "provider_form_name", "synced_at", "booked_at"},
)
delete_rows(QuestionAnswer)
count_as_activity(OptIn, "created_at", "synced_at")
