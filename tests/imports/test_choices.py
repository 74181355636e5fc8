"""What people choose for a file: how it writes dates, numbers and phones, and what its values mean."""

import re
from datetime import date
from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from openpyxl import Workbook

from appointments.models import Appointment
from leads.imports import choices
from leads.imports.files import read_rows
from leads.imports.models import Import
from leads.models import Lead
from leads.services import get_or_create_source
from organizations.models import MemberRole, Membership, Organization, User
from tests.factories import make_custom_field, make_member, make_status
from tests.imports.files import Page, csv_file, workbook

GERMAN = csv_file(
    ["Kontakt", "Telefon", "Status", "Setter", "Umsatz", "Seit", "Source"],
    ["a@firma.example", "0151 23456789", "neu", "Tom", "14.500,50", "25/12/2026", "\u200b \ufeff"],
    ["b@firma.example", "0049-151-23456788", "NEU", "Tom", "1.500", "03/04/2026", "\u200b"],
    ["c@firma.example", "+49 30 901820", "Follow-up", "egal", "7", "", ""],
    delimiter=";",
)


@pytest.fixture
def tom(organization: Organization) -> Membership:
    """A setter with this first name."""
    return make_member(organization, "tom@acme.example", role=MemberRole.SETTER, first_name="Tom", last_name="Becker")


def test_a_german_file_is_read_as_it_is_meant_and_its_values_are_mapped_once(
    mia: Client, organization: Organization, tom: Membership
) -> None:
    revenue = make_custom_field(organization, "LEAD", "umsatz", type="NUMBER")
    since = make_custom_field(organization, "LEAD", "seit", type="DATE")
    page = Page(mia, organization, GERMAN)
    guessed = {field.name: field.value() for field in page.get().context["reading"]}
    assert page.guessed()["Kontakt"] == "email"
    mapping = page.get().content.decode()
    assert mapping.count(">Setter</option>") == 2, "the chosen one, and once for all columns"
    page.check()
    before = [(column.label, [(value.text, value.rows) for value in column.values]) for column in unknown(page)]
    [suggestion] = [value.chosen for value in unknown(page)[1].values if value.text == "Tom"]

    page.choose(neu="New lead", Tom="Tom Becker")
    page.press("start")

    first, second, third = Lead.objects.of(organization).order_by("email")
    assert guessed == {"country": "DE", "numbers": ",", "dates": "DMY", "time_of_day": None}
    assert before == [("Status", [("neu", 2)]), ("Setter", [("Tom", 2), ("egal", 1)])]
    assert suggestion == str(tom.pk)
    assert [lead.phone_e164 for lead in (first, second, third)] == ["+4915123456789", "+4915123456788", "+4930901820"]
    assert [lead.status.name for lead in (first, second, third)] == ["New lead", "New lead", "Follow-up"]
    assert [lead.setter for lead in (first, second, third)] == [tom, tom, None]
    assert {lead.first_source.name for lead in (first, second, third)} == {"IMPORT"}, "no one sees another name"
    assert [lead.custom_values.get(str(revenue.pk)) for lead in (first, second, third)] == [14500.5, 1500, 7]
    assert [lead.custom_values.get(str(since.pk)) for lead in (first, second)] == ["2026-12-25", "2026-04-03"]
    assert page.row.reasons["PARTIAL"] == {"Setter is not an active member": 1}
    assert "tom" not in str(page.row.values).lower()

    again = Page(mia, organization, GERMAN)
    again.check()

    assert again.row.counts == {"UNCHANGED": 3}
    assert [value.text for column in unknown(again) for value in column.values if not value.chosen] == ["egal"]


def test_a_value_can_mean_an_option_that_is_a_dash_or_nothing(mia: Client, organization: Organization) -> None:
    field = make_custom_field(organization, "LEAD", "newsletter", type="SELECT", options=["-", "yes"])
    rows = [["a@example.com", "none at all"], ["b@example.com", "what?"]]
    page = Page(mia, organization, csv_file(["email", "Newsletter"], *rows))

    page.check()
    page.choose(**{"none at all": "-"})
    (column,) = unknown(page)
    page.press("values", **{f"value-{value.column}-{value.key}": value.chosen or " " for value in column.values})
    chosen = re.findall(r'<option value="(.)" selected>', page.get().getvalue().decode())
    page.press("start")

    assert sorted(chosen) == [" ", "-"]
    leads = Lead.objects.of(organization).order_by("email")
    assert [lead.custom_values.get(str(field.pk)) for lead in leads] == ["-", None]
    assert page.row.reasons.get("PARTIAL", {}) == {}


def unknown(page: Page) -> Any:
    """Return the columns with values that aren't known."""
    return page.get().context["unknown_columns"]


def test_what_the_file_does_not_show_is_asked_for(mia: Client, organization: Organization) -> None:
    make_custom_field(organization, "LEAD", "budget", type="NUMBER")
    header = ["email", "Next touch point", "Budget"]
    rows = [["a@example.com", "3/4/2027 9:30 pm", "1,500"], ["b@example.com", "2027-05-06", "2"]]
    page = Page(mia, organization, csv_file(header, *rows))

    page.check()
    reasons = page.row.reasons["PARTIAL"]
    page.check(reading={"dates": "MDY", "numbers": ".", "time_of_day": "08:15", "country": "US"})
    page.press("start")

    assert reasons == {
        "Next step date can be read in two ways, day or month first": 1,
        "Next step date has no time of day": 1,
        "Budget is not a number": 1,
    }
    leads = Lead.objects.of(organization).order_by("email")
    assert [f"{lead.next_touch_point_at:%Y-%m-%d %H:%M}" for lead in leads] == ["2027-03-04 20:30", "2027-05-06 06:15"]
    assert [list(lead.custom_values.values()) for lead in leads] == [[1500], [2]]
    assert page.row.reasons.get("PARTIAL", {}) == {}


def test_a_point_before_three_digits_and_phones_written_as_numbers(mia: Client, organization: Organization) -> None:
    """1.500 is left out until the format of numbers is chosen; 15123456789.0 is read without its fraction."""
    field = make_custom_field(organization, "LEAD", "budget", type="NUMBER")
    rows = [["a@example.com", "1.500", "15123456789.0"], ["b@example.com", "900", "+4915123456788.00"]]
    rows.append(["c@example.com", "0.500", ""])
    page = Page(mia, organization, csv_file(["email", "Budget", "Phone"], *rows))

    page.check(reading={"country": "DE"})
    reasons = page.row.reasons["PARTIAL"]
    page.check(reading={"numbers": ",", "country": "DE"})
    others = page.row.reasons["PARTIAL"]
    page.press("start")

    leads = Lead.objects.of(organization).order_by("email")
    assert reasons == {"Budget can be read in two ways, with a point or without": 1}
    assert others == {"Budget is not a number": 1}, "0.500 has no thousands"
    assert [lead.custom_values.get(str(field.pk)) for lead in leads] == [1500, 900, None]
    assert [lead.phone_e164 for lead in leads] == ["+4915123456789", "+4915123456788", None]


def test_the_check_names_sources_that_would_be_new(mia: Client, organization: Organization) -> None:
    get_or_create_source(organization=organization, name="Podcast")
    rows = [["a@example.com", "podcast"], ["b@example.com", "https://example.com/?gclid=1"]]
    page = Page(mia, organization, csv_file(["email", "Source"], *rows))

    page.check()

    assert [details for _, _, details in page.report()] == [
        "Source: podcast",
        "New source: https://example.com/?gclid=1",
    ]


def test_the_check_names_the_zone_of_its_times_to_readers_in_another(mia: Client, organization: Organization) -> None:
    """Times are read in the zone that who uploads has then."""
    rows = [["a-1", "ada@example.com", "2031-12-07 10:00", "Coaching"]]
    header = ["Reference", "Lead e-mail", "Time", "Event type"]
    page = Page(mia, organization, csv_file(header, *rows), kind="APPOINTMENTS")
    page.check()
    zone, name = page.row.time_zone, page.row.actor_name
    hint = f"Times in the rows are in {zone}, the time zone of {name} when the file was uploaded."

    before = page.get().content.decode()
    User.objects.filter(memberships__organization=organization).update(time_zone="America/Los_Angeles")
    after = page.get().content.decode()

    assert (hint in before, hint in after) == (False, True)


def test_phones_with_an_exponent_are_read_if_no_digit_is_missing(mia: Client, organization: Organization) -> None:
    phones = ["1.5112345678E10", "+4,915112345678e+12", "1.51123E+10", "1E10"]
    rows = [[f"{name}@example.com", phone] for name, phone in zip("abcd", phones, strict=True)]
    page = Page(mia, organization, csv_file(["email", "Phone"], *rows))

    page.check(reading={"country": "DE"})
    reasons = page.row.reasons["PARTIAL"]
    page.press("start")

    leads = Lead.objects.of(organization).order_by("email")
    assert reasons == {"Phone is a rounded number": 2}
    assert [lead.phone_e164 for lead in leads] == ["+4915112345678", "+4915112345678", None, None]


def test_a_national_number_of_another_country_is_left_out_and_not_read_as_one_of_ours(
    mia: Client, organization: Organization
) -> None:
    phones = ["06 12 34 56 00", "+33 6 12 34 56 00", "0033 612345600", "(415) 555-2671"]
    rows = [[f"{name}@example.com", phone] for name, phone in zip("abcd", phones, strict=True)]
    page = Page(mia, organization, csv_file(["email", "Phone"], *rows))

    page.check(reading={"country": "US"})
    report = page.report("?show=PARTIAL")
    page.press("start")

    leads = Lead.objects.of(organization).order_by("email")
    problem = "“06 12 34 56 00” is not a phone number of US; write it with + and the code of its country"
    assert report == [(2, "NEW", f"Left out: Phone: {problem}")]
    assert [lead.phone_e164 for lead in leads] == [None, "+33612345600", "+33612345600", "+14155552671"]


@pytest.mark.parametrize("kind", ["LEADS", "APPOINTMENTS"])
def test_a_phone_is_stored_without_its_extension_and_the_row_says_so(
    mia: Client, organization: Organization, kind: str
) -> None:
    cells = {
        "Reference": "a-1",
        "Lead e-mail" if kind == "APPOINTMENTS" else "E-mail": "ada@example.com",
        "Phone": "(415) 555-2671 ext. 204",
    }
    if kind == "APPOINTMENTS":
        cells |= {"Time": "2031-12-07 10:00", "Event type": "Coaching"}
    page = Page(mia, organization, csv_file([*cells], [*cells.values()]), kind=kind)

    page.check(reading={"country": "US"})
    reasons = page.row.reasons["PARTIAL"]
    page.press("start")

    assert reasons == {"Phone has an extension, which is left out": 1}
    assert Lead.objects.of(organization).get().phone_e164 == "+14155552671"


def test_a_value_that_is_chosen_anew_is_checked_before_anything_is_imported(
    mia: Client, organization: Organization
) -> None:
    make_custom_field(organization, "LEAD", "tier", type="SELECT", options=["premium", "basic"])
    file = csv_file(["email", "Tier"], ["a@example.com", "gold"])
    first = Page(mia, organization, file)
    first.check()
    first.choose(gold="premium")
    page = Page(mia, organization, file)
    page.check()
    value, shown = unknown(page)[0].values[0], page.get().content.decode()

    response = page.press("start", **{f"value-{value.column}-{value.key}": "basic"})
    state, report = page.row.state, page.report()
    said = mia.get(response.headers["Location"]).content.decode()
    page.press("start", **{f"value-{value.column}-{value.key}": "basic"})

    assert re.search('form="values_form" name="step" value="start"', shown)  # the button sends the choices
    assert "Nothing was imported yet: you had changed what values mean, so the rows were checked again." in said
    assert (state, report) == ("CHECKED", [(2, "NEW", "Tier: basic")])
    assert [*Lead.objects.of(organization).get().custom_values.values()] == ["basic"]


def test_a_day_in_a_workbook_is_not_its_midnight(mia: Client, organization: Organization) -> None:
    header = ["Reference", "Lead e-mail", "Time", "Event type"]
    row = ["a-1", "ada@example.com", date(2031, 12, 7), "Coaching"]
    page = Page(mia, organization, workbook(header, row), kind="APPOINTMENTS", name="calls.xlsx")

    page.check()
    refused = page.report()
    page.check(reading={"time_of_day": "10:00"})
    page.press("start")

    problem = "“2031-12-07” has no time of day; choose a time for all such rows, or write it as 2027-01-05 10:00"
    assert refused == [(2, "REFUSED", f"Time: {problem}")]
    assert f"{Appointment.objects.of(organization).get().schedule_time:%Y-%m-%d %H:%M}" == "2031-12-07 09:00"


@pytest.mark.parametrize(
    ("step", "data"),
    [
        ("columns", {"column-0": "email", "country": "XX"}),
        ("columns", {"column-0": "email", "dates": "YDM"}),
        ("columns", {"column-0": "email", "numbers": "x"}),
        ("columns", {"column-0": "email", "time_of_day": "25:00"}),
        ("values", {f"value-1-{'0' * 32}": "01890a5d-ac96-774b-bcce-b302099a8057"}),
        ("values", {f"value-0-{'0' * 32}": "x"}),
    ],
)
def test_choices_that_the_page_does_not_offer_are_refused(
    mia: Client, organization: Organization, step: str, data: dict[str, str]
) -> None:
    page = Page(mia, organization, csv_file(["email", "status"], ["a@example.com", "neu"]))
    page.check()
    before = Import.objects.of(organization).values().get()

    response = page.press(step, **{"column-1": "status", **data})

    assert (response.status_code, bool(response.context["problems"])) == (200, True)
    assert Import.objects.of(organization).values().get() == before


def test_a_page_reads_the_values_of_as_many_columns_as_the_rows_allow_and_then_the_next(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each column reads all rows: ninety of them took more than a minute for each view of the page."""
    names = ["ape", "bee", "cat", "dog", "elk"]
    for name in names:
        make_custom_field(organization, "LEAD", name, type="SELECT", options=["yes"])
    page = Page(mia, organization, csv_file(["email", *names], ["a@example.com", *(f"not {name}" for name in names)]))
    page.check()
    monkeypatch.setattr(choices, "MAX_READ", 2)
    monkeypatch.setattr(choices, "MIN_COLUMNS", 2)
    shown = [[column.label for column in unknown(page)]]
    note = "There are more unknown values. They follow when these are known."
    notes = [note in page.get().content.decode()]

    page.choose(**{"not ape": "yes", "not bee": "yes"})
    shown.append([column.label for column in unknown(page)])
    page.choose(**{"not cat": "yes", "not dog": "yes"})
    shown.append([column.label for column in unknown(page)])
    notes.append(note in page.get().content.decode())

    assert shown == [["Ape", "Bee"], ["Cat", "Dog"], ["Ape", "Elk"]]
    assert notes == [True, False]


def test_a_choice_holds_until_its_value_is_known_or_it_is_taken_back(mia: Client, organization: Organization) -> None:
    field = make_custom_field(organization, "LEAD", "tier", type="SELECT", options=["premium"])
    file = csv_file(["email", "Tier"], ["a@example.com", "gold"], ["b@example.com", "silver"])

    def values() -> list[Any]:
        leads = Lead.objects.of(organization).order_by("email")
        return [lead.custom_values.get(str(field.pk)) for lead in leads]

    first = Page(mia, organization, file)
    first.check()
    first.choose(gold="premium", silver="premium")
    first.press("start")
    before = values()
    field.options = ["premium", "gold"]
    field.save()
    second = Page(mia, organization, file)
    second.check()
    listed = [value.text for column in unknown(second) for value in column.values]
    second.press("values", **{f"value-{value.column}-{value.key}": "" for value in unknown(second)[0].values})
    second.press("start")
    third = Page(mia, organization, file)
    third.check()

    assert (before, values()) == (["premium", "premium"], ["gold", "premium"])
    assert listed == ["silver"]
    assert [(value.text, value.chosen) for value in unknown(third)[0].values] == [("silver", "")]


def test_choices_that_are_all_taken_back_do_not_return(mia: Client, organization: Organization) -> None:
    make_custom_field(organization, "LEAD", "tier", type="SELECT", options=["premium"])
    file = csv_file(["email", "Tier"], ["a@example.com", "gold"])
    pages = []
    for target in ("premium", ""):
        pages.append(Page(mia, organization, file))
        pages[-1].check()
        [value] = unknown(pages[-1])[0].values
        pages[-1].press("values", **{f"value-{value.column}-{value.key}": target})

    third = Page(mia, organization, file)
    third.check()

    assert [value.chosen for value in unknown(third)[0].values] == [""]
    assert pages[1].row.values == {}


def test_choices_outlast_a_file_that_is_refused_and_one_that_was_read_before_them(
    mia: Client, organization: Organization
) -> None:
    file = csv_file(["email", "status"], ["a@example.com", "neu"])
    first, second = Page(mia, organization, file), Page(mia, organization, file)
    first.check()
    first.choose(neu="Won")
    second.check()
    rows = b"".join(b"%d@example.com,neu\n" % number for number in range(700))
    refused = Page(mia, organization, b"email,status\n" + rows + b'b@example.com,"open\n')

    third = Page(mia, organization, file)
    third.check()

    assert refused.row.problem.startswith("The row at line 702 has a quotation mark")
    assert third.report() == [(2, "NEW", "Status: Won")]


@pytest.mark.parametrize(("target", "details"), [("Won", "Status: Won"), ("Leave empty", "")])
def test_another_status_can_be_chosen_for_a_retired_one(
    target: str, details: str, mia: Client, organization: Organization
) -> None:
    make_status(organization, "Old stage", is_active=False)
    page = Page(mia, organization, csv_file(["email", "status"], ["a@example.com", "Old stage"]))
    page.check()
    [column] = unknown(page)
    [value] = column.values
    chosen = next((id for id, name in column.targets.items() if name == target), choices.LEAVE_OUT)

    page.press("values", **{f"value-{value.column}-{value.key}": chosen})

    assert value.text == "Old stage"
    assert page.report() == [(2, "NEW", details)]


def test_unknown_values_are_found_beside_many_known_ones(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["a", "b", "c"]
    make_custom_field(organization, "LEAD", "tier", type="SELECT", options=options)
    texts = [*options * 2, "x", "y", "z"]
    rows = [[f"{number}@example.com", text] for number, text in enumerate(texts)]
    page = Page(mia, organization, csv_file(["email", "Tier"], *rows))
    page.check()
    monkeypatch.setattr(choices, "MAX_DISTINCT", 3)
    monkeypatch.setattr(choices, "MAX_UNKNOWN", 2)
    note = "There are more unknown values. They follow when these are known."

    shown, notes = [], []
    for _ in range(3):
        values = [value for column in unknown(page) for value in column.values]
        shown.append([value.text for value in values if not value.chosen])
        notes.append(note in page.get().content.decode())
        page.press("values", **{f"value-{value.column}-{value.key}": "a" for value in values[:1]})

    assert shown == [["x", "y"], ["y", "z"], ["z"]]
    assert notes == [True, False, False]


def test_choices_of_earlier_files_leave_room_for_those_of_the_next(
    mia: Client, organization: Organization, tom: Membership
) -> None:
    columns = csv_file(["email", "Setter", "Status"], ["a@example.com", "someone", "neu"])
    first = Page(mia, organization, columns)
    first.check()
    many = {f"{number:032x}": str(tom.pk) for number in range(999)}
    Import.objects.of(organization).update(values={"setter": many, "status": {"f" * 32: " "}})

    page = Page(mia, organization, columns)
    page.check()
    page.choose(someone="Tom Becker", neu="New lead")

    assert page.row.counts == {"NEW": 1}
    assert page.row.reasons.get("PARTIAL", {}) == {}
    assert sum(map(len, page.row.values.values())) <= 502


def test_as_many_values_as_a_page_shows_can_be_chosen(mia: Client, organization: Organization) -> None:
    """Django refuses forms of more than 1,000 fields."""
    names = [f"field {number}" for number in range(20)]
    for name in names:
        make_custom_field(organization, "LEAD", name.replace(" ", "_"), label=name, type="SELECT", options=["yes"])
    rows = [[f"{row}@example.com", *(f"no {row} {name}" for name in names)] for row in range(60)]
    page = Page(mia, organization, csv_file(["email", *names], *rows))
    page.check()

    data = {f"value-{value.column}-{value.key}": "yes" for column in unknown(page) for value in column.values}
    answer = page.press("values", **data, version=str(page.get().context["version"]))

    assert answer.status_code == 302
    assert len(data) > 800


def test_a_page_shows_as_many_values_as_their_options_allow_and_then_the_next(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty values with two thousand options of 255 characters each were a page of 300 MB."""
    for name in ("ape", "bee"):
        make_custom_field(organization, "LEAD", name, type="SELECT", options=["yes", "n" * 255])
    rows = [[f"{number}@example.com", f"a{number}", f"b{number}"] for number in range(3)]
    page = Page(mia, organization, csv_file(["email", "ape", "bee"], *rows))
    page.check()
    monkeypatch.setattr(choices, "MAX_OPTIONS_TEXT", 1000)

    [column] = unknown(page)

    assert [value.text for value in column.values] == ["a0", "a1"]
    assert list(column.targets.values()) == ["yes", "n" * 80]
    assert "There are more unknown values." in page.get().content.decode()
    page.choose(a0="yes", a1="yes")
    assert [value.text for value in unknown(page)[0].values] == ["a2", "a0"]


def test_a_choice_is_for_the_value_whatever_stands_around_it(mia: Client, organization: Organization) -> None:
    make_custom_field(organization, "LEAD", "size", type="SELECT", options=["small"])
    cells = ["tiny", "tiny\u00a0", "\u00a0Tiny", "\ttiny"]
    rows = [[f"{number}@example.com", cell] for number, cell in enumerate(cells)]
    page = Page(mia, organization, csv_file(["email", "size", "note"], *([*row, ""] for row in rows)))
    page.check()

    [column] = unknown(page)
    page.choose(tiny="small")
    page.press("start")

    assert [(value.text, value.rows) for value in column.values] == [("tiny", 4)]
    sizes = [list(lead.custom_values.values()) for lead in Lead.objects.of(organization)]
    assert sizes == [["small"]] * 4


FORMATS = {
    "[$-de-CH]d. mmmm yyyy": "2031-12-07",
    '[$-zh-CN]yyyy"h"m"h"d': "2031-12-07",
    "dd/mm/yyyy\\h": "2031-12-07",
    'yyyy-mm-dd;"h"': "2031-12-07",
    "[$-de-CH]d. mmmm yyyy hh:mm": "2031-12-07 00:00:00",
    "d/m/yy H:MM": "2031-12-07 00:00:00",
}


@pytest.mark.parametrize(("code", "text"), FORMATS.items())
def test_only_a_format_with_hours_makes_a_day_of_a_workbook_its_midnight(code: str, text: str) -> None:
    book, content = Workbook(), BytesIO()
    book.active.append(["Time"])
    book.active.append([date(2031, 12, 7)])
    book.active["A2"].number_format = code
    book.save(content)

    assert list(read_rows(content.getvalue())) == [(1, ["Time"]), (2, [text])]


def test_a_text_of_a_workbook_is_no_number_that_could_be_read_in_two_ways(
    mia: Client, organization: Organization
) -> None:
    field = make_custom_field(organization, "LEAD", "budget", type="NUMBER")
    budgets = ["1.500", 1.5, 1.234, "-12.750", 1500]
    rows = [[f"{name}@example.com", budget] for name, budget in zip("abcde", budgets, strict=True)]
    page = Page(mia, organization, workbook(["email", "Budget"], *rows), name="leads.xlsx")

    page.run(reading={"numbers": ""})

    leads = Lead.objects.of(organization).order_by("email")
    assert [lead.custom_values.get(str(field.pk)) for lead in leads] == [None, 1.5, 1.234, None, 1500]
    assert page.row.reasons["PARTIAL"] == {"Budget can be read in two ways, with a point or without": 2}


@pytest.mark.parametrize(("numbers", "text"), [(",", 1500), (".", 1.5)])
def test_the_chosen_format_counts_for_texts_of_a_workbook_not_for_its_numbers(
    mia: Client, organization: Organization, numbers: str, text: float
) -> None:
    field = make_custom_field(organization, "LEAD", "budget", type="NUMBER")
    rows = [["a@example.com", "1.500"], ["b@example.com", 1.234]]

    Page(mia, organization, workbook(["email", "Budget"], *rows), name="leads.xlsx").run(reading={"numbers": numbers})

    leads = Lead.objects.of(organization).order_by("email")
    assert [lead.custom_values.get(str(field.pk)) for lead in leads] == [text, 1.234]


@pytest.mark.parametrize(
    ("left_out", "amounts", "expected"),
    [
        ("52.52008", ["1.500", "12.000", "900"], ""),
        ("52.52008", ["1.500", "12.5"], "."),
        ("52,5", ["1,500", "12,000"], ""),
        ("52,5", ["1.500", "12.000"], ","),
        ("52.5", ["1,500", "12,000"], "."),
    ],
)
def test_fractions_of_another_column_do_not_decide_what_1_500_means(
    left_out: str, amounts: list[str], expected: str, mia: Client, organization: Organization
) -> None:
    rows = [[f"{number}@example.com", amount, left_out] for number, amount in enumerate(amounts)]

    page = Page(mia, organization, csv_file(["E-mail", "Amount", "Latitude"], *rows, delimiter=";"))

    assert page.row.numbers == expected
