"""Erasing a lead: appointments are counted, so they stay, without personal data."""

from appointments.models import (
    Appointment,
    AppointmentChange,
    CallAnalysis,
    DeletedNote,
    FormerReference,
    Note,
    OutcomeChange,
)
from leads.privacy.rules import delete_rows, empty_rows
from optins.models import UTM_FIELDS

empty_rows(
    Appointment,
    {**dict.fromkeys([*UTM_FIELDS, "meeting_url", "recording_url", "external_reference"]), "custom_values": {}},
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
    },
)
# Statuses, and who set them: how long leads had a status is counted.
empty_rows(OutcomeChange, {}, harmless={"actor_kind", "actor_id", "actor_name"})
delete_rows(AppointmentChange, CallAnalysis, DeletedNote, FormerReference, Note)
