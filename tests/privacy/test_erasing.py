"""Erasing a lead: no table keeps its personal data, and what is counted stays."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from html import unescape
from importlib import import_module
from io import BytesIO
from typing import IO, Any
from uuid import UUID

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.db.models import Model
from django.http import QueryDict
from django.test import Client
from psycopg import sql
from uuid_utils.compat import uuid7

from appointments.models import Appointment, CallAnalysis, DeletedNote, Note
from appointments.services.changes import cancel_appointment, create_note
from foundation.api.emails import IS_ERASED
from foundation.api.exceptions import Conflict, ResourceNotFound
from foundation.db.encryption import EncryptedField
from foundation.db.timestamps import now
from foundation.outbox import State, run_group
from leads.imports.models import ImportUndo
from leads.imports.services import add_import
from leads.imports.worker import run_turn
from leads.merging import merge_leads
from leads.models import CustomField, DeletedLeadNote, Lead, LeadMerge, LeadNote, PossibleDuplicate
from leads.privacy import erasing
from leads.privacy.erasing import request_erasure
from leads.privacy.export import export_lead
from leads.privacy.rules import load_rules, relations_to
from leads.services import add_note
from notifications.models import Notification
from notifications.queues import EMAILS
from optins.models import OptIn
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization, SavedView, SecurityEvent
from tests.client import ApiClient, sync_payload, synced_opt_in_payload
from tests.factories import make_api, make_custom_field, make_member, owner_of, snapshot_of
from tests.imports.files import Page, expire_turns
from tests.jobs import send_notifications
from tests.merging.leads import merge, undo
from tests.merging.test_duplicates import form_of
from tests.mirror.copies import FeedCopy, ListCopy
from tests.receiver import Receiver
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client
from webhooks.models import Attempt, Delivery, Event
from webhooks.queue import DELIVERIES
from webhooks.services import add_endpoint

# Each text of the person contains this word, or is the phone's number.
WORD, PHONE = "qxzword", "2025550143"
EMAIL = f"ada.{WORD}@leads.example"
TABLES = """
    SELECT table_name FROM information_schema.tables
    WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'
"""
BINARY_COLUMNS = """
    SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND data_type = 'bytea'
"""


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """The server at the URL of the organization's endpoint."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


@pytest.fixture
def lead(api: ApiClient, organization: Organization, host: Membership, owner: Client, receiver: Receiver) -> Lead:
    """A lead of whom every table has personal data that can be sent in from outside."""
    endpoint, _ = add_endpoint(organization=organization, url=receiver.url)
    fields = [make_custom_field(organization, entity, "about") for entity in ("LEAD", "APPOINTMENT")]
    traffic = dict.fromkeys(
        ("utm_medium", "utm_campaign", "utm_content", "utm_term", "referrer"), f"https://{WORD}.example/"
    )
    api.submit(
        email=EMAIL.upper(),
        first_name=f"Ada {WORD}",
        last_name=WORD.capitalize(),
        phone_e164=f"+1{PHONE}",
        phone_country="US",
        external_reference=f"{WORD}-form",
        traffic={**traffic, "landing_page": f"https://{WORD}.example/"},
        questions_answers=[{"question": f"Is {WORD} right?", "answer": f"Yes, {WORD}"}],
    )
    booked = api.book(
        external_reference=f"{WORD}-1",
        lead_email=EMAIL,
        host_email=host.user.email,
        meeting_url=f"https://meet.example/{WORD}",
        notes=f"Call {WORD} at {PHONE}",
    )
    api.reschedule(
        external_reference=f"{WORD}-1",
        schedule_time="2027-01-06T10:00:00Z",
        new_external_reference=f"{WORD}-moved",
        reason=f"{WORD} is ill",
    )
    appointment = Appointment.objects.of(organization).get(pk=booked.json()["data"]["id"])
    lead = appointment.lead
    url = admin_url(Lead, "change", lead.pk)
    owner.post(url, form_data(owner, url, first_name=f"Augusta {WORD}", **{f"custom_{fields[0].pk.hex}": WORD}))
    url = admin_url(Appointment, "change", appointment.pk)
    links = {"recording_url": f"https://rec.example/{WORD}", f"custom_{fields[1].pk.hex}": WORD}
    owner.post(url, form_data(owner, url, **links))
    owner.post(admin_url(Appointment, "add_note", appointment.pk), {"note": f"{WORD} called @{host}"})
    texts = dict.fromkeys(("call_analysis_call_id", "ai_generated_title", "ai_suggested_outcome", "ai_rationale"), WORD)
    url = admin_url(CallAnalysis, "add")
    owner.post(url, form_data(owner, url, appointment=appointment.pk, ai_confidence_score="0.5", **texts))
    owner.post(admin_url(Lead, "add_note", lead.pk), {"note": f"{WORD} again @{host}"})
    for note_model, subject in ((LeadNote, lead), (Note, appointment)):
        owner.post(admin_url(type(subject), "add_note", subject.pk), {"note": f"{WORD} by mistake"})
        note = note_model.objects.of(organization).get(note__contains="by mistake")
        owner.post(admin_url(note_model, "delete", note.pk), {"post": "yes"})
        assert not note_model.objects.of(organization).filter(pk=note.pk).exists()
    owner.post(admin_url(Lead, "set_next_step", lead.pk), {"at": "2027-03-01T10:00", "type": "CALL", "note": WORD})
    cells = f"E-mail,Last name,Phone\n{EMAIL},{WORD},+1{PHONE}\n".encode()
    read, _unread = (
        add_import(
            organization=organization, actor=SYSTEM, kind="LEADS", file_name="a.csv", content=cells, time_zone="UTC"
        )
        for _ in range(2)
    )
    run_turn()
    # What undoing an import of the lead needs.
    undo = {"subject_type": "leads.lead", "subject_id": lead.pk, "columns": {"last_name": [WORD, ""]}}
    ImportUndo.objects.create(organization=organization, file_import=read, position=2, **undo)
    merged = api.submit(email=f"{WORD}@work.example", first_name=WORD).json()["data"]["lead_id"]
    merge_leads(organization=organization, actor=SYSTEM, keep=lead.pk, merge=UUID(merged))
    PossibleDuplicate.objects.create(organization=organization, first=lead, second=lead, reasons=1)
    parts = (f"q={WORD[:3].upper()}", f"status=x&q=some+{WORD[:5]}", f"q=ada.{WORD[:2]}", f"q={PHONE[3:]}")
    others = ("q=zoltan", "q=%40leads.example", f"q={WORD[:2]}", "q=0143")
    for query in (f"q={EMAIL}", f"q={WORD.upper()}", f"q=%2B1+{PHONE}", *parts, *others):
        owner.post(f"{admin_url(Lead, 'changelist')}views/save/", {"name": query[2:], "query": query})
    run_group(DELIVERIES, endpoint.pk)
    Attempt.objects.of(organization).update(response=f"Hello {WORD}")  # as a receiver may answer
    send_notifications(organization.pk)
    api.book(external_reference=f"{WORD}-2", lead_email=EMAIL, schedule_time="2027-02-01T10:00:00Z")
    api.cancel(external_reference=f"{WORD}-2", notes=f"{WORD} is ill")
    return Lead.objects.of(organization).get(pk=lead.pk)


def tables_with(*words: str) -> dict[str, int]:
    """Return the tables of which a column of a row contains one of the words, and the number of such rows."""
    found: dict[str, int] = {}
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        for (table,) in cursor.fetchall():
            query = "SELECT count(*) FROM {table} AS row WHERE to_jsonb(row)::text ILIKE ANY (%s)"
            cursor.execute(sql.SQL(query).format(table=sql.Identifier(table)), [[f"%{word}%" for word in words]])
            if count := cursor.fetchone()[0]:
                found[table] = count
        cursor.execute(BINARY_COLUMNS)
        for table, column in cursor.fetchall():
            query = "SELECT count(*) FROM {table} WHERE encode({column}, 'escape') ILIKE ANY (%s)"
            names = {"table": sql.Identifier(table), "column": sql.Identifier(column)}
            cursor.execute(sql.SQL(query).format(**names), [[f"%{word}%" for word in words]])
            if count := cursor.fetchone()[0]:
                found[f"{table}.{column}"] = count
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, EncryptedField):
                values = model._base_manager.values_list(field.name, flat=True)
                if any(word in (value or "").lower() for value in values for word in words):
                    found[f"{model._meta.db_table}.{field.name}"] = 1
    return found


def erase(lead: Lead) -> None:
    request_erasure(organization=lead.organization, actor=SYSTEM, lead_id=lead.pk)


def test_after_erasing_no_column_of_any_table_has_the_persons_data(
    lead: Lead, owner: Client, organization: Organization
) -> None:
    before = tables_with(WORD, PHONE)

    response = owner.post(admin_url(Lead, "erase", lead.pk), {"email": EMAIL})

    assert response.status_code == 302
    assert tables_with(WORD, PHONE) == {}
    # All of these had some: the test has filled them.
    rules = {model._meta.db_table for model, rule in load_rules().items() if rule.is_deleted or rule.values}
    # Ids and numbers only.
    rules -= {model._meta.db_table for model in (PossibleDuplicate, DeletedLeadNote, DeletedNote)}
    others = {
        "leads_importrow",
        "leads_importundo",
        "leads_import.file",
        "organizations_savedview",
        "webhooks_event",
        "webhooks_attempt",
        "notifications_notification",
        "django_admin_log",
    }
    assert rules | others <= set(before), (rules | others) - set(before)


@pytest.mark.parametrize("is_kept", [True, False])
def test_events_of_a_merge_that_was_undone_keep_nothing_of_the_erased_lead(
    api: ApiClient, owner: Client, organization: Organization, host: Membership, is_kept: bool
) -> None:
    people = {"keep": ("zoe@zulu.example", "Zoe"), "other": (EMAIL, f"Ada{WORD}")}
    if is_kept:
        people = {"keep": people["other"], "other": people["keep"]}
    for email, name in people.values():
        fields = {"lead_first_name": name, "host_email": host.user.email, "external_reference": name}
        api.book(lead_email=email, **fields)
    ids = {name: Lead.objects.of(organization).get(email=email).pk for name, (email, _) in people.items()}
    url = f"{admin_url(Lead, 'merge', ids['keep'])}?with={ids['other']}"
    values = {name: str(ids["other"]) for name in ("email", "first_name")}
    owner.post(url, form_of(owner, url) | {"merge": "1", "keep": str(ids["keep"])} | ({} if is_kept else values))
    # The kept lead's own appointment, which the undo leaves as it is.
    api.reschedule(external_reference=people["keep"][1], schedule_time="2031-05-05T10:00:00Z")
    row = LeadMerge.objects.of(organization).get()
    owner.post(admin_url(Lead, "duplicates", ids["keep"]), {"merge": str(row.pk)})
    erased, stays = (ids["keep"], ids["other"]) if is_kept else (ids["other"], ids["keep"])
    assert tables_with(WORD)["webhooks_event"] > 4

    request_erasure(organization=organization, actor=SYSTEM, lead_id=erased)

    assert tables_with(WORD) == {}
    assert api.get_lead(str(stays))["first_name"] == "Zoe"
    assert Event.objects.of(organization).filter(subject_id=stays, type="lead.created").exists()


@pytest.mark.parametrize("erased", ["a", "b", "c"])
def test_events_of_a_chain_of_merges_that_were_undone_keep_nothing_either(
    api: ApiClient, organization: Organization, erased: str
) -> None:
    for name in "abc":
        fields = {"lead_first_name": f"{name}{WORD}", "external_reference": name}
        api.book(lead_email=f"{name}@{WORD}.example", **fields)
    ids = {name: Lead.objects.of(organization).get(email__startswith=name).pk for name in "abc"}
    values = ("email", "first_name")
    merge(organization, ids["a"], ids["b"], *values)
    merge(organization, ids["c"], ids["a"], *values)
    undo(organization, ids["a"])
    undo(organization, ids["b"])
    for name, id in ids.items():
        export_lead(Lead.objects.of(organization).get(pk=id), file := BytesIO())
        assert {other for other in "abc" if f"{other}{WORD}".encode() in file.getvalue()} == {name}

    request_erasure(organization=organization, actor=SYSTEM, lead_id=ids[erased])

    assert tables_with(f"{erased}{WORD}", f"{erased}@{WORD}") == {}
    others = {name: id for name, id in ids.items() if name != erased}
    assert {name: api.get_lead(str(id))["first_name"] for name, id in others.items()} == {
        name: f"{name}{WORD}" for name in others
    }


def test_views_that_look_for_others_stay(lead: Lead, organization: Organization) -> None:
    assert SavedView.objects.of(organization).count() == 11
    erase(lead)

    stay = set(SavedView.objects.of(organization).values_list("name", flat=True))
    assert stay == {"zoltan", "%40leads.example", WORD[:2], "0143"}


def test_every_table_that_refers_to_a_lead_has_a_rule() -> None:
    rules, seen, waiting = load_rules(), set(), [Lead]
    while waiting:
        model: Any = waiting.pop()
        seen.add(model)
        waiting += [relation.related_model for relation in relations_to(model) if relation.related_model not in seen]

    assert seen == set(rules)


def own_columns(model: type[Model]) -> set[str]:
    """Return the names of the columns that hold values of their own: no keys, times or generated values."""
    return {
        field.name
        for field in model._meta.concrete_fields
        if not (field.primary_key or field.is_relation or field.generated)
        and field.get_internal_type() != "DateTimeField"
    }


def test_each_column_of_rows_that_stay_is_emptied_or_harmless() -> None:
    forgotten = {
        model.__name__: own_columns(model) - set(rule.values) - rule.harmless
        for model, rule in load_rules().items()
        if not rule.is_deleted
    }

    assert {name: columns for name, columns in forgotten.items() if columns} == {}


def test_numbers_stay_as_they_were(lead: Lead, owner: Client, organization: Organization) -> None:
    def numbers() -> tuple[list[str], list[int]]:
        page = owner.get("/admin/").content.decode()
        counts = [model.objects.of(organization).count() for model in (Lead, Appointment, OptIn)]
        return re.findall(r'data-rows="(\d+)"', page), counts

    before = numbers()
    erase(lead)

    assert numbers() == before


def test_the_lead_stays_without_its_data_and_its_email_is_free(lead: Lead, api: ApiClient) -> None:
    erase(lead)

    shown = api.get_lead(str(lead.pk))
    assert shown["email"] == f"erased-{lead.pk}@erased.invalid"
    assert (shown["first_name"], shown["last_name"], shown["phone_e164"]) == ("", "", None)
    assert shown["updated_at"] > lead.updated_at.isoformat()
    assert api.submit(email=EMAIL).json()["data"]["is_new_lead"]


def test_nothing_about_the_person_can_be_added_again(
    lead: Lead, owner: Client, api: ApiClient, organization: Organization
) -> None:
    appointment = Appointment.objects.of(organization).filter(lead=lead).first()
    assert appointment
    add_analysis = admin_url(CallAnalysis, "add")
    analysis = form_data(owner, add_analysis) | {"appointment": str(appointment.pk), "summary": WORD}
    erase(lead)
    again = UUID(api.submit(email=EMAIL).json()["data"]["lead_id"])
    erased = Lead.objects.of(organization).get(pk=lead.pk)

    analyzed = owner.post(add_analysis, analysis)
    submitted = api.submit(email=erased.email, first_name=WORD)
    # What was allowed when their page looked, before the lead was erased.
    by: dict[str, Any] = {"organization": organization, "actor": SYSTEM}
    with pytest.raises(Conflict, match="The lead was erased"):
        add_note(**by, text=WORD, lead=lead, id=uuid7())
    with pytest.raises(Conflict, match="The lead was erased"):
        create_note(**by, text=WORD, appointment=appointment, id=uuid7())
    with pytest.raises(Conflict, match="The lead was erased"):
        cancel_appointment(**by, appointment=appointment, notes=WORD)
    with pytest.raises(Conflict, match="An erased lead can't be merged"):
        merge(organization, again, lead.pk)

    assert (analyzed.status_code, submitted.status_code) == (200, 400)
    assert submitted.json()["errors"] == {"email": [f"email {IS_ERASED}"]}
    written = {"appointments_note", "appointments_callanalysis", "leads_leadnote", "optins_questionanswer"}
    assert not written & tables_with(WORD).keys()
    assert str(lead.pk) not in owner.get(f"{admin_url(Lead, 'duplicates', again)}?find=erased").content.decode()


@pytest.mark.parametrize("is_small", [True, False])
def test_a_scheduler_that_reports_an_erased_persons_call_once_more_brings_nothing_back(
    is_small: bool, organization: Organization, other_api: ApiClient, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "SMALL", 100 if is_small else 0)
    calls, forms = "/api/external/sync/SCHEDULER_A/appointments", "/api/external/sync/FORMBUILDER_A/opt-ins"
    call = sync_payload(questions_answers=[{"question": "Why?", "answer": "Growth", "position": 1}])
    moved = call | {"changed_at": "2026-12-02T10:00:00Z", "previous_reference": "b-1"}
    form = synced_opt_in_payload(email=call["lead"]["email"])
    id = api.put(f"{calls}/b-1", call).json()["data"]["id"]
    api.put(f"{calls}/b-2", moved)
    opt_in = api.put(f"{forms}/f-1", form).json()["data"]
    erased = Lead.objects.of(organization).get()
    request_erasure(organization=organization, actor=SYSTEM, lead_id=erased.pk)
    expire_turns()
    run_turn()
    before = snapshot_of(organization)

    late = [
        api.put(f"{calls}/b-1", call),
        api.put(f"{calls}/b-2", moved | {"changed_at": "2026-12-03T10:00:00Z", "state": "NO_SHOW"}),
    ]
    again = api.put(f"{forms}/f-1", form | {"changed_at": "2027-12-01T10:00:00Z"})
    after = snapshot_of(organization)
    moved_before = moved | {"changed_at": "2026-11-02T10:00:00Z", "previous_reference": "b-2"}
    late += [api.put(f"{calls}/b-4", moved_before), api.put(f"{calls}/b-4", moved_before | {"state": "CANCELED"})]
    others = [other_api.put(f"{calls}/b-1", call), other_api.put(f"{forms}/f-1", form)]
    new = api.put(f"{calls}/b-3", moved | {"previous_reference": "b-2"})

    assert [(response.status_code, response.json()["data"]) for response in late] == [
        (200, {"id": id, "applied": False})
    ] * 4
    assert (again.status_code, again.json()["data"]) == (200, opt_in | {"applied": False})
    assert after == before
    assert [response.status_code for response in [*others, new]] == [201] * 3
    assert Lead.objects.of(organization).exclude(pk=erased.pk).get().email == call["lead"]["email"]


def test_nobody_can_take_the_address_that_a_lead_gets_when_it_is_erased(
    lead: Lead, owner: Client, api: ApiClient, organization: Organization
) -> None:
    address = f"erased-{lead.pk}@erased.invalid"
    for spelling in (address, address.upper(), address.replace("@e", "@\uff45")):
        for refused in (api.submit(email=spelling), api.post("/api/external/leads", {"email": spelling})):
            assert refused.status_code == 400
            assert refused.json()["errors"] == {"email": [f"email {IS_ERASED}"]}
        assert api.book(lead_email=spelling).status_code == 400
        for url in (admin_url(Lead, "add"), admin_url(Lead, "change", lead.pk)):
            assert "address of an erased lead" in str(
                form_errors(owner.post(url, form_data(owner, url, email=spelling)))
            )
    # As an earlier version stored it.
    other = api.submit(email="other@leads.example").json()["data"]["lead_id"]
    Lead.objects.of(organization).filter(pk=other).update(email=address)
    with connection.cursor() as cursor:
        cursor.execute(import_module("leads.migrations.0044_erased_addresses").RENAME)

    erase(lead)

    emails = dict(Lead.objects.of(organization).values_list("pk", "email"))
    assert (emails[lead.pk], emails[UUID(other)]) == (address, f"lead-{other}@example.invalid")


def test_its_events_become_lead_erased_and_nothing_of_them_is_sent_any_more(
    lead: Lead, organization: Organization, receiver: Receiver
) -> None:
    count = Event.objects.of(organization).filter(type__startswith="appointment.").count()
    sent = len(receiver.requests)
    erase(lead)

    [endpoint_id] = Delivery.objects.of(organization).values_list("endpoint", flat=True).distinct().order_by()
    run_group(DELIVERIES, endpoint_id)

    [request] = receiver.requests[sent:]
    body = json.loads(request.body)
    assert (body["type"], body["data"]) == ("lead.erased", {"id": str(lead.pk)})
    erased = Event.objects.of(organization).filter(type="lead.erased", subject_id=lead.pk)
    assert erased.count() > count > 0
    assert {json.loads(event.body)["data"]["id"] for event in erased} == {str(lead.pk)}
    assert set(Attempt.objects.of(organization).values_list("response", flat=True)) == {""}
    assert not Notification.objects.of(organization).filter(subject_id__isnull=False).exists()


def test_what_is_being_sent_leaves_no_trace(lead: Lead, organization: Organization) -> None:
    [endpoint_id] = Delivery.objects.of(organization).values_list("endpoint", flat=True).distinct().order_by()
    batches = [(DELIVERIES, DELIVERIES.claim(endpoint_id)), (EMAILS, EMAILS.claim(organization.pk))]
    erase(lead)

    for queue, batch in batches:
        assert batch
        assert batch.jobs
        for job in batch.jobs:
            result = {"id": job.pk, "token": batch.token, "state": "DONE", "error": "", "delay": None}
            shown = {"attempt_id": job.pk, "organization_id": organization.pk, "duration_ms": 1, "status_code": 200}
            shown |= {"request_head": "POST /", "response": f"Hello {WORD}", "endpoint_id": endpoint_id}
            assert queue.save_results([result | shown], wait=True) == set()

    states = Delivery.objects.of(organization).filter(event__type="lead.erased").values_list("state", flat=True)
    assert set(states) == {State.DONE, State.CANCELED, State.PENDING}
    assert tables_with(WORD, PHONE) == {}


def test_the_security_log_has_a_record_without_personal_data(
    lead: Lead, owner: Client, organization: Organization
) -> None:
    owner.post(admin_url(Lead, "erase", lead.pk), {"email": EMAIL})

    entry = SecurityEvent.objects.get(kind="lead_erased")
    assert (entry.organization, entry.actor) == (organization, owner_of(organization).user)
    assert str(lead.pk) in entry.details
    assert "2 appointments" in entry.details
    history = LogEntry.objects.filter(object_id=str(lead.pk)).values_list("object_repr", flat=True)
    assert list(history) == [f"erased-{lead.pk}@erased.invalid"]


def test_only_the_leads_email_confirms(lead: Lead, owner: Client, organization: Organization) -> None:
    before = snapshot_of(organization)
    url = admin_url(Lead, "erase", lead.pk)

    page = owner.get(url).content.decode()
    responses = [owner.post(url, {"email": email}) for email in ("", "zoltan@leads.example")]

    assert "2 appointments" in page
    assert EMAIL.upper() in page
    assert [form_errors(response) for response in responses] == [
        ["This field is required."],
        ["This is not the lead's e-mail."],
    ]
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("act", ["merge", "book", "note"])
def test_what_has_happened_to_the_lead_since_the_form_was_opened_is_shown_before_it_is_erased(
    owner: Client, organization: Organization, api: ApiClient, act: str
) -> None:
    """docs/guarantees.md, D30"""
    lead = UUID(api.submit(email=EMAIL).json()["data"]["lead_id"])
    other = UUID(api.submit(email="bob@example.com").json()["data"]["lead_id"])
    api.book(lead_email="bob@example.com" if act == "merge" else EMAIL, external_reference="first")
    url = admin_url(Lead, "erase", lead)
    opened = {"email": EMAIL, "state": owner.get(url).context["state"]}
    if act == "merge":
        merge_leads(organization=organization, actor=SYSTEM, keep=lead, merge=other)
    elif act == "book":
        # A later call than the next one leaves the lead as it is.
        api.book(lead_email=EMAIL, external_reference="second", schedule_time="2031-03-03T09:00:00Z")
    else:
        api.post(f"/api/external/leads/{lead}/notes", {"note": "Called"})

    refused = owner.post(url, opened)
    kept = Lead.objects.of(organization).filter(email=EMAIL).exists()
    sent = {"email": EMAIL, "state": refused.context["state"]}
    erased, again = owner.post(url, sent), owner.post(url, sent)

    assert (refused.status_code, kept) == (200, True)
    assert "has changed this since you opened" in form_errors(refused)[0]
    assert (erased.status_code, again.status_code) == (302, 302)
    assert Lead.objects.of(organization).get(pk=lead).is_erased


@pytest.mark.parametrize("role", MemberRole.values)
def test_owners_and_managers_erase_and_sales_ops_exports_too(
    api: ApiClient, organization: Organization, role: str
) -> None:
    api.submit(email=EMAIL)
    lead = Lead.objects.of(organization).get()
    client = logged_in_client(make_member(organization, "someone@acme.example", role=role))

    response = client.post(admin_url(Lead, "export_json", lead.pk))
    response.getvalue()  # closes the file
    exported = response.status_code
    erased = client.post(admin_url(Lead, "erase", lead.pk), {"email": EMAIL}).status_code

    may_export, may_erase = role in ("OWNER", "MANAGER", "SALES_OPS"), role in ("OWNER", "MANAGER")
    assert (exported, erased) == (200 if may_export else 403, 302 if may_erase else 403)
    assert Lead.objects.of(organization).filter(email=EMAIL).exists() is not may_erase


def test_another_organizations_lead_is_unknown(
    lead: Lead, other_organization: Organization, organization: Organization
) -> None:
    before = snapshot_of(organization)

    with pytest.raises(ResourceNotFound):
        request_erasure(organization=other_organization, actor=SYSTEM, lead_id=lead.pk)

    assert snapshot_of(organization) == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_late", [True, False])
def test_copies_of_integrators_lose_the_lead_and_nothing_else(lead: Lead, api: ApiClient, is_late: bool) -> None:
    api.book(external_reference="other", lead_email="zoltan@leads.example")
    copies = [FeedCopy(api), ListCopy(api)]
    if not is_late:
        for copy in copies:
            copy.catch_up()

    erase(lead)
    api.cancel(external_reference="other", notes="Later")

    rows = api.get_data("/api/external/leads")
    expected = {row["id"] for row in rows if row["id"] != str(lead.pk)}
    for copy in copies:
        copy.catch_up()
        contents = copy.contents()
        assert set(contents["leads"]) == expected
        assert {row["lead"]["id"] for row in contents["appointments"].values()} == expected
        assert contents["opt-ins"] == {}


def test_other_leads_keep_everything(lead: Lead, organization: Organization) -> None:
    make_api(organization).book(external_reference="other", lead_email="zoltan@leads.example", notes="Zoltan's note")
    other = Lead.objects.of(organization).get(email="zoltan@leads.example")
    owned = [row for row in snapshot_of(organization) if "zoltan" in row[1].lower()]

    erase(lead)

    assert owned
    assert [row for row in snapshot_of(organization) if "zoltan" in row[1].lower()] == owned
    assert other.email == "zoltan@leads.example"


def test_only_rows_of_imports_that_mention_the_lead_go(organization: Organization, api: ApiClient) -> None:
    api.submit(email="al@x.example", first_name="Jo", last_name="Li", phone_e164=f"+1{PHONE}", phone_country="US")
    others = ["val@x.example,Joan,Lindt", "al@x.example.org,Jo,Lim", "x-al@x.example,John,Li", "a@b.example,-,-"]
    others += ["b@b.example,LI,Jo", ",jo.li,www.jo.li/x"]  # someone with the same name, and a domain
    theirs = ["Al <AL@X.example>,,", "mailto:al@x.example,,", ",LI,Jo", "c@b.example,Call (202) 555-0143,", ",Li; Jo,"]
    theirs.append('d@b.example,"Two lines:\nal@x.example.",')
    content = "\n".join(["E-mail,A,B", *others, *theirs]).encode()
    stored = add_import(
        organization=organization, actor=SYSTEM, kind="LEADS", file_name="a.csv", content=content, time_zone="UTC"
    )
    run_turn()

    erase(Lead.objects.of(organization).get())

    assert [",".join(row.cells) for row in stored.rows.order_by("number")] == others


@pytest.mark.parametrize(
    ("first", "last", "phone", "theirs", "others"),
    [
        # Written without spaces between the names.
        (
            "一郎",
            "鈴木",
            ("JP", "+81312345678"),
            ["鈴木一郎", "鈴木一郎様", "一郎・鈴木", "03-1234-5678"],
            ["鈴木花子", "鈴木"],
        ),
        # In one field, because the file had one column for it.
        (
            "Zoe Maria Quark",
            "",
            ("DE", "+4915112345678"),
            ["Zoe Maria Quark", "Maria Quark, Zoe"],
            ["Zoe", "Zoe Maria"],
        ),
        ("김지수", "", ("KR", "+82212345678"), ["김지수", "김지수님"], ["김지", "김지수진"]),
        (
            "Robert J.",
            "St. John",
            ("US", "+12025550143"),
            ["Robert J. St. John", "St. John, Robert J."],
            ["robert.j.st.john.example"],
        ),
        ("지수", "김", ("KR", "+82212345678"), ["김지수", "김지수 님", "김지수님"], ["김지수진"]),
        # With the first 0, a number of eight digits has nine.
        ("Lotte", "Claes", ("BE", "+3225551212"), ["02 555 12 12", "025551212", "+32 2 555 12 12"], ["03 555 12 12"]),
        ("Aoife", "Byrne", ("IE", "+35316771234"), ["(01) 677 1234", "00353 1 677 1234"], ["02 677 1234"]),
    ],
)
def test_rows_with_the_name_or_phone_as_their_country_writes_it_go(
    organization: Organization,
    api: ApiClient,
    first: str,
    last: str,
    phone: tuple[str, str],
    theirs: Sequence[str],
    others: Sequence[str],
) -> None:
    api.submit(email="al@x.example", first_name=first, last_name=last, phone_country=phone[0], phone_e164=phone[1])
    lead = Lead.objects.of(organization).get()
    content = "\n".join(["E-mail,Text", *(f",{text}" for text in [*theirs, *others])]).encode()
    name = f"{theirs[0].replace('/', ' ')}.csv"
    stored = add_import(
        organization=organization, actor=SYSTEM, kind="LEADS", file_name=name, content=content, time_zone="UTC"
    )
    run_turn()
    query = QueryDict(mutable=True)
    query["q"] = theirs[0]
    view = SavedView.unscoped.create(organization=organization, page="x", name="v", query=query.urlencode())

    erase(lead)

    assert [row.cells[1] for row in stored.rows.order_by("number")] == others
    assert not SavedView.objects.of(organization).filter(pk=view.pk).exists()
    stored.refresh_from_db()
    assert stored.file_name == "erased"


def test_the_first_row_of_a_file_without_a_header_is_emptied_if_it_names_the_lead(
    organization: Organization, api: ApiClient
) -> None:
    api.submit(email="al@x.example", first_name="Zoe", last_name="Quark")
    api.submit(email="bo@x.example", first_name="First", last_name="Time")
    content = b"ref-1,2027-01-05 10:00,Zoe,Quark,First call\nref-2,2027-01-06 10:00,Bo,Li,Call\n"
    stored = add_import(
        organization=organization,
        actor=SYSTEM,
        kind="APPOINTMENTS",
        file_name="a.csv",
        content=content,
        time_zone="UTC",
    )
    run_turn()

    erase(Lead.objects.of(organization).get(first_name="First"))
    stored.refresh_from_db()
    before = stored.header
    erase(Lead.objects.of(organization).get(first_name="Zoe"))

    stored.refresh_from_db()
    assert before == ["ref-1", "2027-01-05 10:00", "Zoe", "Quark", "First call"]
    assert stored.header == [""] * 5


def test_a_check_does_not_keep_the_names_of_a_lead_that_was_merged_then(
    organization: Organization, api: ApiClient, owner: Client
) -> None:
    keep, other = (
        UUID(api.submit(email=email, first_name=first, last_name=last).json()["data"]["lead_id"])
        for email, first, last in (("ada@x.example", "Ada", "Lim"), ("al@x.example", "Wumbelina", "Trask"))
    )
    merge(organization, keep, other, "first_name", "last_name")
    rows = ["E-mail,First name,Last name", "ada@x.example,Ada,Lim", "zoe@x.example,Wumbelina,Trask", "bo@x.example,Bo,"]
    page = Page(owner, organization, "\n".join(rows).encode())
    page.check()
    before = page.report()
    undo(organization, other)

    erase(Lead.objects.of(organization).get(pk=other))

    details = "First name: Wumbelina → Ada; Last name: Trask → Lim"
    assert before[0] == (2, "CHANGED", details)
    assert page.report() == [(2, "CHANGED", ""), *before[1:]]
    page.press("start")
    assert page.row.counts == {"NEW": 2, "UNCHANGED": 1}


def test_rows_that_name_the_lead_only_by_an_appointment_go(organization: Organization, api: ApiClient) -> None:
    booked = api.book(external_reference="cal-17", lead_email="al@x.example").json()["data"]["id"]
    other = api.book(external_reference="cal-18", lead_email="zoltan@leads.example").json()["data"]["id"]
    theirs = ["cal-17,,Their note", f",{booked.upper()},Their note"]
    others = ["cal-18,,17", f",{other},cal-17", "cal-170,,Note"]
    content = "\n".join(["Reference,Appointment ID,Note", *theirs, *others]).encode()
    stored = add_import(
        organization=organization,
        actor=SYSTEM,
        kind="APPOINTMENTS",
        file_name="a.csv",
        content=content,
        time_zone="UTC",
    )
    run_turn()

    erase(Lead.objects.of(organization).get(email="al@x.example"))

    assert [",".join(row.cells) for row in stored.rows.order_by("number")] == others


def test_the_page_leads_to_the_upcoming_appointments_which_are_not_canceled(lead: Lead, owner: Client) -> None:
    appointments = Appointment.objects.of(lead.organization).filter(lead=lead)
    appointments.update(schedule_time=now() + timedelta(days=1))
    url = admin_url(Lead, "erase", lead.pk)

    page = owner.get(url).content.decode()
    [(link, text)] = re.findall(r'href="([^"]+)">(\d+ upcoming appointments?)</a>', page)
    listed = owner.get(unescape(link)).context["cl"].result_list
    appointments.update(schedule_time=now() - timedelta(days=1))

    assert {row.pk for row in listed} == {row.pk for row in appointments.exclude(outcome__role="CANCELED")}
    assert text.split()[0] == str(len(listed))
    assert "upcoming appointment" not in owner.get(url).content.decode()


@pytest.mark.django_db(transaction=True)
def test_an_export_does_not_delay_the_event_feed(lead: Lead, owner: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    transaction_ids = []

    def export_and_look(lead: Lead, file: IO[bytes]) -> None:
        export_lead(lead, file)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_xact_id_if_assigned()::text")
            transaction_ids.append(cursor.fetchone()[0])

    monkeypatch.setattr("staff.leads.privacy.export_lead", export_and_look)

    response = owner.post(admin_url(Lead, "export_json", lead.pk))
    response.close()

    assert response.status_code == 200
    assert transaction_ids == [None]


def test_the_export_has_everything(lead: Lead, owner: Client, organization: Organization) -> None:
    response = owner.post(admin_url(Lead, "export_json", lead.pk))

    text = response.getvalue().decode()
    data = json.loads(text)
    assert response.headers["Content-Disposition"] == f'attachment; filename="lead-{lead.pk}.json"'
    assert data["leads"][0]["email"] == EMAIL.upper()
    assert data["leads"][0]["status"]
    tables = {str(model._meta.verbose_name_plural).replace(" ", "_") for model in load_rules()}
    assert tables <= set(data)
    assert {"events", "deliveries", "notifications"} <= set(data)
    # Every row of the organization that has the person's data is in the file, but what receivers answered, the
    # rows of uploaded files, and what members search for.
    left_out = ("Attempt", "ImportRow", "ImportUndo", "Import", "SavedView")
    texts = {row[1] for row in snapshot_of(organization) if WORD in row[1].lower() and row[0] not in left_out}
    ids = {json.loads(text)["id"] for text in texts}
    assert ids - set(re.findall(r"[0-9a-f-]{36}", text)) == set()
    assert CustomField.objects.of(organization).get(entity="LEAD").label in data["custom_fields"].values()
    assert SecurityEvent.objects.filter(kind="exported").exists()
