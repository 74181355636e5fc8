"""The same change leaves the same rows, events and notifications, whichever entrance it uses and whoever makes it.

Each test makes one change through the API, the admin and the services, always from the same state: the transaction is
rolled back after each. What every row of the organization then holds must be equal, except the ids of new rows, the
request's id, and who made the change.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction
from django.test import Client
from uuid_utils.compat import uuid7

from appointments.models import Appointment, CallAnalysis, EventType, Provider
from appointments.services import (
    book,
    cancel_appointment,
    cancel_by_reference,
    create_note,
    edit_appointment,
    import_appointment,
    reschedule,
    save_analysis,
    save_event_type,
)
from foundation.api.exceptions import ValidationFailed
from leads.models import CustomField, Lead
from leads.phones import parse_phone
from leads.services import add_lead, change_status, edit_lead, save_custom_field
from optins.services import submit
from organizations.actors import SYSTEM, Actor, ActorKind
from organizations.models import MemberRole, Membership, Organization, User
from organizations.services import change_member, save_user
from statuses.models import Status, StatusRole
from statuses.services import save_status
from tests.client import SCHEDULE_TIME, ApiClient
from tests.factories import (
    make_custom_field,
    make_event_type,
    make_member,
    make_provider_appointment,
    owner_actor,
    owner_of,
    snapshot_of,
)
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client
from webhooks.services import add_endpoint

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
# Also the reference, which bookings in the admin don't have.
DIFFERENT = {
    "actor_kind",
    "actor_id",
    "actor_name",
    "actor",
    "author",
    "request_id",
    "next_attempt_at",
    "external_reference",
}
# A scheduler invites the participants itself, and its last state is kept.
SYNCED = {"Notification", "invitation_sequence", "invited", "synced_role", "synced_hash"}
START = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
MOVED = {"schedule_time_0": "2027-01-06", "schedule_time_1": "11:00:00"}
ANALYSIS = {
    "call_analysis_call_id": "call-1",
    "ai_generated_title": "A good call",
    "ai_rationale": "They asked for the contract.",
    "ai_suggested_outcome": "Won",
    "ai_confidence_score": 0.5,
}


@dataclass
class World:
    """An organization with two leads and an appointment of the first one, and the entrances to it."""

    organization: Organization
    api: ApiClient
    admin: Client
    host: Membership
    setter: Membership
    event_type: EventType
    color: CustomField
    lead: Lead
    appointment: Appointment

    def common(self, actor: Actor = SYSTEM) -> dict[str, Any]:
        """Return the arguments of a service that changes the appointment."""
        return {"organization": self.organization, "actor": actor, "appointment": self.appointment}

    def status(self, role: str) -> Status:
        """Return the default status with this role."""
        status: Status = Status.objects.of(self.organization).get(role=role)
        return status

    def update(self, row: Appointment | Lead, **changes: Any) -> Any:
        """Change an appointment or a lead by the API."""
        kind = "leads" if isinstance(row, Lead) else "appointments"
        return self.api.patch(f"/api/external/{kind}/{row.pk}", changes)

    def save_page(self, model: Any, id: object, **changes: object) -> None:
        """Save a row's page in the admin with these changes."""
        self.post_form(admin_url(model, "change", id), **changes)

    def add_page(self, model: Any, **values: object) -> None:
        """Add a row in the admin."""
        self.post_form(admin_url(model, "add"), **values)

    def post_form(self, url: str, **changes: object) -> None:
        # Only the form asks whether to save an appointment that overlaps with another one.
        response = self.admin.post(url, form_data(self.admin, url, **changes, book_anyway="on"))
        assert response.status_code == 302, form_errors(response)

    def press(self, button: str, **data: object) -> None:
        """Confirm a button of the appointment's page."""
        assert self.admin.post(admin_url(Appointment, button, self.appointment.pk), data).status_code == 302

    def run_action(self, action: str) -> None:
        """Run an action of the list of appointments on the appointment."""
        data = {"action": action, "_selected_action": self.appointment.pk, "confirmed": "yes"}
        assert self.admin.post(admin_url(Appointment, "changelist"), data).status_code == 302


@pytest.fixture
def world(organization: Organization, api: ApiClient) -> Iterator[World]:
    with time_machine.travel(START - timedelta(hours=1), tick=False) as clock:
        add_endpoint(organization=organization, url="https://hooks.acme.example/in")
        host = make_member(organization, "hana@acme.example", first_name="Hana", last_name="Host")
        setter = make_member(organization, "seth@acme.example", first_name="Seth", last_name="Setter")
        event_type = make_event_type(organization, "Strategy call")
        color = make_custom_field(organization, "APPOINTMENT", "color")
        make_custom_field(organization, "LEAD", "budget", type="NUMBER")
        api.submit(email="grace@example.com", first_name="Grace", traffic={"utm_source": "newsletter"})
        api.book(host_email="hana@acme.example", meeting_url="https://meet.example/1")
        clock.move_to(START)
        yield World(
            organization=organization,
            api=api,
            admin=logged_in_client(owner_of(organization)),
            host=host,
            setter=setter,
            event_type=event_type,
            color=color,
            lead=Lead.objects.of(organization).get(email="grace@example.com"),
            appointment=Appointment.objects.of(organization).get(),
        )


def assert_same(world: World, entrances: dict[str, Callable[[], Any]], *, without: Collection[str] = ()) -> None:
    """Make a change through each entrance, and assert that the effects are equal, and that there are some.

    `without` names models and columns that are left out.
    """
    effects = {name: effects_of(world, entrance, without) for name, entrance in entrances.items()}
    expected = next(iter(effects.values()))
    assert len(effects) > 1
    assert any(value.startswith("Event 0") for value in expected)
    assert {name: sorted(found ^ expected) for name, found in effects.items() if found != expected} == {}


def by_everyone(world: World, service: Callable[[Actor], object]) -> dict[str, Callable[[], object]]:
    """Return the calls of a service by the system, a member and an API key."""
    actors = [SYSTEM, owner_actor(world.organization), Actor(ActorKind.API_KEY, "0123456789ab", "Tests")]
    return {f"service, {actor.kind}": partial(service, actor) for actor in actors}


def effects_of(world: World, entrance: Callable[[], Any], without: Collection[str]) -> set[str]:
    """Return each value of the rows that the entrance adds, changes (the new values) and removes, and undo it."""
    with transaction.atomic():
        before = Counter(snapshot_of(world.organization))
        response = entrance()
        assert getattr(response, "status_code", 200) < 300, response.content
        after = Counter(snapshot_of(world.organization))
        transaction.set_rollback(True)
    values = Values(known=" ".join(text for _, text in before), hidden={*DIFFERENT, *without})
    # Rows of one transaction have equal times; their ids are in the order in which they were made.
    rows = sorted((after - before).elements()) + [(f"old {model}", text) for model, text in (before - after).elements()]
    numbers: Counter[str] = Counter()
    lines = set()
    for model, text in rows:
        # Ids of changed days and leads are numbers, which rise with each.
        if model.removeprefix("old ") not in {"ChangedDay", "ChangedLead", *without}:
            lines |= {f"{path}: {value}" for path, value in values.of(f"{model} {numbers[model]}", json.loads(text))}
            numbers[model] += 1
    return lines


@dataclass
class Values:
    """Reads the values of rows without what may differ: `hidden` columns, actors, and ids that are not in `known`."""

    known: str
    hidden: set[str]
    numbers: dict[str, int] = field(default_factory=dict)

    def of(self, path: str, value: Any) -> Iterator[tuple[str, object]]:
        """Yield path and value of each part. New ids become numbers, in the order in which they appear."""
        if isinstance(value, str) and value.startswith("{"):
            value = json.loads(value)  # the body of an event
        if isinstance(value, dict):
            parts = value.items() if set(value) != {"kind", "id", "name"} else []  # not an actor
            for name, part in parts:
                if name not in self.hidden:
                    yield from self.of(f"{path}.{name}", part)
        elif isinstance(value, list):
            yield f"{path}.length", len(value)
            for number, part in enumerate(value):
                yield from self.of(f"{path}.{number}", part)
        else:
            yield path, UUID7.sub(self.rename, value) if isinstance(value, str) else value

    def rename(self, id: re.Match[str]) -> str:
        """Return a known id as it is, and a new one as a number."""
        return id[0] if id[0] in self.known else f"#{self.numbers.setdefault(id[0], len(self.numbers))}"


@pytest.mark.parametrize("day", ["2027-01-05", "2026-11-05"], ids=["to come", "over"])
@pytest.mark.parametrize("email", ["new@example.com", "grace@example.com"])
def test_booking(world: World, email: str, day: str) -> None:
    time = datetime.fromisoformat(f"{day}T10:00:00Z")
    texts = {
        "lead_first_name": "Nora",
        "lead_last_name": "New",
        "lead_phone": "+493012345678",
        "meeting_url": "https://meet.example/2",
        "notes": "Wants a demo",
    }
    members = {"host_email": "hana@acme.example", "setter_email": "seth@acme.example"}
    common = {"lead_email": email, **texts, **members}

    def service(actor: Actor) -> object:
        return book(
            organization=world.organization,
            actor=actor,
            external_reference="ref-2",
            schedule_time=time,
            event_type_id=world.event_type.pk,
            **common,
        )

    assert_same(
        world,
        {
            "API": lambda: world.api.book(
                external_reference="ref-2",
                schedule_time=time.isoformat(),
                event_type_name=...,
                event_type_id=str(world.event_type.pk),
                **common,
            ),
            "API, by the event type's name": lambda: world.api.book(
                external_reference="ref-2",
                schedule_time=time.isoformat(),
                event_type_name="strategy CALL",
                **common,
            ),
            "admin": lambda: world.add_page(
                Appointment,
                lead_email=email,
                schedule_time_0=day,
                schedule_time_1="10:00:00",
                event_type=world.event_type.pk,
                host=world.host.pk,
                setter=world.setter.pk,
                **texts,
            ),
            **by_everyone(world, service),
        },
    )


def test_deliveries_have_the_order_of_their_events_by_any_plan(world: World) -> None:
    """One statement inserts them, and PostgreSQL may join the endpoints in any way."""
    with connection.cursor() as cursor:
        for name in ("nestloop", "mergejoin", "indexscan", "bitmapscan"):
            cursor.execute(f"SET LOCAL enable_{name} = off")

    test_booking(world, "new@example.com", "2027-01-05")


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize("notes", ["", "The lead is ill"])
def test_canceling(world: World, notes: str, is_over: bool) -> None:
    if is_over:
        Appointment.objects.of(world.organization).update(schedule_time=START - timedelta(hours=2))
    canceled = world.status("CANCELED").pk
    entrances: dict[str, Callable[[], Any]] = {
        "API": lambda: world.api.cancel(notes=notes),
        "admin": lambda: world.press("cancel", notes=notes),
        **by_everyone(world, lambda actor: cancel_appointment(**world.common(actor), notes=notes)),
        "service, by reference": lambda: cancel_by_reference(
            organization=world.organization, actor=SYSTEM, external_reference="ref-1", notes=notes
        ),
    }
    if not notes:
        entrances |= {
            "admin, from the list": lambda: world.run_action("cancel_selected"),
            "API, by the outcome": lambda: world.update(world.appointment, outcome_role="CANCELED"),
            "admin, by the outcome": lambda: world.save_page(Appointment, world.appointment.pk, outcome=canceled),
            "service, by the outcome": lambda: edit_appointment(**world.common(), status_id=canceled),
        }
    assert_same(world, entrances)


@pytest.mark.parametrize("email", ["vera@acme.example", "nobody@acme.example"])
def test_a_viewer_is_refused_like_an_unknown_member(world: World, email: str) -> None:
    make_member(world.organization, "vera@acme.example", role=MemberRole.VIEWER)
    before = snapshot_of(world.organization)
    refusal = "host_email must belong to an active member of the organization who is not a viewer"
    common = {"organization": world.organization, "actor": SYSTEM, "external_reference": "ref-2"}
    names = {"lead_email": "grace@example.com", "event_type_name": "Strategy call", "host_email": email}

    response = world.api.book(external_reference="ref-2", **names)
    with pytest.raises(ValidationFailed) as booked:
        book(**common, schedule_time=START, **names)
    with pytest.raises(ValidationFailed) as reported:
        report(world, "ref-2", **names)

    assert response.json()["errors"] == booked.value.errors == reported.value.errors == {"host_email": [refusal]}
    assert snapshot_of(world.organization) == before


def test_canceling_what_a_provider_reports(world: World) -> None:
    appointment = make_provider_appointment(
        world.organization, external_reference="sync-1", meeting_url="https://a.example"
    )
    common = {"organization": world.organization, "actor": SYSTEM}
    assert_same(
        world,
        {
            "service": lambda: cancel_appointment(**common, appointment=appointment),
            "import": lambda: report(world, "sync-1", outcome=StatusRole.CANCELED),
        },
        without=SYNCED,
    )


def report(world: World, reference: str, **data: Any) -> object:
    """Report an appointment as its provider's sync does."""
    return import_appointment(
        organization=world.organization,
        actor=SYSTEM,
        provider=Provider.SCHEDULER_A,
        external_reference=reference,
        **{"schedule_time": datetime.fromisoformat(SCHEDULE_TIME), **data},
    )


@pytest.mark.parametrize("role", ["WON", "LOST", "CANCELED"])
def test_setting_the_status_of_a_lead(world: World, role: str) -> None:
    status = world.status(role)
    common = {"organization": world.organization}
    assert_same(
        world,
        {
            "API": lambda: world.api.patch(
                f"/api/external/leads/{world.lead.pk}/status", {"status_id": str(status.pk)}
            ),
            "admin": lambda: world.save_page(Lead, world.lead.pk, status=status.pk),
            **by_everyone(
                world,
                lambda actor: change_status(**common, actor=actor, lead_id=world.lead.pk, status_id=status.pk),
            ),
            "service, editing": lambda: edit_lead(**common, actor=SYSTEM, lead=world.lead, status=status),
        },
    )


def test_adding_a_note(world: World) -> None:
    text = f"@{world.host} call first"
    assert_same(
        world,
        {
            "admin": lambda: world.press("add_note", note=text),
            **by_everyone(
                world, lambda actor: create_note(**world.common(actor), text=text, id=uuid7(), mentions=[world.host])
            ),
        },
    )


def test_adding_a_note_to_what_is_canceled(world: World) -> None:
    world.api.cancel()
    text = "The lead is ill"
    assert_same(
        world,
        {
            "API": lambda: world.api.cancel(notes=text),
            "admin": lambda: world.press("add_note", note=text),
            "service": lambda: create_note(**world.common(), text=text, id=uuid7()),
            "service, canceling": lambda: cancel_appointment(**world.common(), notes=text),
        },
    )


def test_adding_a_note_that_a_provider_reports(world: World) -> None:
    appointment = make_provider_appointment(world.organization, external_reference="sync-1")
    common = {"organization": world.organization, "actor": SYSTEM, "appointment": appointment}
    assert_same(
        world,
        {
            "service": lambda: create_note(**common, text="From the form", id=uuid7()),
            "import": lambda: report(world, "sync-1", notes="From the form"),
        },
        without=SYNCED,
    )


@pytest.mark.parametrize("is_canceled", [False, True])
@pytest.mark.parametrize("notes", ["", "The lead is traveling"])
def test_rescheduling(world: World, notes: str, is_canceled: bool) -> None:
    if is_canceled:
        world.api.cancel()
    to = datetime(2027, 1, 6, 11, tzinfo=UTC)
    entrances: dict[str, Callable[[], Any]] = {
        "API": lambda: world.api.reschedule(schedule_time=to.isoformat(), notes=notes),
        **by_everyone(world, lambda actor: reschedule(**world.common(actor), to=to, reason=notes)),
    }
    if not notes:
        entrances["admin"] = lambda: world.save_page(Appointment, world.appointment.pk, **MOVED)
    assert_same(world, entrances)


def test_rescheduling_what_a_provider_reports(world: World) -> None:
    appointment = make_provider_appointment(world.organization, external_reference="sync-1")
    to = datetime(2027, 1, 6, 11, tzinfo=UTC)
    common = {"organization": world.organization, "actor": SYSTEM}
    assert_same(
        world,
        {
            "service": lambda: reschedule(**common, appointment=appointment, to=to),
            "import": lambda: report(world, "sync-1", schedule_time=to),
        },
        without=SYNCED,
    )


@pytest.mark.parametrize("role", ["NO_SHOW", "WON", "FOLLOW_UP"])
def test_setting_the_outcome(world: World, role: str) -> None:
    status = world.status(role).pk
    assert_same(
        world,
        {
            "API": lambda: world.update(world.appointment, status_id=str(status)),
            "API, by the role": lambda: world.update(world.appointment, outcome_role=role),
            "admin": lambda: world.save_page(Appointment, world.appointment.pk, outcome=status),
            **by_everyone(world, lambda actor: edit_appointment(**world.common(actor), status_id=status)),
        },
    )


@pytest.mark.parametrize("role", ["CANCELED", "NO_SHOW"])
def test_setting_the_outcome_back_to_booked(world: World, role: str) -> None:
    edit_appointment(**world.common(), status_id=world.status(role).pk)
    booked = world.status("APPOINTMENT_BOOKED").pk
    assert_same(
        world,
        {
            "API": lambda: world.update(world.appointment, outcome_role="APPOINTMENT_BOOKED"),
            "admin": lambda: world.save_page(Appointment, world.appointment.pk, outcome=booked),
            **by_everyone(world, lambda actor: edit_appointment(**world.common(actor), status_id=booked)),
        },
    )


def test_setting_the_outcome_that_a_provider_reports(world: World) -> None:
    appointment = make_provider_appointment(world.organization, external_reference="sync-1")
    common = {"organization": world.organization, "actor": SYSTEM, "appointment": appointment}
    assert_same(
        world,
        {
            "service": lambda: edit_appointment(**common, status_id=world.status("NO_SHOW").pk),
            "import": lambda: report(world, "sync-1", outcome=StatusRole.NO_SHOW),
        },
        without=SYNCED,
    )


def test_editing_an_appointment(world: World) -> None:
    values = {
        "call_category": "TRIAGE_CALL",
        "meeting_url": "https://meet.example/2",
        "recording_url": "https://record.example/1",
    }
    members = {"host": world.setter, "setter": world.host, "triager": world.setter}
    color = {f"custom_{world.color.pk.hex}": "blue"}
    ids = {name: member.pk for name, member in members.items()}
    stored = {"custom_values": {str(world.color.pk): "blue"}}
    emails = {f"{role}_email": member.user.email for role, member in members.items()}
    assert_same(
        world,
        {
            "API": lambda: world.update(world.appointment, **values, **emails, custom_fields={"color": "blue"}),
            "admin": lambda: world.save_page(Appointment, world.appointment.pk, **values, **ids, **color),
            **by_everyone(world, lambda actor: edit_appointment(**world.common(actor), **values, **members, **stored)),
        },
    )


def test_emptying_an_appointment(world: World) -> None:
    members = {"setter": world.setter, "triager": world.setter}
    edit_appointment(
        **world.common(),
        **members,
        recording_url="https://record.example/1",
        custom_values={str(world.color.pk): "blue"},
    )
    roles, urls = ("host", "setter", "triager"), ("meeting_url", "recording_url")
    emails = dict.fromkeys(f"{role}_email" for role in roles)
    empty = dict.fromkeys((*roles, *urls), "")
    nothing: dict[str, Any] = {**dict.fromkeys((*roles, *urls)), "custom_values": {}}
    assert_same(
        world,
        {
            "API": lambda: world.update(
                world.appointment, **emails, **dict.fromkeys(urls), custom_fields={"color": None}
            ),
            "admin": lambda: world.save_page(
                Appointment, world.appointment.pk, **empty, **{f"custom_{world.color.pk.hex}": ""}
            ),
            **by_everyone(world, lambda actor: edit_appointment(**world.common(actor), **nothing)),
        },
    )


def test_changing_the_host_that_a_provider_reports(world: World) -> None:
    appointment = make_provider_appointment(world.organization, external_reference="sync-1")
    common = {"organization": world.organization, "actor": SYSTEM, "appointment": appointment}
    assert_same(
        world,
        {
            "service": lambda: edit_appointment(**common, host=world.host, meeting_url="https://a.example"),
            "import": lambda: report(world, "sync-1", host_email="hana@acme.example", meeting_url="https://a.example"),
        },
        without=SYNCED,
    )


def test_adding_a_lead(world: World) -> None:
    values = {"email": "new@example.com", "first_name": "Nora", "last_name": "New"}
    phone = parse_phone("+493012345678", "US")
    assert phone
    assert_same(
        world,
        {
            "admin": lambda: world.add_page(Lead, **values, phone_e164="+493012345678", setter=world.setter.pk),
            **by_everyone(
                world,
                lambda actor: add_lead(
                    organization=world.organization,
                    actor=actor,
                    **values,
                    phone_e164=phone.e164,
                    phone_country=phone.country,
                    setter=world.setter,
                ),
            ),
        },
    )


def test_editing_a_lead(world: World) -> None:
    names = {"first_name": "Grete", "email": "grete@example.com", "next_touch_point_type": "CALL"}
    time = {"next_touch_point_at_0": "2026-12-24", "next_touch_point_at_1": "12:00:00"}
    budget_field = CustomField.objects.of(world.organization).get(entity="LEAD")
    budget = {f"custom_{budget_field.pk.hex}": "5000"}
    stored = {
        "next_touch_point_at": datetime(2026, 12, 24, 12, tzinfo=UTC),
        "custom_values": {str(budget_field.pk): 5000},
        "status": world.status("WON"),
    }
    common = {"organization": world.organization, "lead": world.lead}
    assert_same(
        world,
        {
            "admin": lambda: world.save_page(
                Lead, world.lead.pk, status=stored["status"].pk, **names, **time, **budget
            ),
            **by_everyone(world, lambda actor: edit_lead(**common, actor=actor, **names, **stored)),
        },
    )


def test_editing_a_lead_by_what_the_api_takes(world: World) -> None:
    names = {"first_name": "Grete", "last_name": "Hermann"}
    budget = CustomField.objects.of(world.organization).get(entity="LEAD")
    phone = {"phone_e164": "+493012345678", "phone_country": "DE"}
    common = {"organization": world.organization, "lead": world.lead, "setter": world.setter}
    own = {"custom_values": {str(budget.pk): 5000}}
    assert_same(
        world,
        {
            "API": lambda: world.update(
                world.lead, **names, **phone, setter_email="seth@acme.example", custom_fields={"budget": 5000}
            ),
            "admin": lambda: world.save_page(
                Lead,
                world.lead.pk,
                **names,
                phone_e164="+493012345678",
                setter=world.setter.pk,
                **{f"custom_{budget.pk.hex}": "5000"},
            ),
            **by_everyone(world, lambda actor: edit_lead(**common, actor=actor, **names, **phone, **own)),
        },
    )


def test_submitting_an_opt_in(world: World) -> None:
    fields = {"email": "grace@example.com", "first_name": "Grace", "last_name": "Hopper", "source": "WEBINAR"}
    traffic = {"utm_source": "ads", "utm_content": world.setter.user_id}
    common = {"organization": world.organization, "traffic": traffic}
    assert_same(
        world,
        {
            "API": lambda: world.api.submit(**fields, traffic=traffic),
            **by_everyone(world, lambda actor: submit(**common, actor=actor, **fields)),
        },
    )


def test_adding_a_call_analysis(world: World) -> None:
    appointment = world.appointment
    assert_same(
        world,
        {
            "admin": lambda: world.add_page(CallAnalysis, appointment=appointment.pk, **ANALYSIS),
            **by_everyone(
                world,
                lambda actor: save_analysis(
                    organization=world.organization,
                    actor=actor,
                    analysis=CallAnalysis(appointment=appointment, **ANALYSIS),
                ),
            ),
        },
    )


def test_changing_a_call_analysis(world: World) -> None:
    appointment = world.appointment
    save = partial(save_analysis, organization=world.organization)
    analysis = save(actor=SYSTEM, analysis=CallAnalysis(appointment=appointment, **ANALYSIS))

    def change(actor: Actor) -> None:
        stored = CallAnalysis.objects.of(world.organization).get()
        stored.ai_suggested_outcome = "Lost"
        save(actor=actor, analysis=stored)

    assert_same(
        world,
        {
            "admin": lambda: world.save_page(CallAnalysis, analysis.pk, ai_suggested_outcome="Lost"),
            **by_everyone(world, change),
        },
    )


def test_renaming_an_event_type(world: World) -> None:
    def rename(actor: Actor) -> None:
        event_type = EventType.objects.of(world.organization).get(pk=world.event_type.pk)
        event_type.name = "Demo"
        save_event_type(organization=world.organization, actor=actor, event_type=event_type)

    assert_same(
        world,
        {
            "admin": lambda: world.save_page(EventType, world.event_type.pk, name="Demo"),
            **by_everyone(world, rename),
        },
    )


def test_renaming_a_status(world: World) -> None:
    status = world.status("WON").pk

    def rename(actor: Actor) -> None:
        stored = Status.objects.of(world.organization).get(pk=status)
        stored.name = "Signed"
        save_status(organization=world.organization, actor=actor, status=stored)

    assert_same(
        world,
        {"admin": lambda: world.save_page(Status, status, name="Signed"), **by_everyone(world, rename)},
    )


def test_renaming_a_custom_field(world: World) -> None:
    def rename(actor: Actor) -> None:
        color = CustomField.objects.of(world.organization).get(pk=world.color.pk)
        color.label = "Favorite color"
        save_custom_field(organization=world.organization, actor=actor, field=color)

    assert_same(
        world,
        {
            "admin": lambda: world.save_page(CustomField, world.color.pk, label="Favorite color"),
            **by_everyone(world, rename),
        },
    )


def test_changing_the_role_of_a_member(world: World) -> None:
    def change(actor: Actor) -> None:
        member = Membership.objects.of(world.organization).get(pk=world.host.pk)
        change_member(actor=actor, member=member, role=MemberRole.SETTER, is_active=True, wants_mail=True)

    assert_same(
        world,
        {
            "admin": lambda: world.save_page(Membership, world.host.pk, role="SETTER"),
            **by_everyone(world, change),
        },
    )


def test_renaming_a_member(world: World) -> None:
    own = logged_in_client(world.host)
    operator = Client()
    operator.force_login(User.objects.create_superuser("root@example.com"))
    url = admin_url(User, "change", world.host.user_id)

    def rename(actor: Actor) -> None:
        user = User.objects.get(pk=world.host.user_id)
        user.first_name = "Hanna"
        save_user(actor=actor, user=user, changed=["first_name"])

    assert_same(
        world,
        {
            "admin, own profile": lambda: own.post(url, form_data(own, url, first_name="Hanna"), follow=True),
            "admin, operator": lambda: operator.post(url, form_data(operator, url, first_name="Hanna"), follow=True),
            **by_everyone(world, rename),
        },
    )
