"""Leads in the admin, and the configuration of an organization: statuses, event types and custom fields."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import urlencode

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.db import IntegrityError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from appointments.models import Appointment, AppointmentSource, EventType
from appointments.services import set_next_step
from appointments.tasks import refresh_touch_points
from foundation.db.timestamps import now
from leads.models import SOURCE_LABELS, CustomField, Lead, Source
from leads.services import edit_lead, get_or_create_source
from optins.models import OptInSource
from organizations.models import Membership, Organization
from statuses.models import Status
from tests.factories import (
    deactivate,
    events_of,
    make_api,
    make_custom_field,
    make_event_type,
    make_provider_appointment,
    make_status,
    owner_actor,
    owner_of,
    snapshot_of,
)
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, list_url, logged_in_client, shown_messages


def status_with_role(organization: Organization, role: str) -> Status:
    """Return the organization's first status with this role."""
    return Status.objects.of(organization).filter(role=role).first()


def test_a_new_lead_has_status_history_source_and_event(closer: Client, organization: Organization):
    data = form_data(
        closer, admin_url(Lead, "add"), email=" ada@example.com ", first_name="Ada", phone_e164="(415) 555-2671"
    )

    response = closer.post(admin_url(Lead, "add"), data)

    assert response.status_code == 302, form_errors(response)
    lead = Lead.objects.of(organization).get()
    assert (lead.email, lead.first_name, lead.phone_e164, lead.phone_country) == (
        "ada@example.com",
        "Ada",
        "+14155552671",
        "US",
    )
    assert (lead.status.role, lead.first_source.name, lead.last_source.name) == ("NEW_LEAD", "MANUAL", "MANUAL")
    assert [change.actor_name for change in lead.status_changes.all()] == ["Hana Host"]
    assert events_of(organization) == ["lead.created"]


def test_staff_read_the_label_that_the_organization_gives_to_a_source(manager: Client, organization: Organization):
    appointment = make_provider_appointment(organization)
    source = Source.objects.of(organization).get(name="SCHEDULER_A")
    lead, own = admin_url(Lead, "change", appointment.lead_id), admin_url(Appointment, "change", appointment.pk)
    filters = {"source__exact": "SCHEDULER_A", "last_source__id__exact": source.pk}
    lists = [f"{list_url(Appointment)}&{urlencode(filters)}", list_url(Lead)]
    exports = ["/admin/leads/lead/export.csv", "/admin/appointments/appointment/export.csv?view=all"]
    pages = [lead, own, *lists, "/admin/reports/?by=last_source", "/admin/leads/lead/?layout=board"]
    before = {page: manager.get(page).getvalue().decode() for page in [*pages, *exports]}
    assert {page for page, text in before.items() if "Scheduler A" not in text or "SCHEDULER_A<" in text} == set()
    url = admin_url(Source, "change", source.pk)

    response = manager.post(url, form_data(manager, url, label="Calendly"))

    assert response.status_code == 302, form_errors(response)
    texts = {page: manager.get(page).getvalue().decode() for page in [*pages, *exports]}
    assert {page for page, text in texts.items() if "Calendly" not in text or "Scheduler A" in text} == set()
    assert Source.objects.of(organization).get().name == "SCHEDULER_A"
    assert events_of(organization) == []
    assert SOURCE_LABELS.items() >= {*AppointmentSource.choices, *OptInSource.choices}


@pytest.mark.parametrize("phone", ["555-5555", "+1 555 5555"])
def test_a_phone_without_its_area_code_is_refused(closer: Client, organization: Organization, phone: str):
    before = snapshot_of(organization)
    data = form_data(closer, admin_url(Lead, "add"), email="ada@example.com", phone_e164=phone)

    response = closer.post(admin_url(Lead, "add"), data)

    assert form_errors(response) == ["Enter a valid phone number."]
    assert snapshot_of(organization) == before


def test_a_lead_whose_stored_phone_is_not_valid_can_be_edited(manager: Client, appointment: Appointment):
    # Version 0.2 stored such numbers.
    Lead.objects.of(appointment.organization).update(phone_e164="+15555555", phone_country="US")
    url = admin_url(Lead, "change", appointment.lead_id)

    response = manager.post(url, form_data(manager, url, last_name="Lovelace"))

    assert response.status_code == 302, form_errors(response)
    lead = Lead.objects.of(appointment.organization).get()
    assert (lead.last_name, lead.phone_e164, lead.phone_country) == ("Lovelace", "+15555555", "US")


def test_a_changed_status_of_a_lead_has_a_history_entry_and_an_event(manager: Client, appointment: Appointment):
    url, won = admin_url(Lead, "change", appointment.lead_id), status_with_role(appointment.organization, "WON")

    response = manager.post(url, form_data(manager, url, status=won.pk, last_name="Lovelace"))

    assert response.status_code == 302, form_errors(response)
    lead = Lead.objects.of(appointment.organization).get()
    assert (lead.status, lead.last_name, lead.status_changes.first().actor_name) == (won, "Lovelace", "Mia")
    assert "lead.status_changed" in events_of(appointment.organization)


def test_saving_without_a_change_does_nothing(manager: Client, appointment: Appointment):
    before = snapshot_of(appointment.organization)
    url = admin_url(Lead, "change", appointment.lead_id)

    response = manager.post(url, form_data(manager, url))

    assert response.status_code == 302, form_errors(response)
    assert snapshot_of(appointment.organization) == before


@pytest.mark.parametrize("field", ["status", "setter"])
def test_a_row_of_another_organization_is_not_a_valid_choice(
    field: str, owner: Client, appointment: Appointment, other_appointment: Appointment
):
    url, before = admin_url(Lead, "change", appointment.lead_id), snapshot_of(appointment.organization)

    response = owner.post(
        url,
        form_data(
            owner, url, **{field: {"status": other_appointment.outcome_id, "setter": other_appointment.host_id}[field]}
        ),
    )

    assert any("Select a valid choice" in message for message in form_errors(response))
    assert snapshot_of(appointment.organization) == before


def test_a_status_of_the_other_board_is_not_a_valid_choice(owner: Client, appointment: Appointment):
    other_status = make_status(appointment.organization, "Only calls", type="APPOINTMENT")
    url = admin_url(Lead, "change", appointment.lead_id)

    response = owner.post(url, form_data(owner, url, status=other_status.pk))

    assert any("Select a valid choice" in message for message in form_errors(response))


def test_an_e_mail_of_another_lead_is_refused(closer: Client, appointment: Appointment):
    response = closer.post(
        admin_url(Lead, "add"), form_data(closer, admin_url(Lead, "add"), email="OURS@leads.example")
    )

    [error] = form_errors(response)
    assert error.startswith("This e-mail belongs to another lead: ")
    assert f'href="{admin_url(Lead, "change", appointment.lead_id)}"' in error


def test_a_lead_that_someone_else_adds_at_the_same_time_is_refused_with_a_message(
    closer: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    def raise_integrity_error(**fields: object) -> None:
        raise IntegrityError

    monkeypatch.setattr("staff.leads.leads.add_lead", raise_integrity_error)

    response = closer.post(admin_url(Lead, "add"), form_data(closer, admin_url(Lead, "add"), email="ada@example.com"))

    assert form_errors(response) == [
        "Someone else just saved a record with the same value. Check the list before you try again."
    ]


def test_the_second_of_two_concurrent_saves_is_refused(owner: Client, manager: Client, appointment: Appointment):
    url = admin_url(Lead, "change", appointment.lead_id)
    first, second = form_data(owner, url, last_name="First"), form_data(manager, url, last_name="Second")

    owner.post(url, first)
    rejected = manager.post(url, second)

    assert any("Someone else has changed this record" in message for message in form_errors(rejected))
    assert Lead.objects.of(appointment.organization).get().last_name == "First"


def test_a_new_default_status_replaces_the_old_one(owner: Client, organization: Organization):
    old = status_with_role(organization, "CANCELED")
    data = form_data(
        owner,
        admin_url(Status, "add"),
        name="Called off",
        role="CANCELED",
        type="BOTH",
        is_lead_default="on",
        is_appointment_default="on",
    )

    response = owner.post(admin_url(Status, "add"), data)

    assert response.status_code == 302, form_errors(response)
    old.refresh_from_db()
    assert (old.is_lead_default, Status.objects.of(organization).get(name="Called off").is_lead_default) == (
        False,
        True,
    )


def test_a_status_that_automatic_changes_need_cannot_be_removed(owner: Client, organization: Organization):
    required = status_with_role(organization, "NEW_LEAD")
    url, before = admin_url(Status, "change", required.pk), snapshot_of(organization)

    changed = owner.post(url, form_data(owner, url, type="APPOINTMENT", is_lead_default=""))
    deleted = owner.post(admin_url(Status, "delete", required.pk), {"post": "yes"})

    assert any("Make another status the default first" in message for message in form_errors(changed))
    assert any("Make another status the default first" in message for message in shown_messages(deleted))
    assert snapshot_of(organization) == before


def test_an_unused_status_can_be_deleted_and_a_used_one_cannot(owner: Client, appointment: Appointment):
    used, unused = (
        status_with_role(appointment.organization, "FOLLOW_UP"),
        Status.objects.of(appointment.organization).get(name="ours status"),
    )
    url = admin_url(Lead, "change", appointment.lead_id)
    owner.post(url, form_data(owner, url, status=used.pk))

    rejected = owner.post(admin_url(Status, "delete", used.pk), {"post": "yes"})
    owner.post(admin_url(Status, "delete", unused.pk), {"post": "yes"})

    assert any("is used by a lead" in message for message in shown_messages(rejected))
    assert set(Status.objects.of(appointment.organization).filter(pk__in=[used.pk, unused.pk])) == {used}


def test_an_event_type_can_be_added_but_not_with_a_used_name(owner: Client, organization: Organization):
    make_event_type(organization, "Strategy call")

    duplicate = owner.post(
        admin_url(EventType, "add"), form_data(owner, admin_url(EventType, "add"), name="STRATEGY CALL")
    )
    created = owner.post(admin_url(EventType, "add"), form_data(owner, admin_url(EventType, "add"), name="Demo"))

    assert form_errors(duplicate) == ["Another event type has this name."]
    assert created.status_code == 302
    assert EventType.objects.of(organization).get(name="Demo").provider is None


def test_an_event_type_with_appointments_cannot_be_deleted(owner: Client, appointment: Appointment):
    with CaptureQueriesContext(connection) as queries:
        response = owner.post(admin_url(EventType, "delete", appointment.event_type_id), {"post": "yes"})

    # A million of them would be loaded by a person who can only be refused.
    loading = [query for query in queries.captured_queries if 'SELECT "appointments_appointment"."id"' in query["sql"]]
    assert loading == []
    assert shown_messages(response) == ["ours call can't be deleted because appointments use it"]
    assert EventType.objects.of(appointment.organization).filter(pk=appointment.event_type_id).exists()


def test_filters_offer_the_oldest_sources_if_there_are_too_many(
    owner: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    """As after an import of a wrong column, whose sources stay when it is undone."""
    monkeypatch.setattr("staff.toolkit.tenant.MAX_FILTER_CHOICES", 3)
    for name in ("newsletter", "podcast", "instagram", "ad 1", "ad 2"):
        get_or_create_source(organization=organization, name=name)
    Source.objects.of(organization).filter(name__startswith="ad").update(created_at=now() + timedelta(hours=1))

    specs = owner.get(admin_url(Lead, "changelist")).context["cl"].filter_specs

    (offered,) = [spec.lookup_choices for spec in specs if getattr(spec, "field_path", "") == "last_source"]
    assert [label for _, label in offered] == ["instagram", "newsletter", "podcast"]


def test_the_type_and_key_of_a_custom_field_cannot_change(owner: Client, organization: Organization):
    data = form_data(
        owner,
        admin_url(CustomField, "add"),
        entity="LEAD",
        type="SELECT",
        key="plan",
        label="Plan",
        options="Gold\nSilver\nGold\n",
    )

    created = owner.post(admin_url(CustomField, "add"), data)
    field = CustomField.objects.of(organization).get()
    url = admin_url(CustomField, "change", field.pk)
    owner.post(url, form_data(owner, url, type="TEXT", key="other", label="Tariff"))

    assert created.status_code == 302, form_errors(created)
    field.refresh_from_db()
    assert (field.options, field.type, field.key, field.label) == (["Gold", "Silver"], "SELECT", "plan", "Tariff")


def test_leads_with_an_option_that_was_removed_are_shown_by_the_message(owner: Client, organization: Organization):
    field = make_custom_field(organization, "LEAD", "plan", label="Plan", type="SELECT", options=["Gold", "Silver"])
    for name in ("gold", "silver"):
        make_api(organization).submit(email=f"{name}@example.com")
        values = {str(field.pk): name.capitalize()}
        Lead.objects.of(organization).filter(email=f"{name}@example.com").update(custom_values=values)
    url = admin_url(CustomField, "change", field.pk)

    response = owner.post(url, form_data(owner, url, options="Gold!\nSilver"))

    message = shown_messages(response)[0]
    (link,) = re.findall('href="([^"]+)"', message)
    assert "Leads that have a removed option keep it, but filters no longer offer it: Gold." in message
    assert [lead.email for lead in owner.get(unescape(link)).context["cl"].result_list] == ["gold@example.com"]


def test_deleting_a_custom_field_says_that_its_values_are_lost(owner: Client, organization: Organization):
    field = make_custom_field(organization, "APPOINTMENT", "plan", label="Plan")

    page = owner.get(admin_url(CustomField, "delete", field.pk)).content.decode()

    assert "Its values in all appointments. Another field with the same key doesn&#x27;t bring them back." in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "SELECT"}, "Enter at least one option."),
        ({"options": "Gold"}, "Only a choice field can have options."),
        ({"key": "duplicate"}, "Another custom field has this key."),
    ],
)
def test_an_invalid_custom_field_is_refused(changes: dict, message: str, owner: Client, organization: Organization):
    make_custom_field(organization, "LEAD", "duplicate")
    values = {"entity": "LEAD", "key": "plan", "label": "Plan", **changes}

    response = owner.post(admin_url(CustomField, "add"), form_data(owner, admin_url(CustomField, "add"), **values))

    assert form_errors(response) == [message]


def test_custom_values_that_are_too_long_together_are_refused(
    owner: Client, organization: Organization, appointment: Appointment
):
    """docs/interface.md, A36"""
    fields = [make_custom_field(organization, "LEAD", f"key{number}") for number in range(8)]
    url, before = admin_url(Lead, "change", appointment.lead_id), snapshot_of(organization)

    response = owner.post(url, form_data(owner, url, **{f"custom_{field.pk.hex}": "a" * 9_000 for field in fields}))

    assert form_errors(response) == ["The custom fields must have at most 65536 characters together, as JSON text"]
    assert snapshot_of(organization) == before


def test_text_from_integrators_is_shown_escaped(owner: Client, appointment: Appointment):
    evil = '<script>alert("1")</script>'
    make_status(appointment.organization, evil)
    make_custom_field(appointment.organization, "LEAD", "evil", label=evil)
    Lead.objects.of(appointment.organization).update(first_name=evil)

    urls = [
        list_url(Lead),
        admin_url(Lead, "change", appointment.lead_id),
        list_url(Status),
        list_url(Appointment),
        "/admin/",
    ]
    pages = [owner.get(url).content.decode() for url in urls]

    assert [page for page in pages if "<script>alert(" in page] == []


def test_line_breaks_of_a_custom_text_survive_the_form(owner: Client, organization: Organization):
    make_custom_field(organization, "LEAD", "goals")
    make_custom_field(organization, "LEAD", "tier")
    api, text = make_api(organization), "1. more clients\n2. less work"
    made = api.post("/api/external/leads", {"email": "ada@example.com", "custom_fields": {"goals": text, "tier": "1"}})
    id = made.json()["data"]["id"]
    url = admin_url(Lead, "change", id)
    sent = form_data(owner, url)
    [name] = [name for name, value in sent.items() if value == text]
    [tier] = [name for name, value in sent.items() if value == "1" and name.startswith("custom_")]

    owner.post(url, sent | {name: text.replace("\n", "\r\n"), tier: "2"})

    values = {field["key"]: field["value"] for field in api.get_lead(id)["custom_fields"]}
    assert values == {"goals": text, "tier": "2"}


@pytest.mark.parametrize(
    ("type", "value"),
    [
        *(("NUMBER", number) for number in (7, 0.1, 1e23, -1e300)),
        *(("DATE", "1984-02-29"), ("DATE", "0011-01-02"), ("BOOLEAN", False), ("TEXT", "1. Tea\n 2. Milk")),
    ],
)
def test_a_form_that_leaves_a_custom_value_as_it_is_changes_nothing(
    type: str, value: object, owner: Client, organization: Organization
):
    make_custom_field(organization, "LEAD", "own", type=type)
    values = {"email": "ada@example.com", "custom_fields": {"own": value}}
    id = make_api(organization).post("/api/external/leads", values).json()["data"]["id"]
    url, before = admin_url(Lead, "change", id), snapshot_of(organization)

    response = owner.post(url, form_data(owner, url))

    assert response.status_code == 302, form_errors(response)
    assert snapshot_of(organization) == before
    assert [entry.get_change_message() for entry in LogEntry.objects.all()] == ["No fields changed."]


def test_a_next_step_of_the_form_has_a_date_and_is_no_appointment(owner: Client, organization: Organization):
    id = make_api(organization).submit(email="ada@example.com").json()["data"]["lead_id"]
    url = admin_url(Lead, "change", id)

    types = ("CALL", "APPOINTMENT")
    texts = [form_errors(owner.post(url, form_data(owner, url, next_touch_point_type=type))) for type in types]

    assert "Enter a date, or choose no kind." in texts[0]
    assert any("Select a valid choice" in text for text in texts[1])


def test_a_next_step_date_of_the_form_is_earlier_than_the_next_appointment_and_step(
    owner: Client, organization: Organization
):
    """docs/interface.md, L13. Without a date, the earliest of these is the lead's again."""
    api = make_api(organization)
    api.book(schedule_time="2090-01-05T10:00:00Z")
    lead = Lead.objects.of(organization).get()
    url = admin_url(Lead, "change", lead.pk)

    def send(day: str, kind: str) -> tuple[list[str], str, str]:
        time = {"next_touch_point_at_0": day, "next_touch_point_at_1": "10:00" if day else ""}
        response = owner.post(url, form_data(owner, url, next_touch_point_type=kind, **time))
        problems = form_errors(response) if response.status_code == 200 else []
        lead.refresh_from_db()
        return problems, f"{lead.next_touch_point_at:%m-%d}", lead.next_touch_point_type

    before = "Enter a time before the {} at {} 2090, 10:00, or use the button “Next step …”."
    assert send("2090-01-06", "APPOINTMENT")[0] == [
        "The appointment is at another time. Reschedule it, or choose another kind."
    ]
    assert send("2090-01-06", "CALL") == ([before.format("appointment", "Thu 5 Jan")], "01-05", "APPOINTMENT")
    assert send("2090-01-03", "CALL") == ([], "01-03", "CALL")
    assert send("", "") == ([], "01-05", "APPOINTMENT")
    at = datetime(2090, 1, 4, 10, tzinfo=UTC)
    set_next_step(
        organization=organization, actor=owner_actor(organization), lead_id=lead.pk, at=at, type="EMAIL", owner=None
    )
    assert send("2090-01-04", "CALL") == ([before.format("next step", "Wed 4 Jan")], "01-04", "EMAIL")
    assert send("2090-01-02", "CALL") == ([], "01-02", "CALL")
    assert send("", "") == ([], "01-04", "EMAIL")


def test_a_form_that_is_open_when_its_lead_is_called_can_be_saved(owner: Client, organization: Organization):
    """Dates that have ended are emptied by the system; another date of a colleague's stays."""
    api = make_api(organization)
    for reference, time in {"now": "2090-01-05T10:00:00Z", "later": "2090-01-06T10:00:00Z"}.items():
        api.book(external_reference=reference, schedule_time=time)
    lead = Lead.objects.of(organization).get()
    url = admin_url(Lead, "change", lead.pk)
    typed = form_data(owner, url, last_name="Typed")
    edit_lead(
        organization=organization,
        actor=owner_actor(organization),
        lead=lead,
        next_touch_point_at=datetime(2090, 1, 2, 10, tzinfo=UTC),
        next_touch_point_type="CALL",
    )
    day = {"next_touch_point_at_0": "2090-01-03", "next_touch_point_type": "CALL"}

    refused = owner.post(url, typed | day)
    saved = owner.post(url, typed)
    lead.refresh_from_db()

    assert "Someone else has changed this record" in form_errors(refused)[0]
    assert (saved.status_code, lead.last_name) == (302, "Typed")
    assert (f"{lead.next_touch_point_at:%m-%d}", lead.next_touch_point_type) == ("01-02", "CALL")
    with time_machine.travel("2090-01-05T10:00:00Z", tick=False):
        later = logged_in_client(owner_of(organization))
        typed = form_data(later, url, last_name="Again")
        refresh_touch_points()
        assert later.post(url, typed).status_code == 302
    lead.refresh_from_db()
    assert (lead.last_name, f"{lead.next_touch_point_at:%m-%d}") == ("Again", "01-06")


def test_a_browser_does_not_change_an_international_address(owner: Client, organization: Organization):
    id = make_api(organization).submit(email="ada@münchen.example").json()["data"]["lead_id"]

    page = owner.get(admin_url(Lead, "change", id)).content.decode()

    [field] = re.findall(r'<input[^>]*name="email"[^>]*>', page)
    assert ('type="text"' in field, 'inputmode="email"' in field) == (True, True)


def test_the_setter_who_has_left_stays_unless_another_one_is_chosen(
    owner: Client, organization: Organization, host: Membership
):
    id = make_api(organization).submit(email="ada@example.com").json()["data"]["lead_id"]
    Lead.objects.of(organization).update(setter=host)
    deactivate(host)
    url = admin_url(Lead, "set_setter", id)

    form = form_data(owner, url)

    assert form["setter"] == str(host.pk)
