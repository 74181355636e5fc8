"""Undoing a merge (docs/interface.md, L24)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from foundation.api.exceptions import Conflict
from foundation.db.timestamps import now
from leads.merging import prune_snapshots, reason_against_undoing
from leads.models import Lead, LeadMerge
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_custom_field, set_columns, snapshot_of
from tests.merging.leads import book, make_lead, merge, undo
from tests.merging.test_merging import bodies


def without_version(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "updated_at"}


def test_both_leads_are_as_before_with_what_they_had(api: ApiClient, organization: Organization) -> None:
    field = make_custom_field(organization, "LEAD", "size")
    keep = make_lead(api, "ada@example.com")
    other = make_lead(api, "ada@work.example", last_name="L", phone_e164="+14155552671", phone_country="US")
    set_columns(Lead, organization, str(other), custom_values={str(field.pk): "L"})
    appointments = [book(api, "ada@example.com", "ref-1"), book(api, "ada@work.example", "ref-2")]
    paths = [f"/api/external/leads/{keep}", f"/api/external/leads/{other}"]
    paths += [f"/api/external/appointments/{id}" for id in appointments]
    before = [api.get_data(path) for path in paths]
    names = ("email", "first_name", "last_name", "phone", "status", "last_source", str(field.pk))
    api.patch(f"/api/external/leads/{other}/status", {"status_id": api.get_status("LOST")["id"]})
    before[1] = api.get_data(paths[1])
    Lead.objects.of(organization).update(status_since=datetime(2026, 10, 1, tzinfo=UTC))
    merge(organization, keep, other, *names)
    assert api.get_data(paths[0])["status"]["role"] == "LOST"

    undo(organization, other)

    after = [api.get_data(path) for path in paths]
    assert list(map(without_version, after)) == list(map(without_version, before))
    moved = [row["updated_at"] > old["updated_at"] for row, old in zip(after, before, strict=True)]
    assert moved == [True, True, False, True]
    assert len(api.get_data("/api/external/opt-ins", {"lead_id": str(other)})) == 1
    assert make_lead(api, "ada@work.example") == other
    assert not LeadMerge.objects.of(organization).exists()
    since = set(Lead.objects.of(organization).values_list("status_since", flat=True))
    assert since == {datetime(2026, 10, 1, tzinfo=UTC)}


def test_the_events_of_an_undo_say_what_is_where(api: ApiClient, organization: Organization) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
    appointment_id = book(api, "ada@work.example", "ref-1")
    merge(organization, keep, other, "email")

    undo(organization, other)

    assert bodies(organization, "lead.created")[-1]["data"] == api.get_lead(str(other))
    changed = bodies(organization, "lead.updated")[-1]
    assert changed["data"] == api.get_lead(str(keep))
    assert (changed["previous"]["previous_ids"], changed["previous"]["email"]) == ([str(other)], "ada@work.example")
    moved = bodies(organization, "appointment.updated")[-1]
    assert (moved["data"]["id"], moved["data"]["lead"]["id"]) == (appointment_id, str(other))
    assert moved["previous"]["lead"]["id"] == str(keep)


def test_the_history_of_one_lead_keeps_no_values_of_the_other(api: ApiClient, organization: Organization) -> None:
    keep = make_lead(api, "ada@kept.example", last_name="Keptname")
    other = make_lead(api, "ada@other.example", last_name="Othername", phone_e164="+14155552671", phone_country="US")
    book(api, "ada@kept.example", "ref-1")
    book(api, "ada@other.example", "ref-2")

    def changes() -> list[str]:
        return [row[1] for row in snapshot_of(organization) if row[0] in ("LeadChange", "AppointmentChange")]

    before = changes()
    merge(organization, keep, other, "email", "last_name", "phone")
    assert "Othername" in str(changes())

    undo(organization, other)

    assert len(changes()) == len(before) + 2  # which say only that the leads were merged and separated
    assert not [text for text in ("kept", "other", "4155552671") if text in str(changes()).lower()]


def test_a_chain_is_undone_from_its_end(api: ApiClient, organization: Organization) -> None:
    ids = [make_lead(api, f"ada{number}@example.com") for number in range(3)]
    merge(organization, ids[1], ids[0])
    merge(organization, ids[2], ids[1])

    with pytest.raises(Conflict, match="Undo that first"):
        undo(organization, ids[0])
    undo(organization, ids[1])
    assert api.get_lead(str(ids[0]))["id"] == str(ids[1])
    undo(organization, ids[0])

    assert [api.get_lead(str(id))["id"] for id in ids] == [str(id) for id in ids]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda api, lead: api.submit(email="ada@work.example", source="WEBINAR"),
            "It has changed since: lead updated, by Tests, ",
        ),
        (lambda api, lead: api.submit(email="ada@example.com"), "This was added since: opt-in, "),
        (
            lambda api, lead: api.patch(
                f"/api/external/leads/{lead}/status", {"status_id": api.get_status("WON")["id"]}
            ),
            "It has changed since: lead status changed, by Tests, ",
        ),
    ],
)
def test_after_a_change_it_is_refused_and_says_what_has_changed_and_by_whom(
    change: Any, reason: str, api: ApiClient, organization: Organization
) -> None:
    with time_machine.travel(now() - timedelta(minutes=1)):
        keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
        book(api, "ada@work.example", "ref-1")
        merge(organization, keep, other)
    change(api, keep)

    with pytest.raises(Conflict) as refused:
        undo(organization, other)

    assert str(refused.value).startswith(reason)


def test_only_the_last_merges_of_a_lead_can_be_undone(
    api: ApiClient, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each keeps the values of both leads, which pages and erasing read."""
    monkeypatch.setattr("leads.merging.MAX_UNDOABLE", 2)
    keep, *others = (make_lead(api, f"ada{number}@example.com") for number in range(4))
    for other in others:
        merge(organization, keep, other)

    undo(organization, others[2])
    with pytest.raises(Conflict, match="can be undone"):
        undo(organization, others[0])

    assert LeadMerge.objects.of(organization).filter(snapshot__isnull=True).count() == 1


def test_after_30_days_the_stored_values_are_deleted(api: ApiClient, organization: Organization) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
    merge(organization, keep, other)
    row = LeadMerge.objects.of(organization).get()

    with time_machine.travel(now() + timedelta(days=29)):
        assert prune_snapshots(organization=organization) == 0
        assert reason_against_undoing(row) is None
    with time_machine.travel(now() + timedelta(days=31)):
        assert "30 days" in str(reason_against_undoing(row))
        assert prune_snapshots(organization=organization) == 1
        with pytest.raises(Conflict, match="30 days"):
            undo(organization, other)

    assert api.get_lead(str(other))["id"] == str(keep)
