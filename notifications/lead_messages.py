"""The texts of e-mails to leads, which an organization edits: placeholders, standard texts, and filling them in.

A line whose placeholder has no value, such as that of a missing meeting link, is left out.
"""

import re
from collections.abc import Mapping

from django.db import transaction

from notifications.mail import CONTROL_CHARACTERS, single_line
from notifications.models import Kind, LeadMessage
from organizations.actors import Actor
from organizations.models import Organization

PLACEHOLDERS = ("first_name", "organization", "host", "event_type", "when", "meeting_link")
PLACEHOLDER = re.compile(r"\{([^{}\n]*)\}")
MAX_SUBJECT, MAX_TEXT, MAX_NAME = 300, 10_000, 60  # characters that are sent
LINK = re.compile(r"[/@]|www\.|\w\.\w{2}", re.IGNORECASE)

STANDARD_TEXTS = {
    Kind.LEAD_INVITED: (
        "{event_type} with {organization}: {when}",
        "Hi {first_name},\n\nyour call is booked.\n\n{event_type} with {host}\n{when}\n{meeting_link}\n\n"
        "If the time does not suit you, just answer this e-mail.\n\n{organization}",
    ),
    Kind.LEAD_RESCHEDULED: (
        "New time: {event_type} with {organization}, {when}",
        "Hi {first_name},\n\nyour call has a new time.\n\n{event_type} with {host}\n{when}\n{meeting_link}\n\n"
        "If it does not suit you, just answer this e-mail.\n\n{organization}",
    ),
    Kind.LEAD_CANCELED: (
        "Canceled: {event_type} with {organization}, {when}",
        "Hi {first_name},\n\nthis call is canceled:\n\n{event_type} with {host}\n{when}\n\n"
        "For another time, just answer this e-mail.\n\n{organization}",
    ),
    Kind.LEAD_REMINDED: (
        "Reminder: {event_type} with {organization}, {when}",
        "Hi {first_name},\n\nwe look forward to our call.\n\n{event_type} with {host}\n{when}\n{meeting_link}\n\n"
        "If something has come up, just answer this e-mail.\n\n{organization}",
    ),
}


def unknown_placeholders(text: str) -> list[str]:
    return [f"{{{name}}}" for name in PLACEHOLDER.findall(text) if name not in PLACEHOLDERS]


def fill_in(text: str, values: Mapping[str, str]) -> str:
    """Return the text with the values, each on one line; what is in a value is no placeholder."""
    values = {name: single_line(value, most=len(value)) for name, value in values.items()}
    lines = []
    for line in text.splitlines():
        names = PLACEHOLDER.findall(line)
        if all(values.get(name) for name in names):
            filled = PLACEHOLDER.sub(lambda match: values[match[1]], line)
            lines.append(CONTROL_CHARACTERS.sub(" ", filled).rstrip())
    return "\n".join(lines).strip()[:MAX_TEXT]


def plain_name(name: str) -> str:
    """Return a name that a stranger has typed, cut; empty if a mail program could make a link of it."""
    name = single_line(name, most=MAX_NAME)
    return "" if LINK.search(name) else name


def fill_in_message(message: LeadMessage, values: Mapping[str, str]) -> tuple[str, str]:
    """Return the subject, on one line, and the text."""
    subject = " ".join(fill_in(message.subject, values).splitlines())
    return subject[:MAX_SUBJECT] or message.get_kind_display(), fill_in(message.text, values)


def sample_values(organization: Organization, *, host: str, when: str) -> dict[str, str]:
    return {
        "first_name": "Elif",
        "organization": organization.name,
        "host": host,
        "event_type": "Strategy call",
        "when": when,
        "meeting_link": "https://meet.example.com/abc-defg-hij",
    }


@transaction.atomic
def save_lead_message(*, organization: Organization, actor: Actor, lead_message: LeadMessage) -> LeadMessage:
    """Store it. A new one has the standard text of its kind."""
    lead_message.organization = organization
    if lead_message._state.adding:
        lead_message.subject, lead_message.text = STANDARD_TEXTS[Kind(lead_message.kind)]
    lead_message.save()
    return lead_message
