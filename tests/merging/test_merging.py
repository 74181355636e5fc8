"""Merging two leads: what moves, which values stay, the events, and the API (docs/interface.md, L21 to L23)."""

from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from appointments.models import Appointment
from foundation.api.exceptions import Conflict, ValidationFailed
from leads.merging import CHANGED_MEANWHILE, NOT_MOVED, merge_leads, relations
from leads.models import Lead, LeadMerge
from leads.services import add_lead, edit_lead
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_custom_field, owner_actor, set_columns, snapshot_of
from tests.merging.leads import book, make_lead, merge
from webhooks.models import Event


def bodies(organization: Organization, type: str) -> list[dict[str, Any]]:
    events = Event.objects.of(organization).filter(type=type).order_by("created_at", "id")
    return [orjson.loads(event.body) for event in events]


def test_every_relation_of_a_lead_is_moved_or_named_as_deleted() -> None:
    """A new foreign key to leads is moved without more code, if several rows may refer to one lead."""
    relations_of_leads = {
        relation.related_model: relation
        for relation in Lead._meta.get_fields(include_hidden=True)
        if relation.auto_created and relation.is_relation
    }

    assert relations_of_leads.keys() == {model for model, _ in relations()} | NOT_MOVED
    for model, field in relations():
        assert relations_of_leads[model].one_to_many, f"{model.__name__} has a row for each lead: decide what is kept"
        unique = [constraint for constraint in model._meta.total_unique_constraints if field in constraint.fields]
        assert not unique, f"{model.__name__} can't have two rows of the kept lead: decide what is kept"


def test_everything_of_the_merged_lead_moves_to_the_other_one(api: ApiClient, organization: Organization) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
    appointment_id = book(api, "ada@work.example", "ref-1")

    merge(organization, keep, other)

    assert api.get_appointment(appointment_id)["lead"]["id"] == str(keep)
    assert len(api.get_data("/api/external/opt-ins", {"lead_id": str(keep)})) == 2
    assert Lead.objects.of(organization).get(pk=keep).status_changes.count() == 3
    assert api.get("/api/external/leads").json()["pagination"]["total"] == 1


def test_the_kept_lead_has_its_values_but_those_that_are_taken(api: ApiClient, organization: Organization) -> None:
    field = make_custom_field(organization, "LEAD", "size")
    keep = make_lead(api, "ada@example.com", first_name="Ada", phone_e164="+14155552671", phone_country="US")
    other = make_lead(api, "ada@work.example", first_name="Adele", last_name="Lovelace", source="WEBINAR")
    set_columns(Lead, organization, str(other), custom_values={str(field.pk): "L"})

    merge(organization, keep, other, "email", "last_name", "last_source", str(field.pk))

    lead = api.get_lead(str(keep))
    assert (lead["email"], lead["first_name"], lead["last_name"]) == ("ada@work.example", "Ada", "Lovelace")
    assert (lead["phone_e164"], lead["custom_fields"][0]["value"]) == ("+14155552671", "L")
    assert (lead["first_source"]["name"], lead["last_source"]["name"]) == ("LANDING_PAGE", "WEBINAR")


def test_the_first_source_is_that_of_the_older_lead(api: ApiClient, organization: Organization) -> None:
    other = make_lead(api, "ada@work.example", source="WEBINAR")
    keep = make_lead(api, "ada@example.com")

    merge(organization, keep, other)

    assert api.get_lead(str(keep))["first_source"]["name"] == "WEBINAR"


def test_the_next_touch_point_is_the_earliest_appointment_of_both(api: ApiClient, organization: Organization) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
    book(api, "ada@example.com", "ref-1", schedule_time="2027-03-05T10:00:00Z")
    book(api, "ada@work.example", "ref-2", schedule_time="2027-02-05T10:00:00Z")

    merge(organization, keep, other)

    lead = api.get_lead(str(keep))
    assert (lead["next_touch_point_at"], lead["next_touch_point_type"]) == ("2027-02-05T10:00:00.000Z", "APPOINTMENT")


def test_a_merge_is_one_event_of_the_lead_and_one_of_each_moved_appointment(
    api: ApiClient, organization: Organization
) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
    appointment_ids = [book(api, "ada@work.example", f"ref-{number}") for number in range(3)]
    before = [api.get_appointment(id) for id in appointment_ids]
    events = Event.objects.of(organization).count()

    merge(organization, keep, other, "status")

    (merged,) = bodies(organization, "lead.merged")
    assert merged["data"] == api.get_lead(str(keep))
    assert merged["data"]["previous_ids"] == [str(other)]
    assert merged["previous"]["previous_ids"] == []
    assert merged["previous"]["status"]["role"] == "NEW_LEAD"
    updated = sorted(bodies(organization, "appointment.updated"), key=lambda body: str(body["data"]["id"]))
    assert [body["data"]["id"] for body in updated] == appointment_ids
    for old, body in zip(before, updated, strict=True):
        assert body["previous"] == {"lead": {**old["lead"]}}
        assert body["data"]["lead"]["id"] == str(keep)
        assert body["data"]["updated_at"] > old["updated_at"]
    assert Event.objects.of(organization).count() == events + 4


def test_a_lead_with_many_appointments_takes_as_many_statements_as_one_with_one(
    api: ApiClient, organization: Organization
) -> None:
    counts = []
    for number, appointments in enumerate([1, 500]):
        keep, other = make_lead(api, f"ada{number}@example.com"), make_lead(api, f"ada{number}@work.example")
        first = Appointment.objects.of(organization).get(pk=book(api, f"ada{number}@work.example", f"ref-{number}"))
        Appointment.unscoped.bulk_create(
            Appointment(
                organization=organization,
                lead_id=other,
                schedule_time=first.schedule_time,
                outcome_id=first.outcome_id,
                first_source_id=first.first_source_id,
                last_source_id=first.last_source_id,
            )
            for _ in range(appointments - 1)
        )
        with CaptureQueriesContext(connection) as captured:
            merge(organization, keep, other)
        counts.append(len(captured))
        assert Appointment.objects.of(organization).filter(lead=keep).count() == appointments

    assert counts[0] == counts[1]
    assert len(bodies(organization, "appointment.updated")) == 501


def test_the_old_id_leads_to_the_kept_lead(api: ApiClient, organization: Organization) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")

    merge(organization, keep, other)

    lead = api.get_lead(str(other))
    assert (lead["id"], lead["previous_ids"]) == (str(keep), [str(other)])
    won = api.get_status("WON")["id"]
    response = api.patch(f"/api/external/leads/{other}/status", {"status_id": won})
    assert (response.status_code, response.json()["data"]["id"]) == (200, str(keep))
    assert api.book(lead_id=str(other), lead_email=...).status_code == 201
    for path in ("/api/external/appointments", "/api/external/opt-ins"):
        assert api.get_data(path, {"lead_id": str(other)}) == api.get_data(path, {"lead_id": str(keep)}) != []


@pytest.mark.parametrize("email", ["ada@work.example", "ADA@Work.example"])
def test_the_old_email_leads_to_the_kept_lead(email: str, api: ApiClient, organization: Organization) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")

    merge(organization, keep, other)

    assert [lead["id"] for lead in api.get_data("/api/external/leads", {"email": email})] == [str(keep)]
    assert api.submit(email=email).json()["data"] | {"opt_in_id": ""} == {
        "opt_in_id": "",
        "lead_id": str(keep),
        "is_new_lead": False,
    }
    assert api.get_appointment(book(api, email, "ref-1"))["lead"]["id"] == str(keep)
    assert Lead.objects.of(organization).count() == 1


def test_if_the_kept_lead_takes_the_email_its_own_one_leads_to_it(api: ApiClient, organization: Organization) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")

    merge(organization, keep, other, "email")

    assert {make_lead(api, email) for email in ("ada@example.com", "ada@work.example")} == {keep}


def test_chains_lead_to_the_last_lead(api: ApiClient, organization: Organization) -> None:
    ids = [make_lead(api, f"ada{number}@example.com") for number in range(4)]

    merge(organization, ids[1], ids[0])
    merge(organization, ids[2], ids[1], "email")
    merge(organization, ids[3], ids[2], "email")

    assert api.get_lead(str(ids[3]))["previous_ids"] == [str(id) for id in ids[:3]]
    for number, id in enumerate(ids):
        assert api.get_lead(str(id))["id"] == str(ids[3])
        assert make_lead(api, f"ada{number}@example.com") == ids[3]


def test_an_email_that_belongs_to_a_merged_lead_can_belong_to_no_other(
    api: ApiClient, organization: Organization
) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
    third = Lead.objects.of(organization).get(pk=make_lead(api, "grace@example.com"))
    merge(organization, keep, other)
    actor = owner_actor(organization)

    with pytest.raises(ValidationFailed):
        edit_lead(organization=organization, actor=actor, lead=third, email="ada@work.example")
    with pytest.raises(ValidationFailed):
        add_lead(organization=organization, actor=actor, email="ada@work.example")

    lead = Lead.objects.of(organization).get(pk=keep)
    assert edit_lead(organization=organization, actor=actor, lead=lead, email="ada@work.example").pk == keep


def test_a_lead_that_has_changed_since_the_page_was_opened_is_not_merged(
    api: ApiClient, organization: Organization
) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
    versions = dict(Lead.objects.of(organization).values_list("pk", "updated_at"))
    api.patch(f"/api/external/leads/{other}/status", {"status_id": api.get_status("WON")["id"]})
    before = snapshot_of(organization)

    with pytest.raises(Conflict, match=CHANGED_MEANWHILE):
        merge_leads(
            organization=organization, actor=owner_actor(organization), keep=keep, merge=other, versions=versions
        )

    assert snapshot_of(organization) == before


def test_a_lead_is_merged_once_and_not_with_itself(api: ApiClient, organization: Organization) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
    merge(organization, keep, other)

    with pytest.raises(Conflict, match="no longer there"):
        merge(organization, keep, other)
    with pytest.raises(ValidationFailed):
        merge(organization, keep, keep)


def test_another_organization_sees_nothing_of_a_merge(
    api: ApiClient, other_api: ApiClient, organization: Organization, other_organization: Organization
) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
    theirs = make_lead(other_api, "grace@example.com")
    merge(organization, keep, other)

    assert other_api.get(f"/api/external/leads/{other}").status_code == 404
    assert other_api.get_data("/api/external/leads", {"email": "ada@work.example"}) == []
    assert other_api.book(lead_id=str(other), lead_email=...).status_code == 400
    assert make_lead(other_api, "ada@work.example") not in (keep, other, theirs)
    with pytest.raises(Conflict, match="no longer there"):
        merge(organization, keep, theirs)
    assert not LeadMerge.objects.of(other_organization).exists()
