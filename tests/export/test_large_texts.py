"""Opt-ins of a megabyte each: pages, exports and the file about a lead take no more memory for many than for few."""

import csv
import json
import time
from collections.abc import Callable
from io import BytesIO

import pytest
from django.db import connection
from django.test import Client

from leads.models import Lead
from optins.models import OptIn, QuestionAnswer
from organizations.models import MemberRole, Organization
from staff.toolkit.export import Cell, write_csv
from staff.toolkit.xlsx import write_xlsx
from tests.client import ApiClient
from tests.export.files import download, exported, read_table
from tests.export.test_memory import MB, memory, reset_peak
from tests.staff.pages import admin_url
from webhooks.models import Event

OPT_INS, ANSWERS, LENGTH = 40, 50, 9_990
# An emoji, so that Python needs four bytes for each character.
OPT_INS_OF_A_LEAD = """
INSERT INTO optins_optin (id, created_at, organization_id, lead_id, source, external_reference, landing_page)
SELECT gen_random_uuid(), created_at - number * interval '1 minute', organization_id, lead_id, source,
    'copy ' || number, repeat('l', 8000)
FROM optins_optin, generate_series(1, %s) AS number
"""
ANSWERS_OF_COPIES = """
INSERT INTO optins_questionanswer (id, created_at, organization_id, opt_in_id, question, answer, position)
SELECT gen_random_uuid(), created_at, organization_id, id, '😀' || repeat('q', %s), '😀' || repeat('a', %s), number
FROM optins_optin, generate_series(1, %s) AS number WHERE external_reference LIKE 'copy %%'
"""
EVENTS_OF_COPIES = """
INSERT INTO webhooks_event (id, created_at, organization_id, type, subject_id, body, request_id, actor_kind, actor_id,
    actor_name)
SELECT gen_random_uuid(), created_at, organization_id, 'lead.opted_in', id,
    json_build_object('data', '😀' || repeat('e', 1000000))::text, '', 'SYSTEM', '', ''
FROM optins_optin WHERE external_reference LIKE 'copy %%'
"""
CHANGES_OF_THE_LEAD = """
INSERT INTO leads_leadchange (id, created_at, organization_id, lead_id, fields, actor_kind, actor_id, actor_name)
SELECT gen_random_uuid(), created_at, organization_id, lead_id, json_build_object(
    'custom_fields', json_build_array(json_build_array(), json_build_array(json_build_object(
        'id', id, 'key', 'x', 'label', 'Remarks', 'value', '😀' || repeat('v', 1000000)
    ))),
    'first_name', json_build_array('Ada', 'Augusta')
), 'SYSTEM', '', ''
FROM optins_optin WHERE external_reference LIKE 'copy %%'
"""


@pytest.fixture
def manager(client_with: Callable[..., Client]) -> Client:
    return client_with(MemberRole.MANAGER)


@pytest.fixture
def lead(organization: Organization, api: ApiClient) -> Lead:
    """A lead with one small opt-in."""
    api.submit(email="ada@example.com", external_reference="small")
    return Lead.objects.of(organization).get()


def add_large_opt_ins(count: int) -> None:
    """Copy the only opt-in, with an event and a change of the lead for each copy: large ones."""
    with connection.cursor() as cursor:
        cursor.execute(OPT_INS_OF_A_LEAD, [count])
        cursor.execute(ANSWERS_OF_COPIES, [LENGTH, LENGTH, ANSWERS])
        cursor.execute(EVENTS_OF_COPIES, [])
        cursor.execute(CHANGES_OF_THE_LEAD, [])


def page(client: Client, lead: Lead) -> None:
    client.get(admin_url(Lead, "change", lead.pk)).content.decode()


def history(client: Client, lead: Lead) -> None:
    client.get(admin_url(Lead, "history", lead.pk)).content.decode()


def everything(client: Client, lead: Lead) -> int:
    response = client.post(admin_url(Lead, "export_json", lead.pk))
    return sum(map(len, response.streaming_content if response.streaming else [response.content]))


def table(kind: str) -> Callable[[Client, Lead], int]:
    """Return a function that exports all opt-ins, and keeps nothing of the file."""
    url = f"{admin_url(OptIn, 'changelist')}export.{kind}?view=all"

    def read(client: Client, lead: Lead) -> int:
        return sum(map(len, client.get(url).streaming_content))

    read.__name__ = kind
    return read


@pytest.mark.parametrize(
    "read", [page, history, everything, table("csv"), table("xlsx")], ids=["page", "history", "json", "csv", "xlsx"]
)
def test_forty_opt_ins_of_a_megabyte_take_less_than_40_mb(
    manager: Client, lead: Lead, measurements: dict[str, str], read: Callable[[Client, Lead], object]
) -> None:
    read(manager, lead)  # loads what each request needs
    add_large_opt_ins(OPT_INS)
    before = memory("VmRSS")
    reset_peak()

    read(manager, lead)

    growth = memory("VmHWM") - before
    measurements[f"large opt-ins, {read.__name__}"] = f"{growth // MB} MB of memory"
    assert growth < OPT_INS * MB, growth // MB  # their texts take 160 MB in Python


def test_the_timeline_shows_the_beginning_of_ten_answers_and_leads_to_all(manager: Client, lead: Lead) -> None:
    add_large_opt_ins(1)
    small, large = OptIn.objects.of(lead.organization).order_by("-created_at")

    entries = manager.get(admin_url(Lead, "change", lead.pk), {"kind": "opt_ins"}).context["record"]["timeline"].entries

    assert [entry.id for entry in entries] == [small.pk, large.pk]
    *answers, landing_page, link = entries[1].details
    assert [(detail.label, detail.text) for detail in answers] == [(f"😀{'q' * 299}…", f"😀{'a' * 299}…")] * 10
    assert (landing_page.label, landing_page.text) == ("Landing page", "l" * 300 + "…")
    assert f'href="{admin_url(OptIn, "change", large.pk)}"' in link.text
    assert not any("href" in detail.text for detail in entries[0].details)


def test_a_change_that_is_too_long_for_the_timeline_is_still_named(manager: Client, lead: Lead) -> None:
    add_large_opt_ins(1)

    page = manager.get(admin_url(Lead, "change", lead.pk), {"kind": "changes"})
    [entry] = page.context["record"]["timeline"].entries

    assert entry.text == "Custom fields, first name changed"
    assert [tuple(detail) for detail in entry.details] == [
        ("Custom fields", "too long to show here", "too long to show here"),
        ("First name", "Augusta", "Ada"),
    ]


def test_the_file_about_a_lead_has_every_row_and_is_indented_as_before(manager: Client, lead: Lead) -> None:
    add_large_opt_ins(3)

    response = manager.post(admin_url(Lead, "export_json", lead.pk))
    text = response.getvalue().decode()

    data = json.loads(text)
    assert text == json.dumps(data, indent=2, ensure_ascii=False)
    assert [row["id"] for row in data["opt-ins"]] == ids(OptIn, lead)
    assert {row["id"] for row in data["question_answers"]} == {*ids(QuestionAnswer, lead)}
    assert [row["created_at"] for row in data["question_answers"]] == sorted(
        row["created_at"] for row in data["question_answers"]
    )
    assert {row["id"] for row in data["events"]} == {*ids(Event, lead)}


def ids(model: type, lead: Lead) -> list[str]:
    """Return the ids of the rows of the lead's organization, the oldest first."""
    rows = model.objects.of(lead.organization).order_by("created_at", "pk")  # type: ignore[attr-defined]
    return [str(pk) for pk in rows.values_list("pk", flat=True)]


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_large_and_small_rows_are_exported_in_their_order(manager: Client, lead: Lead, kind: str) -> None:
    add_large_opt_ins(5)
    csv.field_size_limit(2_000_000)

    _, *rows = read_table(kind, download(manager, OptIn, kind))

    references = ["small", *(f"copy {number}" for number in range(1, 6))]
    assert [next(cell for cell in row if cell in references) for row in rows] == references
    if kind == "csv":
        question = f"😀{'q' * LENGTH}: 😀{'a' * LENGTH}"
        answers = [row["Answers"] for row in exported(manager, OptIn)][1:]
        assert [text.split("\n") for text in answers] == [[question] * ANSWERS] * 5


@pytest.mark.parametrize("letter", ["a", "é", "😀"])
def test_a_text_that_excel_has_no_room_for_ends_with_a_remark(letter: str) -> None:
    """Excel counts UTF-16 units, and offers to repair a file with a longer text."""
    size = len(letter.encode("utf-16-le")) // 2
    fits, cut = letter * (32_767 // size), letter * (32_767 // size + 1)
    file = BytesIO()

    write_xlsx(file, "Texts", ["Text"], [[fits], [cut]])
    _, [first], [second] = read_table("xlsx", file.getvalue())

    assert first == fits
    assert second.endswith(f"{letter}… (cut: a cell can't have more)")
    assert len(second.encode("utf-16-le")) // 2 <= 32_767


def test_empty_cells_cost_little(measurements: dict[str, str]) -> None:
    """A small workbook can have a hundred thousand refused rows of 200 columns, of which one is filled."""
    empty, filled = (cpu_time([*[text] * 199, "TRUE"]) for text in ("", "TRUE"))

    measurements["a CSV row with 199 empty cells"] = f"{empty / filled:.2f} times the time of a filled one"
    assert empty * 3 < filled


def cpu_time(row: list[Cell]) -> float:
    """Return the shortest time of three for writing the row 5,000 times."""
    times = []
    for _ in range(3):
        started = time.thread_time()
        write_csv(BytesIO(), "", [], [row] * 5_000)
        times.append(time.thread_time() - started)
    return min(times)
