"""Undoing an import: what it did is taken back, and what others have changed since stays and is listed."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from appointments.models import Appointment, EventType, Note
from appointments.services import (
    delete_event_type,
    edit_appointment,
    finish_next_step,
    refresh_touch_points,
    set_next_step,
)
from foundation.db.timestamps import now
from leads.imports import services, undoing
from leads.imports.models import Import, ImportState, ImportUndo
from leads.imports.services import prune_imports
from leads.models import Lead
from leads.privacy.erasing import request_erasure
from notifications.models import Notification
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from pipeline_backend.celery import app
from statuses.models import Status
from tests.accounts import run_together
from tests.client import ApiClient
from tests.factories import deactivate, events_of, make_custom_field, make_member, notifications_of, owner_actor
from tests.imports.files import Page, csv_file, expire_turns, work
from tests.jobs import send_notifications
from tests.merging.leads import make_lead, merge
from webhooks.models import Event

HOUR = timedelta(hours=1)
HEADER = ["Reference", "Lead e-mail", "Time", "Event type", "Host", "Outcome", "Note"]
PAST, FUTURE, LATER = "2026-03-02 10:00", "2031-03-03 10:00", "2031-03-04 10:00"


class Killed(BaseException):
    """The end of a worker's process."""


def ids_of(organization: Organization) -> dict[str, Any]:
    """Return the ids of the leads by their e-mail's local part."""
    return {email.partition("@")[0]: pk for email, pk in Lead.objects.of(organization).values_list("email", "pk")}


def stays(page: Page) -> list[tuple[str, str]]:
    """Return name and reason of each row that the page lists as one that stays, sorted; its link leads to it."""
    kept = list(page.get().context["kept"])
    assert all(page.client.get(url).status_code == 200 for _, url, _ in kept if url)
    return sorted((name, reason) for name, _, reason in kept)


def plan_call(lead: Lead, at: datetime) -> None:
    """Add a next step, as the owner."""
    actor = owner_actor(lead.organization)
    set_next_step(organization=lead.organization, actor=actor, lead_id=lead.pk, at=at, type="CALL")


def move_end(page: Page, **columns: timedelta) -> None:
    """Let times of the import be so much earlier."""
    moved = {name: getattr(page.row, name) - by for name, by in columns.items()}
    Import.objects.of(page.organization).filter(pk=page.row.pk).update(**moved)


def test_leads_are_deleted_and_get_their_values_back_and_what_has_changed_since_is_listed(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    make_custom_field(organization, "LEAD", "budget", type="NUMBER")
    make_custom_field(organization, "LEAD", "plan")
    bob = make_lead(api, "bob@example.com", first_name="Bob", phone_e164="+493012345678", phone_country="DE")
    api.patch(f"/api/external/leads/{bob}", {"custom_fields": {"budget": 5, "plan": "small"}})
    since = datetime(2026, 1, 1, tzinfo=UTC)
    Lead.objects.of(organization).filter(pk=bob).update(status_since=since)
    before, events_before = api.get_lead(str(bob)), events_of(organization)
    rows = [
        ["bob@example.com", "Robert", "Builder", "030 87654321", "Follow-up", "9", "large"],
        *([f"{name}@example.com", name.title()] for name in ("ann", "cat", "dan", "eve", "fay", "hal")),
        ["gus@example.com", "Gus", "", "", "", "", "", FUTURE],
    ]
    header = ["email", "first name", "last name", "phone", "status", "budget", "plan", "next touch point"]
    page = Page(mia, organization, csv_file(header, *rows)).run()
    ids = ids_of(organization)

    api.patch(f"/api/external/leads/{bob}", {"last_name": "Smith", "custom_fields": {"budget": 7}})
    api.post(f"/api/external/leads/{ids['cat']}/notes", {"note": "Called"})
    Lead.objects.of(organization).filter(pk=ids["hal"]).update(unsubscribed_at=now())
    api.patch(f"/api/external/leads/{ids['dan']}", {"first_name": "Daniel"})
    merge(organization, bob, ids["eve"])
    api.patch(f"/api/external/leads/{ids['fay']}", {"external_reference": "crm-1"})
    Lead.objects.of(organization).filter(pk=ids["gus"]).update(next_touch_point_at=datetime.now(UTC))
    refresh_touch_points(organization=organization)  # no one has done that
    question = page.get("?undo").content.decode()
    page.press("undo")
    page.press("undo")

    assert "7 leads that it added will be deleted" in question
    assert "1 lead that it changed will get the values from before" in question
    after = api.get_lead(str(bob))
    names = ("first_name", "phone_e164", "phone_country", "status", "setter")
    assert {name: after[name] for name in names} == {name: before[name] for name in names}
    assert [after["last_name"], *(field["value"] for field in after["custom_fields"])] == ["Smith", 7, "small"]
    assert ids_of(organization).keys() == {"bob", "cat", "dan", "fay", "hal"}
    assert Lead.objects.of(organization).get(pk=bob).status_since == since
    reasons = stays(page)
    assert [(name, reason.partition(", by ")[0]) for name, reason in reasons] == [
        ("Bob Smith", "Changed since, so it stays: last name, Budget."),
        ("Bob Smith", "It was merged into another lead since."),
        ("Cat", "This was added since: lead note."),
        ("Daniel", "It has changed since: lead updated"),
        ("Fay", "An integration has given it a reference since."),
        ("Hal", "It has unsubscribed from e-mails since."),
    ]
    undone = {name: count for name, count in page.row.undone.items() if name != "actor_id"}
    assert (page.row.state, undone) == (
        "UNDONE",
        {"total": 8, "deleted": 2, "kept": 6, "actor_name": "Mia Manager"},
    )
    deleted = ids["ann"]
    assert api.get(f"/api/external/leads/{deleted}").status_code == 404
    bodies = [json.loads(body) for body in deleted_events(organization, "lead.deleted")]
    # Those of their creation, of Gus's touch point, and of their deletion.
    assert Counter(body["data"]["id"] for body in bodies) == {str(deleted): 2, str(ids["gus"]): 3}
    assert all(body["data"].keys() == {"id"} for body in bodies)
    assert bodies[-1]["actor"]["name"] == "Mia Manager (undo)"
    assert events_of(organization).count("lead.created") == events_before.count("lead.created") + 5


def deleted_events(organization: Organization, topic: str) -> list[str]:
    """Return the bodies of the events, oldest first."""
    events = Event.objects.of(organization).filter(type=topic).order_by("created_at", "id")
    return list(events.values_list("body", flat=True))


def test_appointments_are_deleted_or_get_their_values_back_and_their_people_are_told(
    mia: Client, organization: Organization, api: ApiClient, host: Membership
) -> None:
    for reference, email in [("old-1", "bob@example.com"), ("old-2", "bob@example.com"), ("old-3", "cat@example.com")]:
        api.book(external_reference=reference, lead_email=email, host_email="hana@acme.example")
    make_lead(api, "dan@example.com")
    ids = {row.external_reference: str(row.pk) for row in Appointment.objects.of(organization)}
    before = {reference: api.get_appointment(id) for reference, id in ids.items()}
    leads_before = {name: api.get_lead(str(id)) for name, id in ids_of(organization).items()}
    rows = [
        ["new-1", "ann@example.com", FUTURE, "Coaching", "Hana Host", "", "Bring the plan"],
        ["new-2", "ann@example.com", PAST, "Coaching", "Hana Host", "Won", ""],
        ["new-3", "dan@example.com", FUTURE, "Coaching", "Hana Host", "", ""],
        ["new-4", "eve@example.com", FUTURE, "Coaching", "Hana Host", "", ""],
        ["new-5", "fay@example.com", FUTURE, "Coaching", "Hana Host", "", "Imported"],
        ["new-6", "gus@example.com", FUTURE, "Coaching", "Hana Host", "", ""],
        ["old-1", "", LATER, "", "", "", "Moved by file"],
        ["old-2", "", "", "", "", "Canceled", ""],
        ["old-3", "", LATER, "", "", "", ""],
    ]
    page = Page(mia, organization, csv_file(HEADER, *rows), kind="APPOINTMENTS").run(invitations=True)
    api.reschedule(external_reference="new-4", schedule_time="2031-05-05T10:00:00Z")
    api.reschedule(external_reference="old-3", schedule_time="2031-05-06T10:00:00Z")
    noted = {name: Appointment.objects.of(organization).get(external_reference=name).pk for name in ("new-5", "new-6")}
    for id in noted.values():
        note = api.post(f"/api/external/appointments/{id}/notes", {"note": "Wants a discount"}).json()["data"]["id"]
    api.delete(f"/api/external/appointments/{noted['new-6']}/notes/{note}")
    told_before = Counter(kind for kind, _ in notifications_of(organization))

    question = page.get("?undo").content.decode()
    page.press("undo")

    assert "4 leads, 6 appointments, 1 note that it added will be deleted" in question
    assert "canceled in their calendars" in question
    left = {row.external_reference: row for row in Appointment.objects.of(organization)}
    assert left.keys() == {"old-1", "old-2", "old-3", "new-4", "new-5", "new-6"}
    notes = Note.objects.of(organization).order_by("created_at").values_list("note", flat=True)
    assert [*notes.filter(appointment=noted["new-5"])] == ["Imported", "Wants a discount"]
    hidden = ("updated_at", "opt_ins")
    for reference in ("old-1", "old-2"):
        after = api.get_appointment(ids[reference])
        lead = {"lead": None}
        assert {name: value for name, value in (after | lead).items() if name not in hidden} == {
            name: value for name, value in (before[reference] | lead).items() if name not in hidden
        }
    for name in ("bob", "dan"):
        lead_after = api.get_lead(str(ids_of(organization)[name]))
        assert lead_after | {"updated_at": ""} == leads_before[name] | {"updated_at": ""}
    assert ids_of(organization).keys() == {"bob", "cat", "dan", "eve", "fay", "gus"}
    reasons = stays(page)
    assert sorted(reason.partition(",")[0] for _, reason in reasons) == [
        "Changed since",
        "It has changed since: appointment rescheduled",
        "It has changed since: note created",
        "It has changed since: note created",
        *["This was added since: appointment."] * 3,
    ]
    told = Counter(kind for kind, _ in notifications_of(organization))
    # new-1 and new-3 are canceled, old-1 is back at its time, and old-2 is booked again; what was sent about the first
    # two is erased.
    assert told - told_before == {"CALL_CANCELED": 2, "CALL_RESCHEDULED": 1}
    assert told["CALL_BOOKED"] == told_before["CALL_BOOKED"] - 2 + 1
    deleted = [json.loads(body)["data"] for body in deleted_events(organization, "appointment.deleted")]
    assert len({row["id"] for row in deleted}) == 3
    assert deleted[0].keys() == {"id", "lead_id"}
    assert events_of(organization).count("note.deleted") == 2  # one by the API


def test_what_another_import_of_the_same_person_has_changed_meanwhile_stays(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one takes its turns between two batches of this one."""
    header = ["email", "last name"]
    other = Page(mia, organization, csv_file(["email", "first name"], ["ann@example.com", "Other"]), name="other.csv")
    page = Page(mia, organization, csv_file(header, ["ann@example.com", "New"], ["bob@example.com", "New"]))
    other.check()
    page.check()
    monkeypatch.setattr("leads.imports.worker.MAX_BATCH", 1)
    monkeypatch.setattr("leads.imports.worker.FIRST_SLICE", 1)
    monkeypatch.setattr("leads.imports.turns.TURN_SECONDS", 0)

    mia.post(page.url, {"step": "start"})
    while not ids_of(organization):
        app.tasks["leads.run_imports"].apply(throw=True)
    assert ids_of(organization).keys() == {"ann"}
    other.press("start")
    page.press("undo")

    assert ids_of(organization).keys() == {"ann"}
    assert Lead.objects.of(organization).get().first_name == "Other"
    [(name, reason)] = stays(page)
    assert name == "Other New"
    assert reason.startswith("It has changed since: by another import, uploaded by Mia Manager, "), reason


def test_a_member_who_cannot_be_assigned_any_more_gets_nothing_back(
    mia: Client, organization: Organization, api: ApiClient, host: Membership
) -> None:
    tom = make_member(organization, "tom@acme.example", role=MemberRole.SETTER)
    api.book(
        external_reference="r-1",
        lead_email="a@example.com",
        schedule_time="2031-03-03T10:00:00Z",
        host_email=host.user.email,
        setter_email=tom.user.email,
    )
    lead = Lead.objects.of(organization).get()
    api.patch(f"/api/external/leads/{lead.pk}", {"setter_email": tom.user.email})
    header = ["Reference", "Host", "Setter"]
    row = ["r-1", "mia@acme.example", "mia@acme.example"]
    calls = Page(mia, organization, csv_file(header, row), kind="APPOINTMENTS").run()
    leads = Page(mia, organization, csv_file(["email", "Setter"], ["a@example.com", "mia@acme.example"])).run()
    Membership.objects.of(organization).filter(pk=tom.pk).update(role=MemberRole.VIEWER)
    deactivate(host)

    for page in (leads, calls):
        page.press("undo")

    texts = [reason for page in (calls, leads) for _, reason in stays(page)]
    assert texts == [
        "The former host and setter can't be assigned any more, so the present one stays.",
        "The former setter can't be assigned any more, so the present one stays.",
    ]
    appointment = Appointment.objects.of(organization).get()
    assert {appointment.host, appointment.setter, appointment.lead.setter} == {
        Membership.objects.of(organization).get(user__email="mia@acme.example")
    }


def test_a_former_event_type_that_was_deleted_since_does_not_come_back(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    api.book(external_reference="r-1", schedule_time="2031-03-03T10:00:00Z", event_type_name="Odd")
    api.book(external_reference="r-2", event_type_name="Coaching")
    row = ["r-1", "", LATER, "Coaching", "", "", ""]
    page = Page(mia, organization, csv_file(HEADER, row), kind="APPOINTMENTS").run()
    odd = EventType.objects.of(organization).get(name="Odd")
    delete_event_type(organization=organization, actor=owner_actor(organization), event_type=odd)

    page.press("undo")

    appointment = Appointment.objects.of(organization).get(external_reference="r-1")
    assert stays(page)[0][1] == "The former event type was deleted, so the present one stays."
    assert appointment.event_type.name == "Coaching"
    assert appointment.schedule_time == datetime(2031, 3, 3, 10, tzinfo=UTC)


def test_the_people_of_deleted_leads_are_in_no_notification(
    mia: Client, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    """Not in what was sent, nor in what is still to be sent, which calendars need."""
    rows = [[f"ref-{name}", f"{name}@example.com", FUTURE, "Coaching", "Hana Host", "", "A secret"] for name in "ab"]
    page = Page(mia, organization, csv_file(HEADER, *rows), kind="APPOINTMENTS").run(invitations=True)
    send_notifications(str(organization.pk))
    mailoutbox.clear()

    page.press("undo")
    waiting = Notification.objects.of(organization).filter(context__lead_name__isnull=False)
    contexts = [json.dumps(row.context) for row in waiting]
    send_notifications(str(organization.pk))

    assert [row.kind for row in waiting] == ["CALL_CANCELED"] * 2
    assert not [context for context in contexts if "example.com" in context or "secret" in context]
    assert [email.subject.partition(",")[0] for email in mailoutbox] == ["Call Canceled: a deleted lead"] * 2
    assert "METHOD:CANCEL" in str(mailoutbox[0].message())
    assert "secret" not in "".join(email.body for email in mailoutbox)


def test_a_value_that_an_import_changed_twice_returns_to_the_first_one_although_workers_are_killed(
    mia: Client, organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undoing, "BATCH", 1)
    monkeypatch.setattr("leads.imports.worker.MAX_BATCH", 1)
    monkeypatch.setattr("leads.imports.worker.FIRST_SLICE", 1)
    make_lead(api, "bob@example.com")
    rows = [[f"ref-{number}", "bob@example.com", FUTURE, "Coaching", "", "", ""] for number in range(4)]
    rows += [
        [f"ref-{number}", f"new{number % 2}@example.com", PAST, "Coaching", "", "Won", ""] for number in range(4, 8)
    ]
    lead_before = api.get_lead(str(ids_of(organization)["bob"]))
    page = Page(mia, organization, csv_file(HEADER, *rows), kind="APPOINTMENTS").run()
    total = ImportUndo.objects.of(organization).count()
    undo_group, killed_in = undoing.undo_group, [2, 5, 6]
    calls = 0

    def undo_until_killed(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        result = undo_group(*args)
        if calls in killed_in:
            raise Killed
        return result

    monkeypatch.setattr(undoing, "undo_group", undo_until_killed)
    with pytest.raises(Killed):
        page.press("undo")
    assert page.row.position == 1
    assert f"1 of {total} changes" in page.get().content.decode()
    assert b'value="cancel"' not in page.get().content
    for _ in killed_in[1:]:
        expire_turns()
        with pytest.raises(Killed):
            work(organization)
    expire_turns()
    work(organization)

    assert "kept" not in page.row.undone
    assert not Appointment.objects.of(organization).exists()
    assert ids_of(organization).keys() == {"bob"}
    lead_after = api.get_lead(str(ids_of(organization)["bob"]))
    assert lead_after | {"updated_at": ""} == lead_before | {"updated_at": ""}


def test_it_can_be_undone_for_24_hours_and_what_is_stored_for_that_ends_with_them(
    mia: Client, organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [[f"lead{number}@example.com"] for number in range(3)]
    old, new = (Page(mia, organization, csv_file(["email"], *rows[:2])).run() for _ in range(2))
    assert not new.row.can_be_undone, "nothing was changed"
    request_erasure(organization=organization, actor=SYSTEM, lead_id=ids_of(organization)["lead0"])
    assert ImportUndo.objects.of(organization).count() == 1

    move_end(old, undo_until=25 * HOUR)
    prune_imports(organization=organization)

    assert not ImportUndo.objects.of(organization).exists()
    assert "Undo this import" not in old.get("?undo").content.decode()
    response = old.press("undo")
    assert response.context["problems"] == ["This import can no longer be undone."]
    assert Lead.objects.of(organization).filter(email="lead1@example.com").exists()

    monkeypatch.setattr(services, "MAX_UNDO", 300)
    first, second = (Page(mia, organization, csv_file(["email"], [f"more{n}@example.com"])).run() for n in range(2))
    assert (first.row.can_be_undone, second.row.can_be_undone) == (False, True)


@pytest.mark.django_db(transaction=True)
def test_a_change_at_the_same_time_is_never_lost(mia: Client, organization: Organization, api: ApiClient) -> None:
    rows = [[f"lead{number}@example.com", "Ada"] for number in range(20)]
    page = Page(mia, organization, csv_file(["email", "first name"], *rows)).run()
    ids = ids_of(organization)
    answers: dict[str, int] = {}

    def change() -> None:
        for name, id in ids.items():
            answers[name] = api.patch(f"/api/external/leads/{id}", {"last_name": "King"}).status_code

    run_together(lambda: page.press("undo"), change)

    kept = {name for name, status in answers.items() if status == 200}
    assert {*answers.values()} <= {200, 404}
    assert ids_of(organization).keys() == kept
    assert page.row.undone.get("kept", 0) == len(kept)


@pytest.mark.parametrize("number", [1e21, -1e300, 123456789012345678901])
def test_numbers_of_any_size_are_imported_over_and_come_back(
    number: float, mia: Client, organization: Organization, api: ApiClient
) -> None:
    """PostgreSQL returns 1e21 as an integer, which has more than 64 bits."""
    make_custom_field(organization, "LEAD", "order", type="NUMBER")
    make_custom_field(organization, "LEAD", "plan")
    id = str(make_lead(api, "ada@example.com"))
    changed = api.patch(f"/api/external/leads/{id}", {"custom_fields": {"order": number, "plan": "small"}})

    def values() -> list[Any]:
        return [float(field["value"]) if field["type"] == "NUMBER" else field["value"] for field in fields()]

    def fields() -> list[dict[str, Any]]:
        return list(api.get_lead(id)["custom_fields"])

    page = Page(mia, organization, csv_file(["email", "plan", "order"], ["ada@example.com", "large", "5"])).run()
    imported = values()
    page.press("undo")

    assert changed.status_code == 200
    assert (page.row.state, imported, values()) == ("UNDONE", [5.0, "large"], [float(number), "small"])
    Page(mia, organization, csv_file(["email", "plan"], ["ada@example.com", "huge"])).run()
    assert values() == [float(number), "huge"]


def test_next_step_dates_of_undone_leads_follow_the_appointments_and_steps_that_are_left(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    soon, later, last = (f"2031-12-{day:02}T10:00:00.000Z" for day in (3, 8, 18))
    names = ("booked", "former", "moved", "planned")
    ids = {name: make_lead(api, f"{name}@example.com") for name in names}
    Lead.objects.of(organization).filter(pk=ids["former"]).update(
        next_touch_point_at=last, next_touch_point_type="FOLLOW_UP"
    )
    api.book(lead_email="moved@example.com", external_reference="m-1", schedule_time=later)
    rows = [[f"{name}@example.com", soon, "Follow-up"] for name in names]
    page = Page(mia, organization, csv_file(["email", "next step date", "next step"], *rows)).run()
    for name in ("booked", "former"):
        api.book(lead_email=f"{name}@example.com", external_reference=name, schedule_time=later)
    api.reschedule(external_reference="m-1", new_external_reference="m-2", schedule_time=last)
    planned = Lead.objects.of(organization).get(pk=ids["planned"])
    plan_call(planned, datetime(2031, 12, 5, tzinfo=UTC))

    page.press("undo")

    leads = Lead.objects.of(organization).in_bulk()
    shown = {name: leads[UUID(str(id))] for name, id in ids.items()}
    dates = {name: (f"{lead.next_touch_point_at:%d}", lead.next_touch_point_type) for name, lead in shown.items()}
    assert dates == {
        "booked": ("08", "APPOINTMENT"),
        "former": ("08", "APPOINTMENT"),
        "moved": ("18", "APPOINTMENT"),
        "planned": ("05", "CALL"),
    }


def test_the_date_of_a_next_step_that_was_done_since_does_not_come_back(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    lead = Lead.objects.of(organization).get(pk=make_lead(api, "ann@example.com"))
    plan_call(lead, datetime(2031, 3, 5, 10, tzinfo=UTC))
    header = ["email", "next step date", "next step"]
    page = Page(mia, organization, csv_file(header, ["ann@example.com", FUTURE, "Follow-up"])).run()
    actor, step = owner_actor(organization), lead.next_steps.get()
    finish_next_step(organization=organization, actor=actor, lead_id=lead.pk, step_id=step.pk)
    imported = Lead.objects.of(organization).get().next_touch_point_at

    page.press("undo")

    lead.refresh_from_db()
    assert (imported, lead.next_touch_point_at) == (datetime(2031, 3, 3, 9, tzinfo=UTC), None)


@pytest.mark.parametrize(("invitations", "is_reminded"), [(False, True), (True, True), (False, False)])
def test_the_lead_of_a_call_that_is_moved_back_is_reminded_as_before(
    mia: Client, organization: Organization, api: ApiClient, invitations: bool, is_reminded: bool
) -> None:
    """Also if the import has moved it so near that there was no time for a reminder."""
    api.book(external_reference="a-1", schedule_time="2031-03-03T10:00:00Z", event_type_name="Coaching")
    EventType.objects.of(organization).update(reminder_hours=24)
    reminder = Appointment.objects.of(organization).get().schedule_time - timedelta(hours=24) if is_reminded else None
    Appointment.objects.of(organization).update(lead_reminder_at=reminder)
    soon = f"{now() + timedelta(hours=2):%Y-%m-%dT%H:%M}Z"
    page = Page(mia, organization, csv_file(HEADER, ["a-1", "", soon, "", "", "", ""]), kind="APPOINTMENTS")
    page.run(invitations=invitations)
    moved = Appointment.objects.of(organization).get()

    page.press("undo")

    assert (page.row.state, moved.lead_reminder_at) == (ImportState.UNDONE, None)
    assert Appointment.objects.of(organization).get().lead_reminder_at == reminder


@pytest.mark.parametrize(
    ("roles", "row"),
    [
        (["FOLLOW_UP"], ["old", "", "", "", "", "Canceled", ""]),
        (["CANCELED", "LOST"], ["old", "", LATER, "", "", "", ""]),
        (["CANCELED", "LOST"], ["old", "", "", "", "", "Appointment booked", ""]),
    ],
)
def test_what_was_called_off_or_not_is_so_again(
    mia: Client, organization: Organization, api: ApiClient, roles: list[str], row: list[str]
) -> None:
    id = api.book(external_reference="old").json()["data"]["id"]
    for role in roles:
        api.patch(f"/api/external/appointments/{id}", {"outcome_role": role})
    columns = ("is_called_off", "outcome__role", "schedule_time", "lead__next_touch_point_at")
    before, after_import, after = (Appointment.objects.of(organization).values_list(*columns) for _ in range(3))
    before = list(before)
    page = Page(mia, organization, csv_file(HEADER, row), kind="APPOINTMENTS").run()
    assert [values[0] for values in after_import] == [not before[0][0]]

    page.press("undo")

    assert list(after) == before


@pytest.mark.parametrize(
    "row", [["new", "ann@example.com", FUTURE, "Coaching", "", "", ""], ["old", "", FUTURE, "", "", "", ""]]
)
def test_a_date_that_staff_had_set_comes_back_with_the_appointments(
    mia: Client, organization: Organization, api: ApiClient, row: list[str]
) -> None:
    make_lead(api, "ann@example.com")
    api.book(lead_email="ann@example.com", external_reference="old", schedule_time="2032-03-05T10:00:00Z")
    planned = datetime(2031, 12, 1, 10, tzinfo=UTC)
    date_in_form = {"next_touch_point_at": planned, "next_touch_point_type": "CALL"}
    Lead.objects.of(organization).update(**date_in_form)
    page = Page(mia, organization, csv_file(HEADER, row), kind="APPOINTMENTS").run()
    imported = Lead.objects.of(organization).get().next_touch_point_type

    page.press("undo")

    lead = Lead.objects.of(organization).get()
    assert imported == "APPOINTMENT"
    assert (lead.next_touch_point_at, lead.next_touch_point_type) == (planned, "CALL")


def test_the_status_of_a_lead_stays_if_another_appointment_has_it_since(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    for name in ("ann", "bob"):
        make_lead(api, f"{name}@example.com")
    api.book(lead_email="bob@example.com", external_reference="b-1")
    api.book(lead_email="bob@example.com", external_reference="b-2")
    since = datetime(2026, 1, 1, tzinfo=UTC)
    Appointment.objects.of(organization).filter(external_reference="b-1").update(outcome_since=since)
    rows = [["a-1", "ann@example.com", FUTURE, "Coaching", "", "", ""], ["b-1", "", "", "", "", "Won", ""]]
    page = Page(mia, organization, csv_file(HEADER, *rows), kind="APPOINTMENTS").run()
    api.book(lead_email="ann@example.com", external_reference="a-2", schedule_time="2031-03-05T10:00:00Z")
    ann = Lead.objects.of(organization).get(email="ann@example.com")
    plan_call(ann, datetime(2027, 1, 1, tzinfo=UTC))
    second = Appointment.objects.of(organization).get(external_reference="b-2")
    won = Status.objects.of(organization).get(role="WON")
    edit_appointment(organization=organization, actor=owner_actor(organization), appointment=second, status_id=won.pk)

    page.press("undo")

    names = dict(Lead.objects.of(organization).values_list("email", "status__name"))
    assert names == {"ann@example.com": "Appointment booked", "bob@example.com": "Won"}
    first = Appointment.objects.of(organization).get(external_reference="b-1")
    assert (first.outcome.name, first.outcome_since) == ("Appointment booked", since)
    assert {reason for _, reason in stays(page)} == {
        "Its status stays, because another appointment is to come.",
        "Its status stays, because another appointment has got this outcome since.",
    }


def test_what_stays_is_told_in_the_time_of_the_person_who_has_uploaded_the_file(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    page = Page(mia, organization, csv_file(["email"], ["ada@example.com"])).run()
    lead = Lead.objects.of(organization).get()
    changed_at = api.patch(f"/api/external/leads/{lead.pk}", {"first_name": "Ada"}).json()["data"]["updated_at"]

    page.press("undo")

    [(_, reason)] = stays(page)
    at = datetime.fromisoformat(changed_at).astimezone(ZoneInfo(page.row.time_zone))
    assert page.row.time_zone == "Europe/Berlin"
    assert reason.endswith(f", {at:%H:%M}.")


def test_a_note_that_was_pinned_stays(mia: Client, organization: Organization, api: ApiClient) -> None:
    api.book(external_reference="r-1")
    file = csv_file(["reference", "note"], ["r-1", "Important"])
    page = Page(mia, organization, file, kind="APPOINTMENTS").run()
    Note.objects.of(organization).update(is_pinned=True)

    page.press("undo")

    assert Note.objects.of(organization).count() == 1
    assert [reason for _, reason in stays(page)] == ["It was pinned since."]
