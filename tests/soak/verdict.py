"""What the clients were told against what is in the database and at the receiver."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.db.models import Model

from appointments.models import Appointment
from leads.models import Lead, LeadStatusChange
from optins.models import OptIn
from tests.faults.fast_receiver import FastReceiver
from tests.soak.clients import Journal
from webhooks.models import Event

SUBJECTS: dict[str, type[Model]] = {"appointment.created": Appointment, "opt_in.created": OptIn, "lead.created": Lead}


def lost(journal: Journal) -> list[str]:
    """Accepted writes that are not there, there under another id, or there without being canceled as accepted."""
    return [
        *missing("booking", journal.booked, stored(Appointment)),
        *missing("submission", journal.submitted, stored(OptIn)),
        *(f"cancellation of {reference}" for reference in journal.canceled - canceled()),
    ]


def missing(what: str, accepted: dict[str, str], there: dict[str, str]) -> Iterator[str]:
    return (f"{what} {reference}" for reference, id in accepted.items() if there.get(reference) != id)


def stored(model: Any) -> dict[str, str]:
    """Every reference, and the id of its row."""
    return {reference: str(id) for reference, id in model.unscoped.values_list("external_reference", "id")}


def canceled() -> set[str]:
    return set(Appointment.unscoped.filter(outcome__role="CANCELED").values_list("external_reference", flat=True))


def unaccounted(journal: Journal) -> list[str]:
    """Rows that nobody asked for: more of them than were accepted or given up."""
    asked = {Appointment: len(journal.booked), OptIn: len(journal.submitted)}
    counts = {model.__name__: model.unscoped.count() - number for model, number in asked.items()}
    return [
        f"{count} more {name} rows than writes"
        for name, count in counts.items()
        if not 0 <= count <= len(journal.given_up)
    ]


def wrong_events() -> list[str]:
    """Changes without their one event, and events without their change."""
    return [*wrong_creations(), *wrong_changes()]


def wrong_creations() -> Iterator[str]:
    """Each row of a kind is told of once, and nothing else is."""
    for type, model in SUBJECTS.items():
        told = Counter(Event.unscoped.filter(type=type).values_list("subject_id", flat=True))
        rows = Counter(model.unscoped.values_list("id", flat=True))  # type: ignore[attr-defined]
        yield from (
            f"{type} of {id}: {told[id]} events for {rows[id]} rows" for id in told | rows if told[id] != rows[id]
        )


def wrong_changes() -> Iterator[str]:
    """Each cancellation, and each move of a lead, is told of once."""
    told = Counter(Event.unscoped.filter(type="appointment.canceled").values_list("subject_id", flat=True))
    gone = Counter(Appointment.unscoped.filter(outcome__role="CANCELED").values_list("id", flat=True))
    yield from (f"appointment.canceled of {id}: {told[id]} events" for id in told | gone if told[id] != gone[id])
    moved = Counter(LeadStatusChange.unscoped.exclude(from_status=None).values_list("lead_id", flat=True))
    heard = Counter(Event.unscoped.filter(type="lead.status_changed").values_list("subject_id", flat=True))
    yield from (
        f"lead.status_changed of {id}: {heard[id]} events for {moved[id]} moves"
        for id in moved | heard
        if moved[id] != heard[id]
    )


def undelivered(inbox: FastReceiver) -> list[str]:
    """Events that never came, and arrivals that are no event."""
    there = {str(id) for id in Event.unscoped.values_list("id", flat=True)}
    return [f"event {id}" for id in there ^ inbox.counts().keys()]
