"""Erasing a lead: appointments are counted, so they stay, without personal data."""

from django.db.models import Q

from appointments import models
from leads.privacy.rules import count_as_activity, delete_rows, empty_rows, sync_by_reference
from optins.models import UTM_FIELDS

empty_rows(
    models.Appointment,
    {
        **dict.fromkeys([*UTM_FIELDS, "meeting_url", "recording_url", "external_reference", "synced_hash"]),
        "custom_values": {},
    },
    harmless={
        "call_category",
        "no_show",
        "source",
        "invitation_sequence",
        "invited",
        "calendar_domain",
        "own_duration_minutes",
        "synced_role",
        "synced_at",
        "lead_reminder_at",
        "outcome_since",
        "is_called_off",
    },
)
IS_SYNCED = ~Q(source=models.AppointmentSource.MANUAL)
sync_by_reference(models.Appointment, models.Appointment, "pk", IS_SYNCED)
sync_by_reference(models.FormerReference, models.Appointment, "appointment_id", IS_SYNCED)
# Statuses, and who set them: how long leads had a status is counted.
empty_rows(models.OutcomeChange, {}, harmless={"actor_kind", "actor_id", "actor_name"})
delete_rows(models.AppointmentChange, models.CallAnalysis, models.DeletedNote, models.FormerReference, models.Note)
# `updated_at` rises with outcomes and notes, too.
count_as_activity(models.Appointment, "updated_at", "schedule_time")
