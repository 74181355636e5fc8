"""Who may import, whose imports they see, and what becomes of imports and their personal data."""

from datetime import timedelta
from wsgiref.types import WSGIEnvironment

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from appointments.models import Appointment
from leads.imports.models import Import, ImportRow
from leads.imports.services import start_import
from leads.models import Lead
from leads.privacy.erasing import request_erasure
from organizations.models import MemberRole, Organization
from pipeline_backend.celery import app
from pipeline_backend.web.request_bodies import should_read_body
from tests.factories import make_member, owner_actor, owner_of, snapshot_of
from tests.imports.files import ADD, LIST, Page, csv_file, upload
from tests.staff.pages import admin_url, logged_in_client, shown_messages

FILE = csv_file(["email", "first name", "last name", "phone"], ["ada@example.com", "Ada", "Lovelace", "415 555 2671"])


@pytest.mark.parametrize(
    ("role", "code"),
    [
        (MemberRole.OWNER, 200),
        (MemberRole.MANAGER, 200),
        (MemberRole.SALES_OPS, 200),
        (MemberRole.CLOSER, 403),
        (MemberRole.SETTER, 403),
        (MemberRole.VIEWER, 403),
    ],
)
def test_owners_managers_and_sales_ops_may_import(
    mia: Client, organization: Organization, role: MemberRole, code: int
) -> None:
    page = Page(mia, organization, FILE)
    client = logged_in_client(make_member(organization, "somebody@acme.example", role=role))
    paths = [LIST, ADD, page.url.replace("change/", "progress/"), page.url.replace("change/", "refused/")]

    responses = [client.get(path) for path in paths]
    codes = {response.status_code for response in responses}
    for response in responses:
        list(response)  # one is a file, which is closed at its end
    # Those who see the page get its form back, with the problem.
    page_codes = {client.get(page.url).status_code, client.post(page.url, {"step": "columns"}).status_code}

    expected = {code} if code == 200 else {403, 404}
    assert codes | page_codes <= expected
    assert page.row.state == "MAPPING"


@pytest.mark.parametrize(("model", "kind"), [(Lead, "LEADS"), (Appointment, "APPOINTMENTS")])
def test_lists_lead_to_the_upload_of_their_rows_for_those_who_may_import(
    mia: Client, organization: Organization, model: type[Model], kind: str
) -> None:
    closer = logged_in_client(make_member(organization, "cleo@acme.example", role=MemberRole.CLOSER))
    address, link = admin_url(model, "changelist"), f'href="{ADD}?kind={kind}"'

    pages = [client.get(address).content.decode() for client in (mia, closer)]

    assert [link in page for page in pages] == [True, False]
    assert f'value="{kind}" selected' in mia.get(f"{ADD}?kind={kind}").content.decode()


def test_the_way_to_an_import_has_the_files_name_as_it_is(mia: Client, organization: Organization) -> None:
    page = Page(mia, organization, FILE, name="spring fair.csv")

    assert ">spring fair.csv</" in mia.get(page.url).content.decode()


def test_another_organizations_imports_are_unknown(
    mia: Client, organization: Organization, other_organization: Organization
) -> None:
    page = Page(mia, organization, FILE)
    page.check()
    before = snapshot_of(organization)
    stranger = logged_in_client(owner_of(other_organization))

    codes = {
        stranger.get(page.url).status_code,
        stranger.get(page.url.replace("change/", "progress/")).status_code,
        stranger.get(page.url.replace("change/", "refused/")).status_code,
        *(stranger.post(page.url, {"step": step}).status_code for step in ("columns", "start", "cancel")),
    }

    assert codes == {404}
    assert snapshot_of(organization) == before


def test_the_list_shows_earlier_imports(mia: Client, organization: Organization) -> None:
    Page(mia, organization, FILE, name="fair.csv").run()

    text = mia.get(LIST).content.decode()

    assert "fair.csv" in text
    assert "1 new" in text


def test_a_form_that_is_sent_twice_imports_once(mia: Client, organization: Organization) -> None:
    form = {"kind": "LEADS", "new_id": "01890a5d-ac96-774b-bcce-b302099a8057"}
    for _ in range(2):
        mia.post(ADD, {**form, "upload": SimpleUploadedFile("leads.csv", FILE)})

    assert Import.objects.of(organization).count() == 1


def test_only_so_many_imports_may_be_open(mia: Client, organization: Organization) -> None:
    for _ in range(20):
        upload(mia, FILE)

    response = upload(mia, FILE)

    assert "An organization can have at most 20 open imports" in str(response.context["adminform"].form.errors)


def test_refused_rows_are_deleted_a_week_after_the_last_step_and_imports_after_a_year(
    mia: Client, organization: Organization
) -> None:
    Page(mia, organization, FILE + b"nobody,,,\n").run()
    Page(mia, organization, FILE)
    rows = ImportRow.objects.of(organization)

    def prune_after(**age: int) -> tuple[int, list[str]]:
        past = timezone.now() - timedelta(**age)
        imports = Import.objects.of(organization)
        imports.update(updated_at=past, created_at=past)
        imports.exclude(rows_until=None).update(rows_until=past + timedelta(days=7))
        app.tasks["organizations.prune"].apply(throw=True)
        return rows.count(), sorted(Import.objects.of(organization).values_list("state", flat=True))

    assert prune_after(days=6, hours=23) == (2, ["DONE", "MAPPING"])
    assert prune_after(days=7, hours=1) == (0, ["CANCELED", "DONE"])
    assert prune_after(days=366) == (0, [])


def test_erasing_a_lead_removes_it_from_imports(
    mia: Client, organization: Organization, other_organization: Organization
) -> None:
    rows = [
        ["Ada@example.com", "Ada", "", ""],
        ["", "ADA", "Lovelace", ""],
        ["x", "", "", "(415) 555-2671"],
        ["bob@example.com", "Bob", "Builder", "+4930901820"],
    ]
    header = ["email", "first name", "last name", "phone"]
    Page(mia, organization, FILE).run()
    Page(mia, organization, csv_file(header, *rows)).check()
    upload(mia, FILE)
    Page(logged_in_client(owner_of(other_organization)), other_organization, FILE)
    lead = Lead.objects.of(organization).get()

    request_erasure(organization=organization, actor=owner_actor(organization), lead_id=lead.pk)

    left = [row.cells for row in ImportRow.objects.of(organization)]
    assert left == [rows[3]]
    assert not Import.objects.of(organization).exclude(file=None).exists()
    assert ImportRow.objects.of(other_organization).count() == 1


@pytest.mark.parametrize(
    ("path", "cookie", "megabytes", "is_read"),
    [
        (ADD, "sessionid=x", 9, True),
        (ADD, "sessionid=x", 11, False),
        (ADD, "", 9, False),
        ("/admin/leads/lead/add/", "sessionid=x", 9, False),
    ],
)
def test_the_web_server_reads_a_large_body_only_for_an_upload_with_a_session(
    path: str, cookie: str, megabytes: int, is_read: bool
) -> None:
    size = str(megabytes * 1024 * 1024)
    environ: WSGIEnvironment = {"REQUEST_METHOD": "POST", "CONTENT_LENGTH": size, "HTTP_COOKIE": cookie}

    assert should_read_body(environ, path) is is_read


def test_nothing_is_imported_that_a_colleague_has_changed_since_the_page_was_opened(
    mia: Client, organization: Organization
) -> None:
    page = Page(mia, organization, csv_file(["email", "First", "Second"], ["a@example.com", "Ada", "Bob"]))
    page.check(First="first_name")
    version = page.get().context["version"]
    page.check(Second="first_name", First="")

    steps = {"start": {}, "values": {}, "columns": {"column-0": "email", "column-1": "first_name"}}
    problems = [page.press(step, version=version, **data).context["problems"] for step, data in steps.items()]
    page.press("start", version=page.get().context["version"])

    assert all("Someone has changed this import" in problem for [problem] in problems)
    assert Lead.objects.of(organization).get().first_name == "Bob"


def test_an_import_that_a_colleague_has_started_is_not_canceled_by_a_page_from_before(
    mia: Client, organization: Organization
) -> None:
    page = Page(mia, organization, csv_file(["email", "First"], ["a@example.com", "Ada"]))
    page.check(First="first_name")
    start_import(file_import=page.row)

    url = admin_url(Import, "change", page.row.pk)
    refused = mia.post(url, {"step": "cancel", "state": "CHECKED"}).context["problems"]
    state = page.row.state
    page.work()
    late = mia.post(url, {"step": "cancel", "state": "IMPORTING"})

    assert refused == ["Someone has started this import since you opened the page. It was not canceled."]
    assert (state, page.row.state) == ("IMPORTING", "DONE")
    assert shown_messages(late)[-1] == "Nothing was canceled: the import has ended."
    history = mia.get(admin_url(Import, "history", page.row.pk)).content.decode()
    assert "Canceled." not in history
