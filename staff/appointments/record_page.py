"""The parts of an appointment's page: its facts, and the cards beside the timeline."""

from collections.abc import Sequence

from django.http import HttpRequest
from django.utils.timesince import timesince, timeuntil

from appointments.models import Appointment
from foundation.db.timestamps import now
from staff.appointments.lead_page import booking_link
from staff.appointments.schedule import other_appointments
from staff.configuration.statuses import status_label
from staff.leads.leads import LeadAdmin
from staff.toolkit.actions import row_url
from staff.toolkit.record import Card, Fact, RecordAdmin, RecordButton
from staff.toolkit.timeline import full_time

LEAD_CARD_KINDS = ("appointments", "notes", "statuses", "opt_ins", "changes")
MAX_ENTRIES = 3  # of the lead's timeline
MAX_LISTED = 10  # other appointments of the day


def facts(appointment: Appointment) -> Sequence[Fact]:
    lead, meeting, recording = appointment.lead, appointment.meeting_url, appointment.recording_url
    people = {"Host": appointment.host, "Setter": appointment.setter, "Triager": appointment.triager}
    time = f"{full_time(appointment.schedule_time)} ({appointment.duration_minutes} min) · {relative_time(appointment)}"
    return [
        Fact("When", time),
        Fact("E-mail", lead.email, f"mailto:{lead.email}", can_copy=True),
        *([Fact("Phone", lead.phone_e164, f"tel:{lead.phone_e164}", can_copy=True)] if lead.phone_e164 else []),
        Fact("Event type", str(appointment.event_type or appointment.get_call_category_display())),
        *(Fact(label, str(member)) for label, member in people.items() if member or label == "Host"),
        *([Fact("Meeting", meeting, web_url(meeting), can_copy=True)] if meeting else []),
        *([Fact("Recording", recording, web_url(recording))] if recording else []),
    ]


def relative_time(appointment: Appointment) -> str:
    at = now()
    if appointment.ends_at < at:
        return f"ended {timesince(appointment.ends_at, at, depth=1)} ago"
    if appointment.schedule_time <= at:
        return "now"
    return f"in {timeuntil(appointment.schedule_time, at, depth=1)}"


def web_url(text: str) -> str:
    """Return the text if it is an address that a link may have, or "". A provider may have sent another one."""
    return text if text.startswith(("https://", "http://")) else ""


def join_link(request: HttpRequest, appointment: Appointment) -> RecordButton | None:
    url = web_url(appointment.meeting_url or "")
    return RecordButton("Join", url, "j") if url and not appointment.is_over else None


def follow_up_link(request: HttpRequest, appointment: Appointment) -> RecordButton | None:
    link = booking_link(request, appointment.lead)
    return link and link._replace(label="Book another")


def lead_card(page: RecordAdmin, request: HttpRequest, appointment: Appointment) -> Card:
    lead = appointment.lead
    entries = [
        entry
        for source in LeadAdmin.sources
        if source.kind in LEAD_CARD_KINDS
        for entry in source.query(lead, None)
        if entry.url != row_url(appointment)
    ]
    entries.sort(key=lambda entry: (entry.at, entry.id), reverse=True)
    return Card(
        "Lead",
        [
            Fact("Name", str(lead), row_url(lead)),
            Fact("Status", status_label(lead.status)),
            *(Fact(full_time(entry.at), entry.text, entry.url) for entry in entries[:MAX_ENTRIES]),
            Fact("", "The lead's whole story", f"{row_url(lead)}#record-timeline"),
        ],
    )


def day_card(page: RecordAdmin, request: HttpRequest, appointment: Appointment) -> Card:
    others = other_appointments(appointment)
    facts = [
        Fact(
            f"{full_time(other.schedule_time)}, {other.duration_minutes} min" + (", overlaps" if overlaps else ""),
            " · ".join(str(part) for part in (other.lead, other.event_type, other.host) if part),
            row_url(other),
        )
        for other, overlaps in others[:MAX_LISTED]
    ]
    if len(others) > MAX_LISTED:
        facts.append(Fact("", f"and {len(others) - MAX_LISTED} more"))
    return Card("Other appointments that day", facts or [Fact("", "No other calls that day.")])


def analysis_card(page: RecordAdmin, request: HttpRequest, appointment: Appointment) -> Card | None:
    analysis = getattr(appointment, "call_analysis", None)
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
