"""Retention: an organization's leads without activity are erased, if its owner has chosen that after a preview."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from appointments.services import set_next_step
from leads.imports.services import add_import
from leads.imports.turns import Turn, begin_turn
from leads.imports.worker import run_turn
from leads.models import Lead, LeadNote
from leads.privacy import retention
from leads.privacy.erasing import request_erasure
from leads.privacy.models import Erasure, LeadRetention
from leads.privacy.retention import run_retention, set_retention
from organizations.actors import SYSTEM, actor_columns
from organizations.models import MemberRole, Organization, SecurityEvent
from tests.client import ApiClient
from tests.factories import make_member, owner_actor, owner_of, snapshot_of
from tests.imports.files import csv_file
from tests.staff.pages import admin_url, form_errors, logged_in_client, shown_messages
from webhooks.models import Event

DAY = timedelta(days=1)
Act = Callable[[ApiClient, Lead], object]


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


def old_lead(api: ApiClient, email: str, days: int = 400) -> Lead:
    """Store a lead that opted in so many days ago."""
    with time_machine.travel(timezone.now() - days * DAY):
        id = api.submit(email=email).json()["data"]["lead_id"]
    lead: Lead = Lead.unscoped.get(pk=id)
    return lead


def choose(client: Client, organization: Organization, **data: object) -> Any:
    return client.post(admin_url(Organization, "retention", organization.pk), data)


def erased(organization: Organization) -> list[str]:
    """Return the ids of the leads with an event `lead.erased`."""
    events = Event.objects.of(organization).filter(type="lead.erased").order_by("subject_id")
    return [str(id) for id in events.values_list("subject_id", flat=True).distinct()]


def a_day_later(*organizations: Organization) -> None:
    """Let the first run begin, and a worker do all turns."""
    for organization in organizations:
        LeadRetention.objects.of(organization).update(next_run_at=timezone.now() - DAY / 24)
    while turn_is_due():
        run_turn()


def turn_is_due() -> bool:
    return LeadRetention.unscoped.filter(days__isnull=False, next_run_at__lte=timezone.now()).exists()


def test_an_owner_sees_what_it_erases_and_confirms_it_and_it_begins_a_day_later(
    owner: Client, organization: Organization, api: ApiClient, other_api: ApiClient, other_organization: Organization
) -> None:
    ids = [str(old_lead(api, f"{name}@leads.example", days).pk) for name, days in [("ada", 500), ("bob", 400)]]
    for name, days in [("eve", 350), ("dan", 300), ("new", 0)]:
        old_lead(api, f"{name}@leads.example", days)
    old_lead(other_api, "theirs@leads.example")
    before, others = snapshot_of(organization), snapshot_of(other_organization)

    preview = choose(owner, organization, days=365)
    text = " ".join(preview.content.decode().split())
    wrong = form_errors(choose(owner, organization, days=365, name="Globex"))
    is_same = snapshot_of(organization) == before
    confirmed = choose(owner, organization, days=365, name="Acme")
    run_turn()
    on_first_day = erased(organization)
    a_day_later(organization)

    assert "<strong>2 leads</strong> have had no activity for 365 days" in text
    assert [url for url in ids if admin_url(Lead, "change", url) in text] == ids
    assert "365 days ago: 1 within 30 days, 2 within 90 days" in text
    assert (wrong, is_same) == (["This is not the organization's name."], True)
    assert shown_messages(confirmed)[0].startswith("Leads are erased after 365 days without activity, from ")
    assert (on_first_day, erased(organization)) == ([], sorted(ids))
    assert [row.actor_name for row in Erasure.objects.of(organization)] == ["Retention"] * 2
    logged = SecurityEvent.objects.filter(organization=organization, kind__in=["lead_erased", "organization_changed"])
    assert sorted(row.details.partition(": ")[0] for row in logged) == [
        *sorted(f"Lead {id} by Retention" for id in ids),
        "Leads without activity",
    ]
    assert (
        f"Last: 2 leads on {timezone.now():%a %-d %b %Y} (UTC)."
        in owner.get(admin_url(Organization, "change", organization.pk)).content.decode()
    )
    assert snapshot_of(other_organization) == others


def book_upcoming(api: ApiClient, lead: Lead) -> None:
    in_a_week = (timezone.now() + 7 * DAY).isoformat()
    with time_machine.travel(timezone.now() - 399 * DAY):
        api.book(lead_email=lead.email, schedule_time=in_a_week, external_reference="ref-2")


def plan_step(api: ApiClient, lead: Lead) -> None:
    at = timezone.now() - 10 * DAY
    with time_machine.travel(timezone.now() - 399 * DAY):
        set_next_step(organization=lead.organization, actor=SYSTEM, lead_id=lead.pk, at=at, type="CALL")


def add_old_note(api: ApiClient, lead: Lead) -> str:
    """Return the path of a note that was written long ago."""
    notes = f"/api/external/leads/{lead.pk}/notes"
    id = api.post(notes, {"note": "Called"}).json()["data"]["id"]
    LeadNote.objects.of(lead.organization).filter(pk=id).update(created_at=timezone.now() - 399 * DAY)
    return f"{notes}/{id}"


def edit_old_note(api: ApiClient, lead: Lead) -> None:
    api.patch(add_old_note(api, lead), {"note": "Call her in March"})


def delete_old_note(api: ApiClient, lead: Lead) -> None:
    api.delete(add_old_note(api, lead))


ACTS: dict[str, Act] = {
    "the lead is changed": lambda api, lead: api.patch(f"/api/external/leads/{lead.pk}", {"last_name": "Lovelace"}),
    "an opt-in": lambda api, lead: api.submit(email=lead.email),
    "an appointment": lambda api, lead: api.book(lead_email=lead.email, schedule_time="2020-01-01T10:00:00Z"),
    "an appointment to come, booked long ago": book_upcoming,
    "a note": lambda api, lead: api.post(f"/api/external/leads/{lead.pk}/notes", {"note": "Called"}),
    "the time of a next step, set long ago": plan_step,
    "an edit of a note of long ago": edit_old_note,
    "the deletion of a note of long ago": delete_old_note,
}


def test_each_kind_of_activity_keeps_a_lead(organization: Organization, api: ApiClient) -> None:
    quiet = old_lead(api, "quiet@leads.example")
    leads = {name: old_lead(api, f"lead{number}@leads.example") for number, name in enumerate(ACTS)}
    for number, (name, lead) in enumerate(leads.items()):
        ACTS[name](api, lead)
        if number:  # what keeps it is not a change that came with it
            Lead.objects.of(organization).filter(pk=lead.pk).update(updated_at=timezone.now() - 399 * DAY)

    set_retention(organization=organization, days=365)
    a_day_later(organization)

    assert erased(organization) == [str(quiet.pk)]
    assert {name for name, lead in leads.items() if lead.email != Lead.unscoped.get(pk=lead.pk).email} == set()


def test_only_owners_choose_from_30_days_on_and_switching_off_keeps_all(
    owner: Client, organization: Organization, api: ApiClient
) -> None:
    lead = old_lead(api, "ada@leads.example")
    manager = make_member(organization, "m@acme.example", role=MemberRole.MANAGER)

    refused = choose(logged_in_client(manager), organization, days=365, name="Acme").status_code
    too_few = form_errors(choose(owner, organization, days=29, name="Acme"))
    with pytest.raises(IntegrityError, match="retention_is_30_to_3650_days"), transaction.atomic():
        set_retention(organization=organization, days=29)
    is_chosen = LeadRetention.objects.of(organization).exists()
    choose(owner, organization, days=30, name="Acme")
    off = choose(owner, organization, days="")
    a_day_later(organization)

    assert (refused, too_few, is_chosen) == (403, ["Ensure this value is greater than or equal to 30."], False)
    assert shown_messages(off)[-1] == "Leads without activity are kept."
    assert Lead.unscoped.get(pk=lead.pk).email == lead.email


def due_turn(organization: Organization) -> Turn:
    LeadRetention.objects.of(organization).update(next_run_at=timezone.now() - DAY)
    turn = begin_turn()
    assert turn is not None
    return turn


def test_a_run_takes_several_turns_and_stops_when_the_owner_switches_it_off(
    organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    leads = [old_lead(api, f"lead{number}@leads.example", 500 - number) for number in range(6)]
    set_retention(organization=organization, days=365)
    turn = due_turn(organization)
    asked: list[int] = []

    def keep() -> bool:
        asked.append(len(asked))
        if len(asked) == 6:
            set_retention(organization=organization, days=None)
        return len(asked) in (3, 4)

    monkeypatch.setattr(turn, "keep", keep)
    run_retention(turn)
    after_one, position = len(erased(organization)), LeadRetention.objects.of(organization).get().position_id
    run_retention(turn)
    run_retention(turn)
    off = LeadRetention.objects.of(organization).get()

    assert (after_one, position) == (2, leads[1].pk)
    assert erased(organization) == sorted(str(lead.pk) for lead in leads[:3])
    assert (off.days, off.erased_count, off.position_id) == (None, 3, None)


def test_a_lead_to_which_something_happens_meanwhile_is_kept(
    organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead = old_lead(api, "ada@leads.example")
    set_retention(organization=organization, days=365)
    turn = due_turn(organization)

    def keep() -> bool:
        LeadNote.objects.create(organization=organization, lead=lead, note="Called", **actor_columns(SYSTEM))
        return False

    monkeypatch.setattr(turn, "keep", keep)
    run_retention(turn)

    assert erased(organization) == []
    assert LeadRetention.objects.of(organization).get().next_run_at > timezone.now() + DAY / 2


@pytest.mark.parametrize("reason", ["switched off", "has a call now"])
def test_a_large_lead_is_erased_alone_and_only_if_the_reason_is_still_there(
    reason: str, organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker erases it, in a later turn; others are looked at after it."""
    monkeypatch.setattr("leads.privacy.erasing.SMALL", 0)
    leads = [old_lead(api, f"{name}@leads.example", days) for name, days in (("ada", 402), ("bob", 401))]
    set_retention(organization=organization, days=365)
    LeadRetention.objects.of(organization).update(next_run_at=timezone.now() - DAY / 24)
    turn = begin_turn()
    assert turn
    run_retention(turn)
    turn.end()
    requested = list(Erasure.objects.of(organization).values_list("lead_id", flat=True))

    if reason == "switched off":
        set_retention(organization=organization, days=None)
    else:
        api.book(lead_email="ada@leads.example")
    for _ in range(5):
        run_turn()

    assert requested == [leads[0].pk]
    assert erased(organization) == ([] if reason == "switched off" else [str(leads[1].pk)])
    assert not Erasure.objects.of(organization).filter(finished_at=None).exists()


def test_a_persons_request_for_a_lead_that_waits_for_retention_is_never_withdrawn(
    organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leads.privacy.erasing.SMALL", 0)
    lead = old_lead(api, "ada@leads.example")
    set_retention(organization=organization, days=365)
    LeadRetention.objects.of(organization).update(next_run_at=timezone.now() - DAY / 24)
    turn = begin_turn()
    assert turn
    run_retention(turn)
    turn.end()

    request_erasure(organization=organization, actor=owner_actor(organization), lead_id=lead.pk)
    set_retention(organization=organization, days=None)
    run_turn()

    assert erased(organization) == [str(lead.pk)]


@pytest.mark.parametrize("small", [100, 0])
def test_files_that_wait_are_read_before_leads_are_erased(
    small: int, organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before a worker erases a large lead. An erasure that a person requests cancels them."""
    monkeypatch.setattr("leads.privacy.erasing.SMALL", small)
    gone, bob = old_lead(api, "ada@leads.example"), old_lead(api, "bob@leads.example", days=1)
    set_retention(organization=organization, days=365)
    columns: dict[str, Any] = {"organization": organization, "actor": SYSTEM, "kind": "LEADS", "time_zone": "UTC"}
    content = csv_file(["email"], ["new@leads.example"], ["ada@leads.example"])
    file_import = add_import(**columns, file_name="a.csv", content=content)
    LeadRetention.objects.of(organization).update(next_run_at=timezone.now() - DAY / 24)

    turn = begin_turn()
    assert turn
    run_retention(turn)  # as if the file had come during the turn
    turn.end()
    assert erased(organization) == []
    a_day_later(organization)
    Erasure.objects.of(organization).update(updated_at=timezone.now() - DAY)
    run_turn()

    file_import.refresh_from_db()
    assert (file_import.state, file_import.total, file_import.rows.count()) == ("MAPPING", 2, 1)
    assert erased(organization) == [str(gone.pk)]
    unread = add_import(**columns, file_name="b.csv", content=content)
    request_erasure(organization=organization, actor=owner_actor(organization), lead_id=bob.pk)
    Erasure.objects.of(organization).filter(finished_at=None).update(updated_at=timezone.now() - DAY)
    run_turn()
    unread.refresh_from_db()
    assert unread.state == "CANCELED"


def test_organizations_take_turns_and_a_run_reads_old_leads_only(
    organization: Organization, other_organization: Organization, api: ApiClient, other_api: ApiClient
) -> None:
    ours, theirs = old_lead(api, "ada@leads.example"), old_lead(other_api, "bob@leads.example")
    for number in range(20):
        api.submit(email=f"new{number}@leads.example")
    for each in (organization, other_organization):
        set_retention(organization=each, days=365)

    a_day_later(organization, other_organization)
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off; SET enable_sort = off")
        rows = retention.unchanged_leads(organization, timezone.now() - 365 * DAY)
        plan = rows.explain()
        cursor.execute("RESET enable_seqscan; RESET enable_sort")

    assert (erased(organization), erased(other_organization)) == ([str(ours.pk)], [str(theirs.pk)])
    assert "lead_updated_covering" in plan
    assert "Sort" not in plan
