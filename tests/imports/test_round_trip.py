"""Our own export can be imported again: nothing changes, and what somebody has changed in the file does."""

import csv
from io import BytesIO, StringIO
from typing import Any

import pytest
from django.test import Client
from openpyxl import load_workbook

from appointments.models import Appointment
from leads.models import Lead
from organizations.models import MemberRole, Membership, Organization, User
from organizations.services import add_member
from tests.client import ApiClient
from tests.factories import make_custom_field, make_provider_appointment
from tests.imports.files import Page, csv_file, workbook


def exported(client: Client, path: str, kind: str) -> list[list[Any]]:
    """Return the cells of the export, the header first."""
    response = client.get(f"/admin/{path}/export.{kind}?view=all")
    content = b"".join(response.streaming_content)
    if kind == "xlsx":
        return [list(row) for row in load_workbook(BytesIO(content)).active.iter_rows(values_only=True)]
    return list(csv.reader(StringIO(content.decode("utf-8-sig"))))


def as_file(rows: list[list[Any]], kind: str) -> bytes:
    return workbook(*rows) if kind == "xlsx" else csv_file(*rows, encoding="utf-8-sig")


@pytest.fixture
def _rows(organization: Organization, api: ApiClient, host: Membership) -> None:
    api.submit(email="ada@example.com", first_name="=Ada", last_name="Loveläce", phone="+14155552671")
    api.book(
        external_reference="a-1",
        lead_email="bob@example.com",
        host_email="hana@acme.example",
        setter_email="owner@acme.example",
        schedule_time="2031-01-05T10:00:00.123Z",
        meeting_url="https://meet.example/a",
    )
    make_provider_appointment(organization, external_reference="p-1")


@pytest.mark.usefixtures("_rows")
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_exported_leads_are_unchanged_until_somebody_changes_the_file(
    mia: Client, organization: Organization, kind: str
) -> None:
    rows = exported(mia, "leads/lead", kind)
    last_name = rows[0].index("Last name")

    page = Page(mia, organization, as_file(rows, kind), name=f"leads.{kind}")
    guessed = page.guessed()
    page.check()
    assert page.row.counts == {"UNCHANGED": 3}, page.report()
    rows[1][last_name] = "Changed"
    Page(mia, organization, as_file(rows, kind), name=f"leads.{kind}").run()

    assert [name for name, field in guessed.items() if field] == [
        "E-mail",
        "First name",
        "Last name",
        "Phone",
        "Status",
        "Setter e-mail",
        "Last source",
        "Next step",
        "Next step date (Europe/Berlin)",
    ]
    assert [lead.email for lead in Lead.objects.of(organization).filter(last_name="Changed")] == [rows[1][0]]


@pytest.mark.usefixtures("_rows")
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_exported_appointments_are_unchanged_until_somebody_changes_the_file(
    mia: Client, organization: Organization, kind: str
) -> None:
    rows = exported(mia, "appointments/appointment", kind)
    time, reference = 0, rows[0].index("Reference")

    page = Page(mia, organization, as_file(rows, kind), kind="APPOINTMENTS", name=f"a.{kind}")
    page.check()
    assert page.row.counts == {"UNCHANGED": 2}, page.report()
    ours = next(row for row in rows if row[reference] == "a-1")
    ours[time] = "2031-02-05 12:00"
    Page(mia, organization, as_file(rows, kind), kind="APPOINTMENTS", name=f"a.{kind}").run()

    stored = Appointment.objects.of(organization).get(external_reference="a-1")
    assert f"{stored.schedule_time:%Y-%m-%d %H:%M}" == "2031-02-05 11:00"


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_of_an_export_of_two_organizations_each_gets_its_own_rows(
    mia: Client,
    organization: Organization,
    other_organization: Organization,
    api: ApiClient,
    other_api: ApiClient,
    kind: str,
) -> None:
    user = User.objects.get(email="mia@acme.example")
    add_member(organization=other_organization, user=user, role=MemberRole.MANAGER)
    api.book(lead_email="ada@example.com", external_reference="a-1")
    other_api.book(lead_email="eve@example.com", external_reference="e-1")
    files = {path: exported(mia, path, kind) for path in ("leads/lead", "appointments/appointment")}
    user.memberships.filter(organization=other_organization).delete()

    for path, import_kind in {"leads/lead": "LEADS", "appointments/appointment": "APPOINTMENTS"}.items():
        page = Page(mia, organization, as_file(files[path], kind), name=f"rows.{kind}", kind=import_kind)
        page.check()

        assert page.row.counts == {"UNCHANGED": 1, "REFUSED": 1}
        assert page.row.reasons["REFUSED"] == {"Organization of the row is not Acme": 1}


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_number_with_more_digits_than_a_file_has_is_unchanged(
    mia: Client, organization: Organization, api: ApiClient, kind: str
) -> None:
    make_custom_field(organization, "LEAD", "number", type="NUMBER")
    api.submit(email="ada@example.com")
    id = Lead.objects.of(organization).get().pk
    api.patch(f"/api/external/leads/{id}", {"custom_fields": {"number": 1e300}})

    page = Page(mia, organization, as_file(exported(mia, "leads/lead", kind), kind), name=f"leads.{kind}")
    guessed = page.guessed()
    page.check()

    assert guessed["Number"] == "custom:number"
    assert page.row.counts == {"UNCHANGED": 1}, page.report()


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_an_option_that_was_removed_since_is_unchanged_where_it_is_stored(
    mia: Client, organization: Organization, api: ApiClient, kind: str
) -> None:
    field = make_custom_field(organization, "LEAD", "plan", type="SELECT", options=["Basic"])
    api.submit(email="ada@example.com")
    Lead.objects.of(organization).update(custom_values={str(field.pk): "Gold"})
    api.submit(email="bob@example.com")
    rows = exported(mia, "leads/lead", kind)

    page = Page(mia, organization, as_file(rows, kind), name=f"leads.{kind}")
    page.check()
    rows[1 if "bob" in rows[1][0] else 2][rows[0].index("Plan")] = "Gold"
    other = Page(mia, organization, as_file(rows, kind), name=f"leads.{kind}")
    other.check()

    assert page.row.counts == {"UNCHANGED": 2}
    assert page.row.reasons.get("PARTIAL", {}) == {}
    assert other.row.reasons["PARTIAL"] == {"Plan is none of the options": 1}


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_texts_that_a_file_could_change_are_unchanged(
    mia: Client, organization: Organization, api: ApiClient, kind: str
) -> None:
    texts = ["'=x", "''=x", "=x", "'x", "+49 170", "'+49 170", "two\r\nlines", "two\rlines", "_x000D_", "'"]
    make_custom_field(organization, "LEAD", "text", label="Text")
    make_custom_field(
        organization, "LEAD", "level", label="Level", type="SELECT", options=["VIP", "vip", "Maß", "Mass"]
    )
    for number, text in enumerate(texts):
        api.post("/api/external/leads", {"email": f"{number}@example.com", "custom_fields": {"text": text}})
    for level in ("VIP", "vip", "Maß", "Mass"):
        email = f"{level.encode().hex()}@example.com"
        api.post("/api/external/leads", {"email": email, "custom_fields": {"level": level}})
    content = b"".join(mia.get(f"/admin/leads/lead/export.{kind}?view=all").streaming_content)

    page = Page(mia, organization, content, name=f"leads.{kind}")
    page.check()

    assert page.row.counts == {"UNCHANGED": len(texts) + 4}, page.report()


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_calls_in_the_hour_that_clocks_show_twice_are_unchanged(
    mia: Client, organization: Organization, api: ApiClient, kind: str
) -> None:
    for hour in (0, 1):
        api.book(external_reference=f"a-{hour}", schedule_time=f"2031-10-26T0{hour}:30:00Z")
    content = b"".join(mia.get(f"/admin/appointments/appointment/export.{kind}?view=all").streaming_content)

    page = Page(mia, organization, content, kind="APPOINTMENTS", name=f"calls.{kind}")
    page.check()

    assert page.row.counts == {"UNCHANGED": 2}, page.report()


def test_custom_fields_that_are_called_as_columns_of_the_export_are_unchanged(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    for entity, label in (
        ("LEAD", "ID"),
        ("LEAD", "First source"),
        ("LEAD", "Phone"),
        ("APPOINTMENT", "Call category"),
    ):
        make_custom_field(organization, entity, f"k_{label.lower().replace(' ', '_')}", label=label)
    custom = {"k_id": "C-1001", "k_first_source": "Trade fair", "k_phone": "none"}
    lead = {"email": "ada@example.com", "phone": "+14155552671", "custom_fields": custom}
    assert api.post("/api/external/leads", lead).status_code == 201
    call = api.book(external_reference="a-1", lead_email="ada@example.com").json()["data"]["id"]
    api.patch(f"/api/external/appointments/{call}", {"custom_fields": {"k_call_category": "B2B"}})

    for path, kind in (("leads/lead", "LEADS"), ("appointments/appointment", "APPOINTMENTS")):
        content = b"".join(mia.get(f"/admin/{path}/export.csv?view=all").streaming_content)
        page = Page(mia, organization, content, kind=kind)
        guessed = page.guessed()
        page.check()
        assert page.row.counts == {"UNCHANGED": 1}, page.report()
        assert all(field for name, field in guessed.items() if "(k_" in name)
