"""Erasing always works: it reads only what is about the lead, and a worker does what takes long, and ends it."""

import cProfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.admin.models import LogEntry
from django.db import OperationalError, connection
from django.test import Client

from appointments.models import Appointment
from appointments.services import set_next_step
from foundation.api.exceptions import Conflict
from foundation.db.timestamps import now
from leads.imports import turns
from leads.imports.models import Import, ImportColumn, ImportRow
from leads.imports.services import add_import
from leads.imports.terms import terms_of
from leads.imports.worker import run_turn
from leads.merging import merge_leads, undo_merge
from leads.models import Lead, LeadChange, LeadMerge, LeadNote
from leads.privacy import erasing, imported_rows, traces
from leads.privacy.erasing import SMALL, SMALL_IMPORTED, request_erasure
from leads.privacy.identities import Identity
from leads.privacy.imported_rows import BATCH, Mentions
from leads.privacy.models import Erasure
from leads.privacy.saved_views import Person
from optins.models import OptIn
from organizations.actors import SYSTEM, actor_columns
from organizations.models import Organization, SavedView, SecurityEvent
from pipeline_backend.celery import app
from tests.client import ApiClient, sync_payload
from tests.factories import events_of, make_api, owner_of, snapshot_of
from tests.imports.files import expire_turns
from tests.merging.leads import book, make_lead
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

EMAIL, ROWS = "ada@example.com", 20_000
TABLES = ["leads_importrow", "leads_import", "webhooks_event", "django_admin_log", "notifications_notification"]
# Words of other people, as many different ones as in a large file.
OTHERS = """
INSERT INTO leads_importrow (id, created_at, organization_id, file_import_id, number, cells, verdict, details, terms)
SELECT gen_random_uuid(), now(), %s, %s, number + 10, jsonb_build_array(repeat('x', 1000)), '', '',
    ARRAY[number, -number, 7]
FROM generate_series(1, %s) AS number
"""
OTHER_EVENTS = """
INSERT INTO webhooks_event (id, created_at, organization_id, type, subject_id, body, request_id, actor_kind, actor_id,
    actor_name)
SELECT gen_random_uuid(), now(), %s, 'lead.updated', gen_random_uuid(), '{}', '', 'SYSTEM', '', ''
FROM generate_series(1, %s)
"""
OTHER_ENTRIES = """
INSERT INTO django_admin_log
    (action_time, object_id, object_repr, action_flag, change_message, content_type_id, user_id)
SELECT now(), gen_random_uuid()::text, 'x', 2, '', (SELECT id FROM django_content_type WHERE model = 'lead'), %s
FROM generate_series(1, %s)
"""
OTHER_NOTIFICATIONS = """
INSERT INTO notifications_notification (id, created_at, organization_id, kind, medium, facts, subject_id, state,
    attempts, claims, is_replay, last_error, next_attempt_at)
SELECT gen_random_uuid(), now(), %s, 'ENDPOINTS_FAILING', 'EMAIL', '{}', NULL, 'DONE', 1, 1, false, '', NULL
FROM generate_series(1, %s)
"""
ROWS_OF_THE_LEAD = """
INSERT INTO leads_importrow (id, created_at, organization_id, file_import_id, number, cells, verdict, details, terms)
SELECT gen_random_uuid(), now(), %s, %s, number + 10, '["ada@example.com"]', '', '', %s
FROM generate_series(1, %s) AS number
"""
SCANS = "SELECT relname, seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = ANY(%s)"


@pytest.fixture
def lead(organization: Organization, api: ApiClient) -> Lead:
    """Ada, who has the name and phone of a row of an import."""
    api.submit(email=EMAIL, first_name="Ada", last_name="Lovelace", phone_e164="+14155552671", phone_country="US")
    return Lead.objects.of(organization).get()


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


def load(organization: Organization, content: str, name: str = "leads.csv") -> Import:
    """Load a file as a worker does."""
    stored = add_import(
        organization=organization,
        actor=SYSTEM,
        kind="LEADS",
        file_name=name,
        content=content.encode(),
        time_zone="UTC",
    )
    run_turn()
    stored.refresh_from_db()
    return stored


def add_notes(lead: Lead, count: int = SMALL + 1) -> None:
    """Give the lead more notes than a request deletes itself."""
    common = {"organization": lead.organization, "lead": lead, "note": "Ada called", **actor_columns(SYSTEM)}
    LeadNote.unscoped.bulk_create([LeadNote(**common) for _ in range(count)])


def erase_by_page(owner: Client, lead: Lead) -> Any:
    """Press the button of the lead's page."""
    return owner.post(admin_url(Lead, "erase", lead.pk), {"email": EMAIL})


def run_task() -> None:
    """Do what a worker does that gets the message."""
    app.loader.import_default_modules()
    app.tasks["leads.run_imports"].apply(throw=True)


def scans() -> dict[str, int]:
    """Return how many rows of each table sequential scans of this transaction have read."""
    with connection.cursor() as cursor:
        cursor.execute(SCANS, [TABLES])
        return dict(cursor.fetchall())


def test_erasing_scans_no_table_that_grows_with_others(lead: Lead, owner: Client, organization: Organization) -> None:
    stored = load(organization, f"E-mail,First name\n{EMAIL},Ada\nbob@example.com,Bob\n")
    user = owner_of(organization).user
    with connection.cursor() as cursor:
        cursor.execute(OTHERS, [organization.pk, stored.pk, ROWS])
        cursor.execute(OTHER_EVENTS, [organization.pk, ROWS])
        cursor.execute(OTHER_ENTRIES, [user.pk, ROWS])
        cursor.execute(OTHER_NOTIFICATIONS, [organization.pk, ROWS])
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")
    before = scans()

    response = erase_by_page(owner, lead)

    large = [table for table in TABLES if table != "leads_import"]
    assert response.status_code == 302
    assert {table: scans()[table] - before[table] for table in large} == dict.fromkeys(large, 0)
    assert list(stored.rows.filter(number__lt=10).values_list("cells", flat=True)) == [["bob@example.com", "Bob"]]
    assert stored.rows.count() == ROWS + 1
    assert Lead.objects.of(organization).get().email == f"erased-{lead.pk}@erased.invalid"


def test_a_lead_of_which_little_is_stored_is_erased_at_once(
    lead: Lead, owner: Client, organization: Organization
) -> None:
    erase_by_page(owner, lead)

    page = owner.get(admin_url(Lead, "change", lead.pk)).content.decode()
    assert "The lead was erased." in page
    assert "Being erased" not in page
    assert Erasure.objects.of(organization).get().finished_at
    assert Lead.objects.of(organization).get().email == f"erased-{lead.pk}@erased.invalid"


def test_what_takes_long_is_erased_by_a_worker_and_the_page_says_so(
    lead: Lead, owner: Client, organization: Organization, api: ApiClient
) -> None:
    add_notes(lead)
    url = admin_url(Lead, "change", lead.pk)
    form = owner.get(admin_url(Lead, "erase", lead.pk)).content.decode()

    responses = [erase_by_page(owner, lead) for _ in range(2)]
    waiting = owner.get(url).content.decode()
    before = Lead.objects.of(organization).get().email, LeadNote.objects.of(organization).count()
    run_task()
    erased = owner.get(url).content.decode()

    assert f"{SMALL + 1} lead notes" in form
    assert [response.status_code for response in responses] == [302, 302]
    assert before == (EMAIL, SMALL + 1)
    assert "Being erased: requested by" in waiting
    assert "Being erased" not in erased
    assert Lead.objects.of(organization).get().email == f"erased-{lead.pk}@erased.invalid"
    assert LeadNote.objects.of(organization).count() == 0
    assert events_of(organization).count("lead.erased") >= 1
    assert not LogEntry.objects.filter(object_repr__contains="Ada").exists()
    entries = SecurityEvent.objects.filter(kind="lead_erased").order_by("created_at")
    assert [entry.actor for entry in entries] == [owner_of(organization).user] * 2
    assert f"{SMALL + 1} lead notes" in entries[1].details


def test_a_worker_that_is_killed_is_followed_by_another_without_a_message(
    lead: Lead, organization: Organization, other_organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """The end of a worker's process."""

    def kill_after(statements: int) -> Callable[..., Any]:
        count = 0

        def execute(run: Callable[..., Any], sql: str, *arguments: Any) -> Any:
            nonlocal count
            count += sql.startswith("DELETE") and "importundo" not in sql
            if count > statements:
                raise Killed
            return run(sql, *arguments)

        return execute

    add_notes(lead, 3 * traces.BATCH)
    others = snapshot_of(other_organization)
    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)
    for statements in (1, 1):
        expire_turns()
        with pytest.raises(Killed), connection.execute_wrapper(kill_after(statements)):
            run_task()
    left = LeadNote.objects.of(organization).count()

    expire_turns()
    run_task()
    run_task()

    assert 0 < left < 3 * traces.BATCH
    assert LeadNote.objects.of(organization).count() == 0
    assert Lead.objects.of(organization).get().email == f"erased-{lead.pk}@erased.invalid"
    assert Erasure.objects.of(organization).get().finished_at
    assert SecurityEvent.objects.filter(kind="lead_erased").count() == 2  # the request, and its end
    assert snapshot_of(other_organization) == others


@pytest.mark.parametrize("table", ["organizations_savedview", "leads_importrow"])
def test_a_lead_that_takes_a_request_too_long_is_erased_later(
    lead: Lead, owner: Client, organization: Organization, table: str
) -> None:
    def time_out(run: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        if table in sql:
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL statement_timeout = 1")
            return run("SELECT pg_sleep(10)", (), *arguments[1:])
        return run(sql, *arguments)

    with connection.execute_wrapper(time_out):
        request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)
    state = Erasure.objects.of(organization).get().finished_at, Lead.objects.of(organization).get().email
    run_task()

    assert state == (None, EMAIL)
    assert Lead.objects.of(organization).get().email == f"erased-{lead.pk}@erased.invalid"


def add_rows_of_the_lead(organization: Organization, count: int) -> Import:
    """Store an import with as many rows that mention the lead, and one of another person."""
    stored = load(organization, "E-mail\nbob@example.com\n")
    with connection.cursor() as cursor:
        cursor.execute(ROWS_OF_THE_LEAD, [organization.pk, stored.pk, terms_of(organization.pk, [EMAIL]), count])
    return stored


def test_a_request_reads_only_as_many_rows_as_it_may_erase(lead: Lead, organization: Organization) -> None:
    stored = add_rows_of_the_lead(organization, 2000)
    fetched = []

    def count_rows(run: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        result = run(sql, params, many, context)
        if "leads_importrow" in sql:
            fetched.append(context["cursor"].rowcount)
        return result

    with connection.execute_wrapper(count_rows):
        request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)

    assert max(fetched) == SMALL_IMPORTED + 1
    assert stored.rows.count() == 2001
    assert Erasure.objects.of(organization).get().finished_at is None


def test_while_a_worker_erases_rows_no_other_works_on_the_same_lead(lead: Lead, organization: Organization) -> None:
    stored = add_rows_of_the_lead(organization, 1000)
    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)
    erased = []

    def let_others_try(run: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        if sql.startswith('DELETE FROM "leads_importrow"'):
            before = stored.rows.count()
            run_task()
            erased.append(before - stored.rows.count())
        return run(sql, *arguments)

    with connection.execute_wrapper(let_others_try):
        run_task()

    assert erased == [0] * (1000 // BATCH)
    assert list(stored.rows.values_list("cells", flat=True)) == [["bob@example.com"]]
    assert Erasure.objects.of(organization).get().finished_at


@pytest.mark.parametrize(
    "cells",
    [
        "Ame\u0301lie,Lukasz,",
        "AMELIE,\u0141ukasz,",
        "\uff21m\u00e9lie,\u0141UKASZ,",
        ",,\uff0b\uff11 \uff14\uff11\uff15 555 2671",
        ",,+1 \u0664\u0661\u0665 555 2671",
    ],
)
def test_rows_that_spell_the_person_with_other_characters_go(
    organization: Organization, api: ApiClient, cells: str
) -> None:
    name = {"first_name": "Am\u00e9lie", "last_name": "\u0141ukasz"}
    api.submit(email=EMAIL, phone_e164="+14155552671", phone_country="US", **name)
    lead = Lead.objects.of(organization).get()
    stored = load(organization, f"E-mail,A,B,C\n,{cells}\nbob@example.com,Bob,\u0141ukasz,\n")

    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)

    assert list(stored.rows.values_list("cells", flat=True)) == [["bob@example.com", "Bob", "\u0141ukasz"]]


def add_similar_rows(organization: Organization, count: int) -> Import:
    """Store an import with as many rows that have the words of Ada's name, and are about others."""
    return load(organization, "E-mail,A,B\n" + "ada@x.example,Lovelace Street,x\n" * count)


def test_the_last_transaction_of_an_erasure_compares_no_imported_rows(lead: Lead, organization: Organization) -> None:
    stored = add_similar_rows(organization, SMALL_IMPORTED + 10)
    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)
    statements = []

    def note(run: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        statements.append(sql)
        return run(sql, *arguments)

    with connection.execute_wrapper(note):
        run_task()

    locks = [number for number, sql in enumerate(statements) if "leads_erasure" in sql and "FOR UPDATE" in sql]
    compared = [number for number, sql in enumerate(statements) if "leads_importrow" in sql]
    assert len(locks) == 1
    assert 0 < max(compared) < locks[0]
    assert stored.rows.count() == SMALL_IMPORTED + 10
    assert Erasure.objects.of(organization).get().finished_at


def test_each_turn_continues_after_the_rows_that_earlier_ones_have_emptied(
    organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        api.submit(email=EMAIL, external_reference=f"form-{number}")
    request = {"organization": organization, "actor": SYSTEM, "lead_id": Lead.objects.of(organization).get().pk}
    seen: list[UUID] = []

    def forget(*arguments: Any) -> Any:
        seen.extend(arguments[2])
        return traces.forget_traces(*arguments)

    for module, name, value in ((erasing, "SMALL", 0), (erasing, "BATCH", 1), (turns, "TURN_SECONDS", 0)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(erasing, "forget_traces", forget)
    request_erasure(**request)
    for _ in range(60):
        run_task()

    assert Erasure.objects.of(organization).get().finished_at
    opt_ins = set(OptIn.objects.of(organization).values_list("pk", flat=True))
    # Twice while a turn ends at its traces, and once more at the end.
    assert max(Counter(id for id in seen if id in opt_ins).values()) <= 3


def test_erasures_of_one_organization_take_turns_with_those_of_others(
    organization: Organization, other_organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "TURN_SECONDS", 0)
    leads = []
    for owner, names in ((organization, "abc"), (other_organization, "d")):
        for name in names:
            lead_id = make_api(owner).submit(email=f"{name}@example.com").json()["data"]["lead_id"]
            leads.append(Lead.objects.of(owner).get(pk=lead_id))
            add_notes(leads[-1], 2 * traces.BATCH)
            request_erasure(organization=owner, actor=SYSTEM, lead_id=leads[-1].pk)
    emails = {lead.pk: lead.email for lead in leads}
    order: list[str] = []

    for _ in range(40):
        run_task()
        done = Erasure.unscoped.exclude(finished_at=None).values_list("lead_id", flat=True)
        order += sorted({emails[id][0] for id in done} - set(order))

    assert order == ["a", "d", "b", "c"]
    assert LeadNote.unscoped.count() == 0


def test_a_turn_can_end_between_the_references_of_a_lead_that_no_row_mentions(
    lead: Lead, organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        api.book(external_reference=f"cal-{number}", lead_email=EMAIL)
    add_notes(lead)
    file = {"kind": "APPOINTMENTS", "file_name": "a.csv", "content": b"Reference\nother\n", "time_zone": "UTC"}
    add_import(organization=organization, actor=SYSTEM, **file)
    run_turn()
    monkeypatch.setattr(turns, "TURN_SECONDS", 0)
    monkeypatch.setattr(imported_rows, "VALUES", 1)
    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)

    steps = []
    for _ in range(60):
        run_task()
        steps.append((Erasure.objects.of(organization).get().position or {}).get("step"))

    assert steps[:5] == [1, 2, 3, 4, 5]
    assert Erasure.objects.of(organization).get().finished_at


def test_an_erasure_that_fails_holds_up_neither_others_nor_imports(
    lead: Lead, organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Lead.objects.of(organization).get(pk=api.submit(email="zoe@example.com").json()["data"]["lead_id"])
    for row in (lead, other):
        add_notes(row)
        request_erasure(organization=organization, actor=SYSTEM, lead_id=row.pk)
    run = erasing.run_erasure

    def fail(erasure: Erasure, turn: turns.Turn) -> None:
        if erasure.lead_id == lead.pk:
            raise OperationalError("index row size exceeds maximum")
        run(erasure, turn)

    monkeypatch.setattr(erasing, "run_erasure", fail)
    with pytest.raises(OperationalError):
        run_task()
    expire_turns()
    run_task()
    stored = load(organization, "E-mail\nbob@example.com\n")

    assert stored.rows.count() == 1
    assert [row.finished_at is None for row in Erasure.objects.of(organization).order_by("created_at")] == [True, False]


def test_a_row_of_another_person_stays_whatever_a_lead_calls_itself(
    owner: Client, organization: Organization, api: ApiClient
) -> None:
    api.submit(email=EMAIL, first_name="Gmail", last_name="Com")
    rows = ["bob@gmail.com,Bob", "eve@gmail.com,see www.gmail.com", "zoe@example.com,Gmail Com", ",Gmail Com"]
    stored = load(organization, "\n".join(["E-mail,First name", *rows]))

    erase_by_page(owner, Lead.objects.of(organization).get())

    assert [",".join(row.cells) for row in stored.rows.order_by("number")] == rows[:3]
    page = owner.get(admin_url(Import, "change", stored.pk)).content.decode()
    assert "1 row was removed, because a lead that it mentions was erased." in page


@pytest.mark.parametrize("small", [0, SMALL])
def test_what_a_lead_was_called_before_goes_too(
    small: int, owner: Client, organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "SMALL", small)  # by a worker, or by the request
    api.submit(
        email="ada@work.example", first_name="Adda", last_name="Byron", phone_e164="+14155552671", phone_country="US"
    )
    lead = Lead.objects.of(organization).get()
    phone = {"phone_e164": "+4512345678", "phone_country": "DK"}
    merged = api.submit(email="bobbo@x.example", first_name="Bobbo", last_name="Kurz", **phone)
    url = admin_url(Lead, "change", lead.pk)
    owner.post(url, form_data(owner, url, email=EMAIL, first_name="Ada", last_name="Lovelace", phone="+14155552672"))
    merge_leads(organization=organization, actor=SYSTEM, keep=lead.pk, merge=UUID(merged.json()["data"]["lead_id"]))
    rows = ["ada@work.example,", ",Byron Adda", ",+1 (415) 555-2671", ",Bobbo Kurz", ",12 34 56 78", ",Lovelace Ada"]
    stored = load(organization, "\n".join(["E-mail,Note", *rows, "bob@example.com,Bob"]))
    for query in ("q=ada%40work.example", "q=bobbo%40x.example", "q=Kurz", "q=lovelace", "q=zoltan"):
        owner.post(f"{admin_url(Lead, 'changelist')}views/save/", {"name": query[2:], "query": query})

    erase_by_page(owner, Lead.objects.of(organization).get())
    run_task()

    assert [row.cells[0] for row in stored.rows.all()] == ["bob@example.com"]
    assert list(SavedView.objects.of(organization).values_list("query", flat=True)) == ["q=zoltan&view=all"]


def test_long_searches_and_many_former_names_are_compared_in_linear_time(
    lead: Lead, organization: Organization
) -> None:
    """A view has 490 words, a lead had 24,000: each with each were minutes, in which no one's events were seen."""
    words = [f"{a}{b}{c}" for a in "qxz" for b in "abcdefghijklm" for c in "abcdefghijklm"][:490]
    view = SavedView(organization=organization, name="v", query=f"q={'+'.join(words)}")
    person = Person(Identity([EMAIL], [], [(" ".join(f"w{n}x{i}" for i in range(127)), "") for n in range(190)]))
    profile = cProfile.Profile()

    is_in = profile.runcall(person.is_in, view)

    assert (is_in, len(person.words) > 20_000) == (False, True)
    assert sum(entry.callcount for entry in profile.getstats()) < 20_000


@pytest.mark.parametrize(
    "row",
    [
        ",J\u00dcRGEN WEISS",
        ",J\u00fcrgen Weiss",
        ",J\u00fcr\u00adgen We\u200bi\u00df",
        "weiss @ b\u00fccher.example,",
        "weiss@b\u00fccher\u3002example,",
        ",mailto:weiss%40b\u00fccher.example",
    ],
)
def test_other_spellings_of_a_name_and_an_email_are_found(organization: Organization, api: ApiClient, row: str) -> None:
    api.submit(email="weiss@b\u00fccher.example", first_name="J\u00fcrgen", last_name="Wei\u00df")
    stored = load(organization, f"E-mail,Name\n{row}\nbob@example.com,Bob\n")

    request_erasure(organization=organization, actor=SYSTEM, lead_id=Lead.objects.of(organization).get().pk)

    assert [stored_row.cells[0] for stored_row in stored.rows.all()] == ["bob@example.com"]


def test_former_names_of_a_merged_lead_are_not_mixed_with_the_kept_leads(
    owner: Client, organization: Organization, api: ApiClient
) -> None:
    api.submit(email=EMAIL, first_name="Anna", last_name="Meyer")
    merged = api.submit(email="bob@x.example", first_name="Robert", last_name="Schulz").json()["data"]["lead_id"]
    url = admin_url(Lead, "change", merged)
    owner.post(url, form_data(owner, url, first_name="Bob"))
    kept = Lead.objects.of(organization).get(email=EMAIL)
    merge_leads(organization=organization, actor=SYSTEM, keep=kept.pk, merge=UUID(merged))
    stored = load(organization, "E-mail,Name\n,Robert Schulz\n,Robert Meyer\n")

    request_erasure(organization=organization, actor=SYSTEM, lead_id=kept.pk)

    assert [row.cells[1] for row in stored.rows.all()] == ["Robert Meyer"]


def test_a_text_is_compared_with_many_former_addresses_as_fast_as_with_one(
    lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one call of an expression, which nothing interrupts: other organizations' events waited for it."""
    cells = ["ab c. a@b.cd " * 700] * 10

    def seconds(emails: list[str]) -> float:
        monkeypatch.setattr("leads.privacy.imported_rows.identity_of", lambda _: Identity(emails, [], []))
        mentions, times = Mentions(lead), []
        for _ in range(5):
            started = time.perf_counter()
            assert not mentions.are_in(cells)
            times.append(time.perf_counter() - started)
        assert mentions.are_in([*cells, f"see {emails[-1]}."])
        return min(times)

    many = [f"a{number}.b@former{number}.example" for number in range(500)]
    assert seconds(many) < 5 * seconds(many[:1])
    # Parts of others' addresses, which only the character before them tells apart.
    cells = [" ".join(f"x'{email}" for email in many[number::10]) for number in range(10)]
    assert seconds([f"o'{email}" for email in many]) < 50 * seconds(["o'a1.b@former1.example"])


def test_a_text_is_compared_with_many_former_names_as_fast_as_with_one(lead: Lead, organization: Organization) -> None:
    cells = [".a" * 5000] * 10

    def seconds() -> float:
        mentions = Mentions(lead)
        times = []
        for _ in range(5):
            started = time.perf_counter()
            assert not mentions.are_named_in(cells)
            times.append(time.perf_counter() - started)
        return min(times)

    one = seconds()
    for number in range(400):
        names = [f"lee{number}", f"lee{number + 1}" if number < 399 else "Lovelace"]
        LeadChange.unscoped.create(
            organization=organization, lead=lead, fields={"last_name": names}, **actor_columns(SYSTEM)
        )

    assert len(Mentions(lead).names) >= 400
    assert seconds() < 20 * one


def test_a_merge_is_not_undone_while_the_lead_is_being_erased(
    lead: Lead, organization: Organization, api: ApiClient
) -> None:
    merged = UUID(api.submit(email="ada@work.example").json()["data"]["lead_id"])
    merge_leads(organization=organization, actor=SYSTEM, keep=lead.pk, merge=merged)
    add_notes(lead)
    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)
    before = snapshot_of(organization)

    with pytest.raises(Conflict, match="being erased"):
        undo_merge(organization=organization, actor=SYSTEM, merge_id=LeadMerge.objects.of(organization).get().pk)

    assert snapshot_of(organization) == before


def test_an_erased_lead_is_not_booked(lead: Lead, organization: Organization, api: ApiClient) -> None:
    """docs/interface.md, A10"""
    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)
    before, email = snapshot_of(organization), Lead.objects.of(organization).get().email

    by_id = api.book(lead_id=str(lead.pk), lead_email=None, notes="Ada Lovelace", meeting_url="https://meet.example/a")
    by_email = api.book(lead_email=email)

    for response, field in ((by_id, "lead_id"), (by_email, "lead_email")):
        problem = {field: [f"{field} is that of an erased lead"]}
        assert (response.status_code, response.json()["errors"]) == (400, problem)
    assert snapshot_of(organization) == before


def test_a_lead_that_is_being_erased_is_not_merged(lead: Lead, organization: Organization, api: ApiClient) -> None:
    add_notes(lead)
    other = UUID(api.submit(email="zoe@example.com").json()["data"]["lead_id"])
    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)
    before = snapshot_of(organization)

    for keep, merge in ((lead.pk, other), (other, lead.pk)):
        with pytest.raises(Conflict, match="being erased"):
            merge_leads(organization=organization, actor=SYSTEM, keep=keep, merge=merge)

    assert snapshot_of(organization) == before


def test_headers_and_names_of_files_that_mention_the_lead_are_emptied(
    lead: Lead, owner: Client, organization: Organization
) -> None:
    stored = load(organization, f"{EMAIL},Ada,x\nbob@example.com,Bob,y\n", name="Ada Lovelace.csv")
    zoned = load(organization, f"Time (Europe/Berlin),{EMAIL}\n2027-01-05 10:00,bob@example.com\n", name="a.csv")
    named = load(organization, "Time (Asia/Tokyo),E-mail\n2027-01-05 10:00,bob@example.com\n", name="Ada Lovelace.csv")
    other = load(organization, "E-mail,Ada\nbob@example.com,Bob\n", name="Ada and Zoe.csv")
    owner.post(admin_url(Import, "change", stored.pk), {"step": "columns"})
    owner.post(admin_url(Import, "change", stored.pk), {"step": "cancel"})

    erase_by_page(owner, lead)

    for row in (stored, zoned, named, other):
        row.refresh_from_db()
    assert (stored.header, stored.file_name) == (["", "", ""], "erased")
    assert (zoned.header, zoned.file_name) == (["(Europe/Berlin)", ""], "erased"), "its times are still read as before"
    assert (named.header, named.file_name) == (["Time (Asia/Tokyo)", "E-mail"], "erased")
    assert (other.header, other.file_name) == (["E-mail", "Ada"], "Ada and Zoe.csv")
    assert not LogEntry.objects.filter(object_id=str(stored.pk)).exists()


def test_rows_that_were_stored_before_the_upgrade_are_found(lead: Lead, organization: Organization) -> None:
    stored = load(organization, "E-mail,A,B\n,Lovelace,Ada\nbob@example.com,Bob,\n")
    ImportRow.objects.of(organization).update(terms=None)
    Import.objects.of(organization).update(terms=None)

    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)

    assert list(stored.rows.values_list("cells", flat=True)) == [["bob@example.com", "Bob"]]


def test_rows_with_the_email_of_a_merged_lead_go(lead: Lead, organization: Organization, api: ApiClient) -> None:
    merged = UUID(api.submit(email="ada@work.example").json()["data"]["lead_id"])
    merge_leads(organization=organization, actor=SYSTEM, keep=lead.pk, merge=merged)
    stored = load(organization, "E-mail,Name\nADA@work.example,\nbob@example.com,Bob\n")

    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)

    assert list(stored.rows.values_list("cells", flat=True)) == [["bob@example.com", "Bob"]]


def test_an_import_that_is_canceled_by_an_erasure_says_why(
    lead: Lead, owner: Client, organization: Organization, other_organization: Organization
) -> None:
    file = {"kind": "LEADS", "file_name": "a.csv", "content": b"E-mail\nbob@example.com\n", "time_zone": "UTC"}
    stored = add_import(organization=organization, actor=SYSTEM, **file)
    other = add_import(organization=other_organization, actor=SYSTEM, **file)

    erase_by_page(owner, lead)

    page = owner.get(admin_url(Import, "change", stored.pk)).content.decode()
    other.refresh_from_db()
    assert "A lead of your organization was erased before this file had been read" in page
    assert "ada" not in page.lower().replace("canada", "")
    assert other.state == "READING"


def test_columns_that_are_named_like_the_person_are_forgotten(organization: Organization, lead: Lead) -> None:
    names = ["ada lovelace", "lovelace ada", "vip customer ada lovelace seat 4", "ada", "1 415 555 2671"]
    names += ["ada example com", "mail ada example com", "first name", "adams", "adams lovelace"]
    for name in names:
        ImportColumn.objects.create(organization=organization, kind="LEADS", name=name, field="")

    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)

    kept = ImportColumn.objects.of(organization).order_by("name").values_list("name", flat=True)
    assert list(kept) == ["adams", "adams lovelace", "first name"]


def test_nothing_is_accepted_for_a_lead_while_a_worker_erases_it(api: ApiClient, organization: Organization) -> None:
    """L49: repeated later, it makes a new lead."""
    lead_id = make_lead(api, "ada@example.com")
    known = book(api, "ada@example.com", "known")
    synced = "/api/external/sync/SCHEDULER_A/appointments/b-1"
    assert api.put(synced, sync_payload()).status_code == 201
    form = "/api/external/sync/FORMBUILDER_A/opt-ins/f-1"
    filled = {"changed_at": "2026-12-01T10:00:00Z", "email": "ada@example.com", "first_name": "Ada"}
    assert api.put(form, filled).status_code == 201
    lists = [f"/api/external/leads/{lead_id}/notes", f"/api/external/appointments/{known}/notes"]
    notes = [f"{path}/{api.post(path, {'note': 'Likes tea'}).json()['data']['id']}" for path in lists]
    by = {"organization": organization, "actor": SYSTEM, "lead_id": lead_id}
    step = set_next_step(**by, at=now() + timedelta(days=1), type="CALL")
    Erasure.objects.create(organization=organization, lead_id=lead_id, updated_at=now(), **actor_columns(SYSTEM))
    before = snapshot_of(organization)

    refused = [
        api.book(lead_email="ADA@example.com", external_reference="new"),
        api.submit(email="ada@example.com"),
        api.post("/api/external/leads", {"email": "ada@example.com", "first_name": "Ada"}),
        api.patch(f"/api/external/leads/{lead_id}", {"first_name": "Ada"}),
        api.post(f"/api/external/leads/{lead_id}/notes", {"note": "Call her"}),
        api.post(f"/api/external/appointments/{known}/notes", {"note": "Call her"}),
        api.reschedule(external_reference="known", notes="Call her"),
        api.cancel(external_reference="known", notes="Call her"),
        api.patch(f"/api/external/appointments/{known}", {"outcome_role": "WON"}),
        api.patch(f"/api/external/leads/{lead_id}/status", {"status_id": api.get_status("WON")["id"]}),
        api.put(synced, sync_payload(changed_at="2026-12-01T11:00:00Z", state="CANCELED")),
        api.put("/api/external/sync/SCHEDULER_A/appointments/b-2", sync_payload()),
        api.put(form, {**filled, "changed_at": "2026-12-01T11:00:00Z", "utm_source": "x"}),
        *(api.patch(path, {"note": "Likes coffee"}) for path in notes),
        *map(api.delete, notes),
    ]

    text = "The lead is being erased; send the request again"
    assert [(answer.status_code, answer.json()["message"]) for answer in refused] == [(503, text)] * 17
    assert {answer.headers["Retry-After"] for answer in refused} == {"60"}
    owner = logged_in_client(owner_of(organization))
    step_url, cancel_url = admin_url(Lead, "finish_next_step", lead_id), admin_url(Appointment, "cancel", known)
    for url, form in ((step_url, {"step": step.pk}), (cancel_url, form_data(owner, cancel_url))):
        assert form_errors(owner.post(url, form)) == [text]
    assert snapshot_of(organization) == before
    rows = [{"email": email, "first_name": "Ada"} for email in ("ada@example.com", "bob@example.com")]
    imported = api.post("/api/external/leads/import", {"rows": rows}).json()["data"]["rows"]
    assert [row["status"] for row in imported] == [503, 201]
