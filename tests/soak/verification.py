"""Compares the responses to the clients with the database and with the requests to the webhook receiver."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any
from uuid import UUID

from django.db.models import Model

from appointments.models import Appointment
from foundation.outbox.models import State
from leads.models import Lead, LeadStatusChange
from optins.models import OptIn
from tests.faults.fast_receiver import FastReceiver
from tests.soak.clients import TrafficLog
from webhooks.models import Delivery, Event

CREATED_EVENTS: dict[str, type[Model]] = {
    "appointment.created": Appointment,
    "opt_in.created": OptIn,
    "lead.created": Lead,
}


def lost_writes(traffic: TrafficLog) -> list[str]:
    """Return accepted writes that aren't in the database: missing, under another id, or not canceled."""
    uncanceled = traffic.canceled - canceled_references()
    return [
        *missing_rows("booking", traffic.booked, ids_by_reference(Appointment)),
        *missing_rows("submission", traffic.submitted, ids_by_reference(OptIn)),
        *(f"cancellation of {reference}" for reference in uncanceled),
    ]


def missing_rows(kind: str, accepted: dict[str, str], stored: dict[str, str]) -> Iterator[str]:
    """Yield the accepted references that aren't stored under the id that the response gave."""
    return (f"{kind} {reference}" for reference, id in accepted.items() if stored.get(reference) != id)


def ids_by_reference(model: Any) -> dict[str, str]:
    """Return the id of each row by its external reference."""
    return {reference: str(id) for reference, id in model.unscoped.values_list("external_reference", "id")}


def canceled_references() -> set[str]:
    canceled = Appointment.unscoped.filter(outcome__role="CANCELED")
    return set(canceled.values_list("external_reference", flat=True))


def unexpected_rows(traffic: TrafficLog) -> list[str]:
    """Return the models that have more rows than writes were accepted or given up."""
    accepted = {Appointment: len(traffic.booked), OptIn: len(traffic.submitted)}
    surplus = {model.__name__: model.unscoped.count() - count for model, count in accepted.items()}
    # A request that never got a response may have been stored nevertheless.
    return [
        f"{count} more {name} rows than writes"
        for name, count in surplus.items()
        if not 0 <= count <= len(traffic.given_up)
    ]


def wrong_events(changed_leads: Collection[UUID] = ()) -> list[str]:
    """Return changes that don't have exactly one event, and events without a change.

    Leads that were merged or erased are left out: their rows are gone, or their events were replaced.
    """
    return [*wrong_created_events(changed_leads), *wrong_canceled_events(), *wrong_status_events(changed_leads)]


def wrong_created_events(changed_leads: Collection[UUID]) -> Iterator[str]:
    """Yield rows that don't have exactly one event of their creation, and such events without a row."""
    for type, model in CREATED_EVENTS.items():
        events = events_by_subject(type)
        rows = Counter(model.unscoped.values_list("id", flat=True))  # type: ignore[attr-defined]
        for id in events | rows:
            if events[id] != rows[id] and id not in changed_leads:
                yield f"{type} of {id}: {events[id]} events for {rows[id]} rows"


def wrong_canceled_events() -> Iterator[str]:
    """Yield canceled appointments that don't have exactly one event, and events of appointments that aren't."""
    events = events_by_subject("appointment.canceled")
    canceled = Counter(Appointment.unscoped.filter(outcome__role="CANCELED").values_list("id", flat=True))
    for id in events | canceled:
        if events[id] != canceled[id]:
            yield f"appointment.canceled of {id}: {events[id]} events"


def wrong_status_events(changed_leads: Collection[UUID]) -> Iterator[str]:
    """Yield leads that don't have as many events as changes of their status."""
    events = events_by_subject("lead.status_changed")
    # The first entry of a lead's history is its initial status, which is not a change.
    changes = Counter(LeadStatusChange.unscoped.exclude(from_status=None).values_list("lead_id", flat=True))
    for id in changes | events:
        if events[id] != changes[id] and id not in changed_leads:
            yield f"lead.status_changed of {id}: {events[id]} events for {changes[id]} changes"


def events_by_subject(type: str) -> Counter[Any]:
    """Return how many events of this type each subject has."""
    return Counter(Event.unscoped.filter(type=type).values_list("subject_id", flat=True))


def undelivered_events(inbox: FastReceiver) -> list[str]:
    """Return events that never arrived, and arrivals that belong to no event.

    An erasure cancels the deliveries of earlier events that name the lead. These may have arrived or not.
    """
    canceled = {str(id) for id in Delivery.unscoped.filter(state=State.CANCELED).values_list("event", flat=True)}
    event_ids = {str(id) for id in Event.unscoped.values_list("id", flat=True)}
    return [f"event {id}" for id in (event_ids ^ inbox.counts().keys()) - canceled]


def foreign_arrivals(inbox: FastReceiver) -> list[str]:
    """Return the arrivals of events at another organization's endpoint."""
    organizations = {str(id): str(owner) for id, owner in Event.unscoped.values_list("id", "organization")}
    return [
        f"event {arrival.id} at {arrival.path}"
        for arrival in inbox.arrivals()
        if arrival.id in organizations and not arrival.path.endswith(f"/{organizations[arrival.id]}")
    ]
