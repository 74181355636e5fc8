"""What the files contain, and who gets them."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from appointments.models import Appointment
from leads.imports.files import read_rows
from leads.models import Lead
from optins.models import OptIn
from organizations.models import MemberRole, Organization, SecurityEvent, User
from organizations.services import add_member
from tests.client import ApiClient
from tests.export.files import download, exported, read_table
from tests.factories import make_custom_field, make_member
from tests.staff.pages import admin_url, shown_messages
from tests.staff.sample_data import create_sample_data

LISTS = [Appointment, Lead, OptIn]
KINDS = ["csv", "xlsx"]
EXPORTERS = [MemberRole.OWNER, MemberRole.MANAGER, MemberRole.SALES_OPS]


@pytest.mark.parametrize("kind", KINDS)
def test_a_lead_is_exported_with_its_people_phone_and_custom_values(
    manager: Client, organization: Organization, api: ApiClient, kind: str
):
    budget = make_custom_field(organization, "LEAD", "budget", type="NUMBER")
    birthday = make_custom_field(organization, "LEAD", "birthday", type="DATE")
    email = make_custom_field(organization, "LEAD", "email", label="E-mail")
    setter = make_member(organization, "sam@acme.example", first_name="Sam", last_name="Setter")
    api.submit(email="zoe@example.com", first_name="Zoë", phone_e164="+14155552671", phone_country="US")
    values = {str(budget.pk): 5000, str(birthday.pk): "1990-05-17", str(email.pk): "other"}
    Lead.objects.of(organization).update(
        setter=setter, custom_values=values, created_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    )

    (row,) = exported(manager, Lead, kind)

    is_csv = kind == "csv"
    expected = {
        "E-mail": "zoe@example.com",
        "First name": "Zoë",
        "Phone": "'+14155552671" if is_csv else "+14155552671",
        "Status": "New lead",
        "Setter": "Sam Setter",
        "Setter e-mail": "sam@acme.example",
        "Created (America/New_York)": "2026-01-01 22:04:05" if is_csv else datetime(2026, 1, 1, 22, 4, 5),  # noqa: DTZ001
        "Budget": "5000" if is_csv else 5000,
        "Birthday": "1990-05-17" if is_csv else datetime(1990, 5, 17),  # noqa: DTZ001
        "E-mail (email)": "other",
    }
    assert {header: row[header] for header in expected} == expected


@pytest.mark.parametrize("kind", KINDS)
def test_custom_fields_of_two_organizations_with_one_label_and_different_types_share_a_column(
    organization: Organization, other_organization: Organization, client_with, api, other_api, kind: str
):
    day = make_custom_field(organization, "LEAD", "start", type="DATE")
    text = make_custom_field(other_organization, "LEAD", "start")
    manager = client_with(MemberRole.MANAGER)
    user = User.objects.get(email="new-manager@acme.example")
    add_member(organization=other_organization, user=user, role=MemberRole.MANAGER)
    for submits, field, value in ((api, day, "2026-01-02"), (other_api, text, "soon")):
        submits.submit(email="ada@example.com")
        Lead.objects.of(field.organization).update(custom_values={str(field.pk): value})

    values = {row["Organization of the row"]: row["Start"] for row in exported(manager, Lead, kind)}

    expected = "2026-01-02" if kind == "csv" else datetime(2026, 1, 2)  # noqa: DTZ001
    assert values == {"Acme": expected, "Globex": "soon"}


def test_days_that_a_workbook_counts_wrongly_are_texts(manager: Client, organization: Organization, api: ApiClient):
    field = make_custom_field(organization, "LEAD", "founded", type="DATE")
    days = ["1899-12-30", "1900-01-31", "1900-02-28", "1900-03-01"]
    for day in days:
        api.submit(email=f"{day}@example.com")
        Lead.objects.of(organization).filter(email=f"{day}@example.com").update(custom_values={str(field.pk): day})

    header, *rows = [cells for _, cells in read_rows(download(manager, Lead, "xlsx"))]

    assert sorted(row[header.index("Founded")] for row in rows) == days


def test_text_that_looks_like_a_code_of_a_workbook_stays_as_it_is(manager: Client, api: ApiClient):
    api.submit(email="ada@example.com", first_name="_x000D_ Ada", last_name="O_x005F_x_x0041_ _xyz")

    _, (_, cells) = read_rows(download(manager, Lead, "xlsx"))

    assert cells[:3] == ["ada@example.com", "_x000D_ Ada", "O_x005F_x_x0041_ _xyz"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("appointment")
def test_appointments_and_opt_ins_are_exported(manager: Client, kind: str):
    (call,), (*_, opt_in) = exported(manager, Appointment, kind), exported(manager, OptIn, kind)

    assert (call["Lead e-mail"], call["Host e-mail"], call["Outcome"], call["Call category"], call["No-show"]) == (
        "ours@leads.example",
        "ours@members.example",
        "Appointment booked",
        "Triage call",
        "No",
    )
    assert (opt_in["Lead e-mail"], opt_in["UTM source"], opt_in["Answers"]) == (
        "ours@leads.example",
        "ours campaign",
        "ours?: Yes",
    )


def test_the_files_have_the_rows_of_the_filter_the_search_and_the_order(manager: Client, api: ApiClient):
    for name in ("Ada", "Bob", "Amy"):
        api.submit(email=f"{name}@example.com".lower(), first_name=name)
    search, order = "q=Amy&view=all", "o=1"

    links = manager.get(f"{admin_url(Lead, 'changelist')}?{search}").context["cl"].buttons

    assert [row["First name"] for row in exported(manager, Lead, query=search)] == ["Amy"]
    assert [row["First name"] for row in exported(manager, Lead, query=order)] == ["Ada", "Amy", "Bob"]
    assert {link.label: link.url.rpartition("?")[2] for link in links} == {
        "Import": "kind=LEADS",
        "CSV": search,
        "XLSX": search,
    }


@pytest.mark.parametrize("text", ["=1+1", "+1|cmd", "-2+3", "@SUM(A1)", "\tx", "\rx", " =1+1", "＝1+1"])
def test_text_that_could_be_a_formula_is_text_in_both_files(manager: Client, organization: Organization, text: str):
    lead = {"email": "ada@example.com", "first_name": text, "last_name": 'a "quoted", name'}
    create_sample_data(organization, "ours")
    Lead.objects.of(organization).update(**lead)
    make_custom_field(organization, "LEAD", "formula", label=text)

    (row,), content = exported(manager, Lead), download(manager, Lead, "xlsx")

    assert (row["First name"], row["Last name"]) == (f"'{text}", 'a "quoted", name')
    assert f"'{text}" in row
    # Excel reads this code, which openpyxl leaves as it is, as a line break.
    assert read_table("xlsx", content)[1][1].replace("_x000D_", "\r").strip() == text.strip()
    assert b"<f>" not in content


def test_csv_begins_with_a_byte_order_mark(manager: Client):
    assert download(manager, Lead, "csv").startswith("\ufeffE-mail,".encode())


@pytest.mark.parametrize("model", LISTS)
@pytest.mark.parametrize("role", MemberRole)
@pytest.mark.usefixtures("appointment")
def test_owners_managers_and_sales_ops_export_and_the_log_says_so(client_with, role: MemberRole, model):
    client, url = client_with(role), admin_url(model, "changelist")
    before = SecurityEvent.objects.filter(kind="exported").count()

    response = client.get(f"{url}export.csv?view=all")
    b"".join(response)
    page = client.get(url).content.decode()

    may_export = role in EXPORTERS
    assert (response.status_code, "export.csv?" in page, "export.xlsx?" in page) == (
        (200, True, True) if may_export else (403, False, False)
    )
    events = SecurityEvent.objects.filter(kind="exported")
    assert events.count() - before == may_export
    if may_export:
        entry = events.first()
        count = model.objects.of(entry.organization).count()
        assert (entry.actor.email, entry.organization.name) == (f"new-{role.lower()}@acme.example", "Acme")
        assert entry.details == f"{count} {model._meta.verbose_name_plural} as CSV"


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_has_only_rows_of_organizations_in_which_the_user_may_export(
    organization: Organization, other_organization: Organization, client_with, api, other_api, kind: str
):
    api.submit(email="ada@acme.example")
    other_api.submit(email="zyxwv@globex.example")
    manager = client_with(MemberRole.MANAGER)

    assert b"zyxwv" not in download(manager, Lead, "csv")

    user = User.objects.get(email="new-manager@acme.example")
    other = add_member(organization=other_organization, user=user, role=MemberRole.CLOSER)
    assert [row["E-mail"] for row in exported(manager, Lead, kind)] == ["ada@acme.example"]

    other.role = MemberRole.SALES_OPS
    other.save()
    rows = exported(manager, Lead, kind)
    assert {(row["E-mail"], row["Organization of the row"]) for row in rows} == {
        ("ada@acme.example", "Acme"),
        ("zyxwv@globex.example", "Globex"),
    }


def test_too_many_rows_lead_back_to_the_list(manager: Client, api: ApiClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("staff.toolkit.export.MAX_ROWS", 1)
    api.submit(email="ada@example.com", first_name="Ada")
    api.submit(email="bob@example.com", first_name="Bob")

    response = manager.get(f"{admin_url(Lead, 'changelist')}export.csv?o=1")

    assert (response.status_code, response.headers["Location"]) == (302, "../?o=1")
    assert shown_messages(response) == ["A file can have 1 rows. Choose filters, and export again."]
    assert len(exported(manager, Lead, query="q=ada")) == 1


@pytest.mark.parametrize("query", ["status__name=x", "q=%00", "setter__id__exact=x"])
def test_an_address_that_the_list_refuses_is_refused(manager: Client, query: str):
    assert manager.get(f"{admin_url(Lead, 'changelist')}export.csv?{query}").status_code == 400
