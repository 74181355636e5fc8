"""Importing leads: what each row does, and what is recorded."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from appointments.services import set_next_step
from leads.imports.models import Import
from leads.models import Lead, Source
from leads.services import edit_lead
from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.factories import events_of, make_api, make_custom_field, make_status, owner_actor, snapshot_of
from tests.imports.files import Page, csv_file, workbook
from tests.merging.leads import make_lead, merge
from tests.staff.pages import list_url
from webhooks.models import Event


def lead_with(organization: Organization, email: str) -> Lead:
    found: Lead = Lead.objects.of(organization).get(email=email)
    return found


def test_a_file_adds_leads_changes_those_with_its_emails_and_leaves_equal_ones(
    mia: Client, organization: Organization, api: ApiClient, host: Membership
) -> None:
    api.submit(email="Ada@example.com", first_name="Ada", last_name="Lovelace")
    api.submit(email="same@example.com", first_name="Sam", last_name="Same")
    page = Page(
        mia,
        organization,
        csv_file(
            ["E-mail", "First name", "Last name", "Phone", "Status", "Setter", "Source"],
            ["ada@EXAMPLE.com", "Augusta", "", "(415) 555-2671", "follow-up", "HANA@acme.example", ""],
            ["new@example.com", "Nora", "New", "+49 30 901820", "", "", "Trade fair"],
            ["same@example.com", "Sam", "", "", "", "", ""],
            ["nobody", "", "", "", "", "", ""],
        ),
    )
    page.check()

    assert page.row.counts == {"NEW": 1, "CHANGED": 1, "UNCHANGED": 1, "REFUSED": 1}
    assert page.report() == [
        (
            2,
            "CHANGED",
            "First name: Ada → Augusta; Phone: – → +14155552671; Status: New lead → Follow-up; Setter: – → Hana Host",
        ),
        (3, "NEW", "First name: Nora; Last name: New; Phone: +4930901820; New source: Trade fair"),
        (4, "UNCHANGED", ""),
        (5, "REFUSED", "E-mail: “nobody” is not an e-mail address"),
    ]

    page.press("start")

    ada, nora = lead_with(organization, "Ada@example.com"), lead_with(organization, "new@example.com")
    assert page.row.state == "DONE"
    assert page.row.counts == {"NEW": 1, "CHANGED": 1, "UNCHANGED": 1, "REFUSED": 1}
    assert (ada.first_name, ada.last_name, ada.phone_e164, ada.phone_country) == (
        "Augusta",
        "Lovelace",
        "+14155552671",
        "US",
    )
    assert (ada.status.name, ada.setter) == ("Follow-up", host)
    assert (nora.status.name, nora.last_source.name, nora.first_source.name) == ("New lead", "Trade fair", "Trade fair")
    assert Lead.objects.of(organization).count() == 3


def test_each_change_is_recorded_as_the_members_who_has_uploaded_the_file(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    api.submit(email="ada@example.com", first_name="Ada")
    before = events_of(organization)

    Page(
        mia,
        organization,
        csv_file(["email", "first name"], ["ada@example.com", "Augusta"], ["new@example.com", "Nora"]),
    ).run()

    new = [event for event in Event.objects.of(organization) if event.actor_name == "Mia Manager (import)"]
    history = lead_with(organization, "new@example.com").status_changes.get()
    assert sorted([*before, "lead.created", "lead.updated"]) == events_of(organization)
    assert sorted((event.type, event.actor_kind) for event in new) == [
        ("lead.created", "STAFF"),
        ("lead.updated", "STAFF"),
    ]
    assert (history.to_status.name, history.actor_name) == ("New lead", "Mia Manager (import)")


def test_the_check_changes_nothing_but_the_import(mia: Client, organization: Organization, api: ApiClient) -> None:
    api.submit(email="ada@example.com", first_name="Ada")

    def snapshot() -> list[tuple[str, str]]:
        return [row for row in snapshot_of(organization) if not row[0].startswith("Import")]

    before = snapshot()

    page = Page(
        mia,
        organization,
        csv_file(["email", "first name", "source"], ["ada@example.com", "Eve", "x"], ["new@example.com", "Nora", "y"]),
    )
    page.check()

    assert page.row.counts == {"NEW": 1, "CHANGED": 1}
    assert snapshot() == before


def test_the_values_of_custom_fields_are_read_by_their_types(mia: Client, organization: Organization) -> None:
    fields = {
        key: make_custom_field(organization, "LEAD", key, type=type, options=["Gold", "Silver"])
        for key, type in {
            "budget": "NUMBER",
            "vip": "BOOLEAN",
            "since": "DATE",
            "tier": "SELECT",
            "memo": "TEXT",
        }.items()
    }
    header = ["email", "Budget", "VIP", "Since", "Tier", "Memo"]

    page = Page(
        mia,
        organization,
        csv_file(
            header,
            ["a@example.com", "12.5", "yes", "5.1.2027", "gold", "=1+1"],
            ["b@example.com", "1,5", "maybe", "1/2/2027", "Lead", ""],
        ),
    ).run()

    lead, other = lead_with(organization, "a@example.com"), lead_with(organization, "b@example.com")
    assert other.custom_values == {}
    values = {key: lead.custom_values.get(str(field.pk)) for key, field in fields.items()}
    assert values == {"budget": 12.5, "vip": True, "since": "2027-01-05", "tier": "Gold", "memo": "=1+1"}
    assert page.report("?show=PARTIAL") == [
        (
            3,
            "NEW",
            "Left out: Budget: “1,5” is not a number; choose the format of numbers, or write it "
            "as 1234.5; Vip: “maybe” is neither yes nor no; "
            "Since: “1/2/2027” is not a date, or can be read in two ways; write it as 2027-01-05; "
            "Tier: “Lead” is none of the options; there are: Gold, Silver",
        )
    ]


def test_custom_values_that_are_too_long_together_are_refused(mia: Client, organization: Organization) -> None:
    """docs/interface.md, A36"""
    keys = [make_custom_field(organization, "LEAD", f"key{number}").key for number in range(8)]

    page = Page(mia, organization, csv_file(["email", *keys], ["a@example.com", *["a" * 9_000] * 8])).run()

    problem = "The custom fields must have at most 65536 characters together, as JSON text"
    assert page.report("?show=REFUSED") == [(2, "REFUSED", problem)]
    assert not Lead.objects.of(organization).exists()


def test_rows_are_imported_without_bad_cells_and_come_back_as_a_file_that_can_be_corrected(
    mia: Client, organization: Organization, other_organization: Organization
) -> None:
    make_status(organization, "Old", is_active=False)
    page = Page(
        mia,
        organization,
        csv_file(
            ["Email", "First name", "Status", "Setter", "Phone", "Next touch point"],
            ["a@example.com", "=cmd()", "Gone", "", "", ""],
            ["b@example.com", "", "Old", "", "", ""],
            ["c@example.com", "", "", "owner@globex.example", "", ""],
            ["d@example.com", "", "", "", "555", ""],
            ["e@example.com", "", "", "", "", "01/02/2027 10:00"],
            ["f@example.com", "", "", "", "", "2027-03-28 02:30"],
            ["g@example.com", "", "", "", "", "2027-03-28"],
            ["h@example.com", "", "", "", "", "", "too much"],
            ["", "No address"],
            ["i@example.com"],
            ["I@example.com"],
            ["j@example.com", "#N/A"],
            ["k@example.com", "Kim", "", "", "n/a", ""],
            delimiter=";",
        ),
    ).run()

    header, *rows = page.refused_rows()
    assert header == ["Email", "First name", "Status", "Setter", "Phone", "Next touch point", "Import problem"]
    assert [row[6].partition("; there")[0] for row in rows] == [
        "Left out: Status: “Gone” is not a status",
        "Left out: Status: Old is retired",
        "Left out: Setter: “owner@globex.example” is not an active member",
        "Left out: Phone: “555” is not a phone number; without + it is read as one of US",
        "Left out: Next step date: “01/02/2027 10:00” can be read in two ways, day or month first; "
        "choose the order of dates, or write it as 2027-01-05 10:00",
        "Left out: Next step date: “2027-03-28 02:30” doesn't exist or comes twice in Europe/Berlin, where clocks "
        "change; add the offset, as in 2027-03-28T02:30+01:00",
        "Left out: Next step date: “2027-03-28” has no time of day; "
        "choose a time for all such rows, or write it as 2027-01-05 10:00",
        "The row has more cells than the header",
        "E-mail: is missing",
        "The same e-mail is in row 11 already",
        "Left out: First name: “#N/A” is an error of the spreadsheet",
        "Left out: Phone: “n/a” is not a phone number; without + it is read as one of US",
    ]
    assert rows[0][1] == "'=cmd()"
    assert page.row.counts == {"NEW": 10, "REFUSED": 3}
    assert page.row.reasons["REFUSED"] == {
        "The row has more cells than the header": 1,
        "E-mail: is missing": 1,
        "The same e-mail is in an earlier row": 1,
    }
    assert page.row.reasons["PARTIAL"]["Phone is not a phone number"] == 2
    assert "2 rows: Phone is not a phone number" in page.get().content.decode()
    assert lead_with(organization, "k@example.com").phone_e164 is None

    corrected = [[*row[:4], "415 555 2671", *row[5:]] for row in rows if row[0].startswith("k")]
    again = Page(mia, organization, csv_file(header, *corrected, delimiter=";")).run()

    assert again.row.counts == {"CHANGED": 1}
    assert lead_with(organization, "k@example.com").phone_e164 == "+14155552671"


def test_times_are_those_of_the_members_zone_and_excels_dates_are_known(
    mia: Client, organization: Organization
) -> None:
    rows = [
        ["a@example.com", datetime(2027, 1, 5, 10, 0)],  # noqa: DTZ001  # as in a spreadsheet
        ["b@example.com", "2027-01-05T10:00Z"],
        ["c@example.com", "5.1.2027 10:00"],
        ["d@example.com", 46392.416666666664],
        ["e@example.com", "2027-01-05 10:00:00.5 +0500"],
    ]

    page = Page(mia, organization, workbook(["E-mail", "Next touch point"], *rows), name="leads.xlsx").run()

    times = dict(Lead.objects.of(organization).values_list("email", "next_touch_point_at"))
    assert page.row.counts == {"NEW": 5}
    assert {email[0]: f"{time:%d %H:%M}" for email, time in times.items()} == {
        "a": "05 09:00",
        "b": "05 10:00",
        "c": "05 09:00",
        "d": "05 09:00",
        "e": "05 05:00",
    }


def test_the_counts_of_a_check_are_not_the_result_of_an_import_that_is_canceled(
    mia: Client, organization: Organization
) -> None:
    page = Page(mia, organization, csv_file(["email"], ["a@example.com"], ["nobody"]))
    page.check()
    page.press("cancel")

    shown = page.get().content.decode()

    assert "Nothing was imported. The rows of the file are deleted." in shown
    assert ("1 new" in shown, page.row.counts, page.row.reasons) == (False, {}, {})
    assert "1 new" not in mia.get(list_url(Import)).content.decode()


def test_a_check_that_would_change_nothing_offers_the_refused_rows(mia: Client, organization: Organization) -> None:
    page = Page(mia, organization, csv_file(["email"], ["nobody"]))
    page.check()
    [link] = re.findall(r'href="([^"]+/refused/)"', page.get().content.decode())

    response = mia.get(link)

    assert b"".join(response.streaming_content).decode().splitlines()[-1].startswith("nobody,E-mail")


def test_a_source_is_found_by_its_name_before_the_label_of_another(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    for name in ("alpha", "beta"):
        api.submit(email="x@example.com", traffic={"utm_source": name})
    Source.objects.of(organization).filter(name="alpha").update(label="Beta")
    Source.objects.of(organization).filter(name="beta").update(label="Gamma")
    rows = [["a@example.com", "Beta"], ["b@example.com", "gamma"], ["c@example.com", "Delta"]]

    Page(mia, organization, csv_file(["email", "Source"], *rows)).run()

    sources = [lead_with(organization, row[0]).last_source.name for row in rows]
    assert sources == ["beta", "beta", "Delta"]


def test_a_next_step_date_after_the_leads_appointment_or_next_step_is_left_out(
    mia: Client, organization: Organization
) -> None:
    """docs/interface.md, L13: also if staff have set a date before these. What the file repeats isn't reported."""
    api, actor = make_api(organization), owner_actor(organization)
    api.book(lead_email="a@example.com", schedule_time="2090-01-05T10:00:00Z")
    api.submit(email="b@example.com")
    for lead in Lead.objects.of(organization):
        at = datetime(2090, 1, 4, 10, tzinfo=UTC)
        if lead.email == "a@example.com":
            date = {"next_touch_point_at": at, "next_touch_point_type": "EMAIL"}
            edit_lead(organization=organization, actor=actor, lead=lead, **date)
        else:
            set_next_step(organization=organization, actor=actor, lead_id=lead.pk, at=at, type="CALL", owner=None)
    header = ["email", "Next step date", "Next step"]

    def imported(*dates: str) -> Page:
        rows = zip("ab", dates, ("Email", "Call"), strict=True)
        return Page(mia, organization, csv_file(header, *([f"{a}@example.com", *row] for a, *row in rows))).run()

    same, later, earlier = (imported(*[f"2090-01-0{day}T10:00Z" for day in days]) for days in ([4, 4], [6, 6], [3, 3]))

    assert (same.row.counts, same.row.reasons.get("PARTIAL", {})) == ({"UNCHANGED": 2}, {})
    assert later.row.reasons["PARTIAL"] == {
        "Next step date is not earlier than the lead's appointment": 1,
        "Next step date is not earlier than the lead's next step": 1,
    }
    assert (later.row.counts, earlier.row.counts) == ({"UNCHANGED": 2}, {"CHANGED": 2})


@pytest.mark.parametrize(
    ("country", "text", "number"),
    [
        ("DE", "4915123456789", "+4915123456789"),
        ("DE", "49 (151) 234-56789", "+4915123456789"),
        ("DE", "015123456789", "+4915123456789"),
        ("DE", "0491 92920", "+4949192920"),
        ("SE", "468123456", "+468123456"),
        ("US", "14155552671", "+14155552671"),
        ("IT", "391 234 5678", "+393912345678"),
    ],
)
def test_a_number_that_has_lost_its_plus_keeps_its_country(
    country: str, text: str, number: str, mia: Client, organization: Organization
) -> None:
    page = Page(mia, organization, csv_file(["email", "phone"], ["a@example.com", text]))
    page.check(reading={"country": country})
    page.press("start")

    assert lead_with(organization, "a@example.com").phone_e164 == number


@pytest.mark.parametrize(
    ("zone", "time"),
    [
        ("UTC+2", "08:00"),
        ("GMT-05:00", "15:00"),
        ("UTC+00", "10:00"),
        ("UTC+5:30", "04:30"),
        ("GMT+0545", "04:15"),
        ("UTC \u22123:30", "13:30"),
        ("Asia/Tokyo", "01:00"),
    ],
)
def test_a_header_names_the_zone_of_its_times(zone: str, time: str, mia: Client, organization: Organization) -> None:
    file = csv_file(["email", f"Next step date ({zone})"], ["a@example.com", "2027-01-05 10:00"])

    Page(mia, organization, file).run()

    assert f"{lead_with(organization, 'a@example.com').next_touch_point_at:%H:%M}" == time


@pytest.mark.parametrize(
    "end",
    [
        *("(PST)", "(EDT)", "CEST", "(PT)", "GMT", "(UTC+25)", "(europe/berlin)", "UTC+2", "(pst)", "[PST]", "_PST"),
        *("(CET/CEST)", "(PST) (start)", "(+01:00)", "(-5)", "(Pacific Time)", "(Los Angeles)", "(São Paulo)", "(SGT)"),
        *("SGT", "utc", "_utc", "pst", "Europe/London", "Berlin", "Los Angeles", "+08:00", "(optional)"),
    ],
)
def test_a_header_whose_zone_is_not_clear_is_refused(end: str, mia: Client, organization: Organization) -> None:
    header = f"Next step date {end}"
    page = Page(mia, organization, csv_file(["email", header], ["a@example.com", "2027-01-05 10:00"]))
    choice = {"column-0": "email", "column-1": "next_touch_point_at"}

    [problem] = page.press("columns", **choice).context["problems"]

    assert problem.startswith("Is this a time zone?")
    assert problem.endswith(f"“{header}”")
    assert page.press("columns", **{"column-0": "email", "column-1": ""}).status_code == 302


@pytest.mark.parametrize(
    "end", ["(dd/mm/yyyy)", "(HH:MM)", "start", "(24h)", "(2)", "(EST)", "(UTC)", "when we met", "()"]
)
def test_other_words_of_a_header_are_no_zone(end: str, mia: Client, organization: Organization) -> None:
    file = csv_file(["email", f"Next step date {end}"], ["a@example.com", "2027-01-05 10:00"])
    page = Page(mia, organization, file)

    response = page.press("columns", **{"column-0": "email", "column-1": "next_touch_point_at"})

    assert response.status_code == 302


def test_the_company_that_other_programs_call_organization_is_left_out(mia: Client, organization: Organization) -> None:
    page = Page(mia, organization, csv_file(["email", "Organization"], ["a@example.com", "Hooli"]))

    assert page.guessed()["Organization"] == ""


def test_a_column_of_fields_that_differ_in_signs_only_is_the_one_with_its_label(
    mia: Client, organization: Organization
) -> None:
    for key, label in {"eur": "Budget €", "usd": "Budget $", "star": "⭐"}.items():
        make_custom_field(organization, "LEAD", key, label=label)
    headers = ["email", "Budget $", "budget €", "", "⭐"]
    both = Page(mia, organization, csv_file(headers, ["a@example.com", "1", "2", "3", "4"]))
    guessed = [list(both.guessed().values())]
    both.check()
    other = Page(mia, organization, csv_file(["email", "Budget $", "Budget"], ["a@example.com", "1", "2"]))
    guessed.append(list(other.guessed().values()))

    assert guessed == [["email", "custom:usd", "custom:eur", "", "custom:star"], ["email", "custom:usd", ""]]


def test_the_label_of_a_custom_field_comes_before_the_names_of_other_programs(
    mia: Client, organization: Organization
) -> None:
    for label in ("Mobile", "Stage"):
        make_custom_field(organization, "LEAD", f"own_{label.lower()}", label=label)
    headers = ["E-mail", "Mobile", "Stage", "Phone", "Status"]

    page = Page(mia, organization, csv_file(headers, ["a@example.com", "1", "2", "3", "4"]))

    assert list(page.guessed().values()) == ["email", "custom:own_mobile", "custom:own_stage", "phone", "status"]


def test_a_next_step_without_a_date_is_left_out_and_its_row_says_so(mia: Client, organization: Organization) -> None:
    file = csv_file(["email", "next step", "next step date"], ["a@example.com", "Follow-up", ""])

    page = Page(mia, organization, file).run()

    assert page.refused_rows()[1][-1] == "Left out: Next step: has no date"
    assert lead_with(organization, "a@example.com").next_touch_point_type is None


def test_columns_are_guessed_by_common_names_and_then_remembered(mia: Client, organization: Organization) -> None:
    file = csv_file(["E-Mail Address", "Given Name", "SURNAME", "Mobile", "Info", "email"], ["a@example.com", "Ada"])
    page = Page(mia, organization, file)

    guessed = page.guessed()
    page.check(Info="source", Mobile="")

    assert guessed == {
        "E-Mail Address": "email",
        "Given Name": "first_name",
        "SURNAME": "last_name",
        "Mobile": "phone",
        "Info": "",
        "email": "",
    }
    assert Page(mia, organization, file).guessed() == guessed | {"Info": "source", "Mobile": ""}


def test_a_choice_of_columns_that_cannot_be_is_refused(mia: Client, organization: Organization) -> None:
    page = Page(mia, organization, csv_file(["email", "name", "name"], ["a@example.com", "Ada", "Ada"]))

    def problems(**data: str) -> Any:
        return page.press("columns", **data).context["problems"]

    twice = problems(**{"column-0": "email", "column-1": "first_name", "column-2": "first_name"})
    missing = problems(**{"column-1": "first_name"})
    unknown = problems(**{"column-0": "email", "column-1": "organization_id"})

    assert twice == ["Choose only one column for: First name"]
    assert missing == ["Which column has this? E-mail"]
    assert unknown == ["mapping is not one of this file's; open the page again"]
    assert page.row.state == "MAPPING"


@pytest.mark.parametrize("is_checked", [False, True])
def test_a_refused_choice_of_columns_is_shown_again_with_all_that_was_chosen(
    is_checked: bool, mia: Client, organization: Organization
) -> None:
    file = csv_file(["Reference", "Lead e-mail", "Time", "Note", "Info"], ["1", "a@example.com", "2031-01-05 10:00"])
    page = Page(mia, organization, file, kind="APPOINTMENTS")
    if is_checked:
        page.check()
    chosen = {column["field"]: column["chosen"] for column in page.get("?columns").context["columns"]}
    chosen["column-4"] = chosen["column-3"]

    response = page.press("columns", **chosen, country="DE", numbers=",", dates="MDY", invitations="on")

    assert response.context["problems"] == ["Choose only one column for: Note"]
    assert {column["field"]: column["chosen"] for column in response.context["columns"]} == chosen
    assert response.context["reading"]["country"].value() == "DE"
    assert 'name="invitations" checked' in response.content.decode()


def test_the_email_of_a_merged_lead_stands_for_the_kept_one(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    ids = [make_lead(api, email) for email in ("ada@example.com", "ada@work.example", "zoe@example.com")]
    merge(organization, ids[0], ids[1])
    rows = [["ADA@work.example", "Augusta"], ["ada@example.com", "Ada"], ["zoe@example.com", "Zoe"]]
    page = Page(mia, organization, csv_file(["email", "first name"], *rows))

    page.run()

    assert page.row.counts == {"CHANGED": 2, "REFUSED": 1}
    assert page.report() == [(3, "REFUSED", "The same e-mail is in row 2 already")]
    assert api.get_lead(str(ids[0]))["first_name"] == "Augusta"
    assert Lead.objects.of(organization).count() == 2


def test_two_leads_of_a_file_that_are_merged_after_the_check_are_changed_by_the_first_row_alone(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    make_custom_field(organization, "LEAD", "company")
    make_custom_field(organization, "LEAD", "plan")
    ada, bob = make_lead(api, "ada@example.com"), make_lead(api, "bob@example.com")
    rows = [["email", "Company", "Plan"], ["ada@example.com", "Acme", ""], ["bob@example.com", "", "large"]]
    page = Page(mia, organization, csv_file(*rows))
    page.check()
    merge(organization, ada, bob)

    page.press("start", version=page.get().context["version"])
    page.work()

    values = {field["key"]: field["value"] for field in api.get_lead(str(ada))["custom_fields"]}
    assert values == {"company": "Acme", "plan": None}
    assert page.refused_rows()[1][-1] == "An earlier row is about the same lead already"


def touch_point(organization: Organization) -> tuple[str, str | None]:
    """Return the day and type of the only lead's touch point."""
    lead = Lead.objects.of(organization).get()
    return f"{lead.next_touch_point_at:%Y-%m-%d}", lead.next_touch_point_type


def test_no_file_makes_a_touch_point_of_an_appointment_that_there_is_not(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    """docs/interface.md, L13"""
    header, booked = ["email", "Next step", "Next step date"], ("2031-05-05", "APPOINTMENT")
    api.book(lead_email="ada@example.com", schedule_time="2031-05-05T10:00:00Z")
    rows = [
        ["Appointment", "2031-03-01 10:00"],
        ["Appointment", "2031-09-01 10:00"],
        ["Follow-up", ""],
        ["Follow-up", "2031-09-01 10:00"],
        ["", "2031-09-01 10:00"],
    ]

    for row in rows:
        page = Page(mia, organization, csv_file(header, ["ada@example.com", *row])).run()
        assert (page.row.counts, touch_point(organization)) == ({"UNCHANGED": 1}, booked), row
    assert page.report("?show=PARTIAL") == [
        (2, "UNCHANGED", "Left out: Next step date: 2031-09-01 10:00 is not earlier than the lead's appointment")
    ]

    page = Page(mia, organization, csv_file(header, ["ada@example.com", "", "2031-03-01 10:00"]))
    page.check()
    assert page.report()[0][2].endswith("Next step: Appointment → Follow-up")

    page.press("start")

    assert touch_point(organization) == ("2031-03-01", "FOLLOW_UP")


def test_a_next_step_in_a_file_that_no_appointment_precedes_is_set(mia: Client, organization: Organization) -> None:
    rows = [["E-mail", "Next step", "Next step date"], ["ada@example.com", "Appointment", "2031-03-01 10:00"]]
    Page(mia, organization, csv_file(*rows)).run()
    assert Lead.objects.of(organization).get().next_touch_point_at is None

    for type_, day in {"Call": "2031-03-02", "": "2031-03-03"}.items():
        Page(mia, organization, csv_file(rows[0], ["ada@example.com", type_, f"{day} 10:00"])).run()
        assert touch_point(organization) == (day, "CALL")


def test_a_next_step_date_that_has_passed_is_left_out(mia: Client, organization: Organization, api: ApiClient) -> None:
    bob = make_lead(api, "bob@example.com")
    planned = {"next_touch_point_at": datetime(2031, 1, 5, 10, tzinfo=UTC), "next_touch_point_type": "CALL"}
    Lead.objects.of(organization).filter(pk=bob).update(**planned)
    rows = [["ada@example.com", "2026-01-05 10:00", "Call"], ["bob@example.com", "2026-01-05 10:00", "Call"]]
    page = Page(mia, organization, csv_file(["email", "Next step date", "Next step"], *rows)).run()

    assert [row[-1] for row in page.refused_rows()[1:]] == ["Left out: Next step date: 2026-01-05 10:00 has passed"] * 2
    dates = dict(Lead.objects.of(organization).values_list("email", "next_touch_point_at"))
    assert dates == {"ada@example.com": None, "bob@example.com": datetime(2031, 1, 5, 10, tzinfo=UTC)}
