"""An appointment's page as a record: the lead and how to reach them, the time, the people, and what happened so far."""

from collections.abc import Sequence

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil

from appointments.models import Appointment, CallAnalysis
from foundation.db.timestamps import now
from leads.models import Lead
from staff.appointments.record import AppointmentButtons
from staff.appointments.schedule import other_appointments
from staff.appointments.timeline import itself, register_timeline
from staff.configuration.custom_fields import CustomFieldsAdmin
from staff.configuration.statuses import status_label
from staff.toolkit.actions import row_url
from staff.toolkit.record import Card, Fact, RecordAdmin, RecordLink
from staff.toolkit.timeline import TimelineEntry, when

STORY_KINDS = ("appointments", "notes", "statuses", "opt_ins", "changes")
STORY_LENGTH = 3
MAX_LISTED = 10  # other appointments of the day


class AppointmentRecordAdmin(AppointmentButtons, CustomFieldsAdmin):
    """Base of the admin page of appointments: what it shows above the form."""

    main_buttons = {
        "accept_suggestion": "",
        "reschedule": "r",
        "set_won": "",
        "set_lost": "",
        "set_no_show": "",
        "set_follow_up": "",
        "add_note": "n",
    }
    status_button = "set_outcome"

    def record_title(self, row: Appointment) -> str:
        return str(row.lead)

    def record_badge(self, row: Appointment) -> SafeString | str:
        return status_label(row.outcome) if row.outcome else "No outcome"

    def record_facts(self, request: HttpRequest, row: Appointment) -> Sequence[Fact]:
        """Return when it is, how to reach the lead, and who takes part."""
        lead = row.lead
        people = {"Host": row.host, "Setter": row.setter, "Triager": row.triager}
        return [
            Fact("When", f"{when(row.schedule_time)} ({row.duration_minutes} min) · {relative_time(row)}"),
            Fact("E-mail", lead.email, f"mailto:{lead.email}", can_copy=True),
            *([Fact("Phone", lead.phone_e164, f"tel:{lead.phone_e164}", can_copy=True)] if lead.phone_e164 else []),
            Fact("Event type", str(row.event_type or row.get_call_category_display())),
            *(Fact(label, str(member)) for label, member in people.items() if member or label == "Host"),
            *([Fact("Meeting", row.meeting_url, web_url(row.meeting_url), can_copy=True)] if row.meeting_url else []),
            *([Fact("Recording", row.recording_url, web_url(row.recording_url))] if row.recording_url else []),
        ]


def relative_time(appointment: Appointment) -> str:
    """Return how long it is until the appointment, or since its end."""
    at = now()
    if appointment.ends_at < at:
        return f"ended {timesince(appointment.ends_at, at, depth=1)} ago"
    if appointment.schedule_time <= at:
        return "now"
    return f"in {timeuntil(appointment.schedule_time, at, depth=1)}"


def web_url(text: str) -> str:
    """Return the text if it is an address that a link may have, or nothing. A provider may have sent another one."""
    return text if text.startswith(("https://", "http://")) else ""


def join_url(request: HttpRequest, appointment: Appointment) -> str:
    """Return the address of the meeting, until the appointment is over."""
    return "" if appointment.is_over else web_url(appointment.meeting_url or "")


def lead_card(request: HttpRequest, appointment: Appointment) -> Card:
    """Return the card with the lead, and what happened last beside this appointment."""
    lead = appointment.lead
    return Card(
        "Lead",
        [
            Fact("Name", str(lead), row_url(lead)),
            Fact("Status", status_label(lead.status)),
            *(Fact(when(entry.at), entry.text, entry.url) for entry in latest_entries(request, appointment)),
            Fact("", "The lead's whole story", f"{row_url(lead)}#record-timeline"),
        ],
    )


def latest_entries(request: HttpRequest, appointment: Appointment) -> list[TimelineEntry]:
    """Return the newest entries of the lead's timeline that are not about this appointment."""
    lead, lead_admin = appointment.lead, admin.site.get_model_admin(Lead)
    assert isinstance(lead_admin, RecordAdmin)
    entries = [
        entry
        for source in lead_admin.sources
        if source.kind in STORY_KINDS and source.is_allowed(request, lead)
        for entry in source.query(request, lead, None)
        if entry.url != row_url(appointment)
    ]
    return sorted(entries, key=lambda entry: (entry.at, entry.id), reverse=True)[:STORY_LENGTH]


def day_card(request: HttpRequest, appointment: Appointment) -> Card:
    """Return the card with the other appointments of the host and the lead on that day."""
    others = other_appointments(appointment)
    facts = [
        Fact(
            f"{when(other.schedule_time)}, {other.duration_minutes} min" + (", overlaps" if overlaps else ""),
            " · ".join(str(part) for part in (other.lead, other.event_type, other.host) if part),
            row_url(other),
        )
        for other, overlaps in others[:MAX_LISTED]
    ]
    if len(others) > MAX_LISTED:
        facts.append(Fact("", f"and {len(others) - MAX_LISTED} more"))
    return Card("Other appointments that day", facts or [Fact("", "None of the host or the lead.")])


def analysis_card(request: HttpRequest, appointment: Appointment) -> Card | None:
    """Return the card with the analysis of the recorded call."""
    analysis = CallAnalysis.objects.of(appointment.organization).filter(appointment=appointment).first()
    if analysis is None:
        return None
    return Card(
        "Call analysis",
        [
            Fact("Title", analysis.ai_generated_title, row_url(analysis)),
            Fact("Suggested outcome", f"{analysis.ai_suggested_outcome} ({analysis.ai_confidence_score:.0%} sure)"),
            Fact("Rationale", analysis.ai_rationale),
        ],
    )


AppointmentRecordAdmin.register_link(RecordLink("Join", join_url, "j"))
for build_card in (lead_card, day_card, analysis_card):
    AppointmentRecordAdmin.register_card(build_card)
register_timeline(AppointmentRecordAdmin, itself)
