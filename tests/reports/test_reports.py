"""The Reports page: numbers of two periods by group, which are right and link to exactly the rows that they count."""

import csv
import io
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from psycopg.errors import Diagnostic

from appointments import reports
from appointments.models import Appointment
from appointments.services import reschedule_by_reference
from optins.models import OptIn
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.factories import make_member, make_organization
from tests.migrations import run_data_steps
from tests.staff.home_data import NOW, ZONE, Week, at, count_listed_rows, create_week, linked_numbers
from tests.staff.pages import admin_url, logged_in_client

REPORTS, CSV = "/admin/reports/", "/admin/reports/report.csv"
WEEK = {"days": "7"}
TOTAL = "5 (+4) | 9 (+8) | 5 (+4) | 1 (+1) | 1 (+1) | 2 (+1) | 1 (+1) | 83 % (−17 points) | 40 % (−60 points) | 4.0"


@pytest.fixture
def week(organization: Organization, other_organization: Organization) -> Iterator[Week]:
    """Acme's week, with the clock stopped. Globex has the same one, of which nothing may be counted."""
    with time_machine.travel(NOW, tick=False):
        create_week(other_organization)
        yield create_week(organization)


@pytest.fixture
def hana(week: Week) -> Client:
    """A client signed in as Hana, a closer, who sees the team's numbers here."""
    return logged_in_client(week.hana)


def table(response: Any) -> dict[str, str]:
    """Return the rows of the table, with each change in parentheses."""
    groups = response.context["groups"]
    return {
        name: " | ".join(f"{cell.text} ({cell.change})" if cell.change else cell.text for cell in cells)
        for name, cells in [*groups.rows, ("All", groups.total)]
    }


def test_a_week_by_closer_beside_the_week_before(hana: Client):
    page = hana.get(REPORTS, WEEK)

    assert table(page) == {
        "Hana": "– | 6 (+6) | 2 (+2) | 1 (+1) | 1 (+1) | 1 (+1) | 0 | 67 % | 50 % | –",
        "Mia": "– | 3 (+2) | 3 (+2) | 0 | 0 | 1 (±0) | 1 (+1) | 100 % (±0) | 33 % (−67 points) | –",
        "All": TOTAL,
    }
    assert {chart.title: chart.total.text for chart in page.context["charts"]} == {
        "Booked": "9",
        "Show rate": "83 %",
        "Close rate": "40 %",
        "Canceled": "1",
    }


def test_a_week_by_campaign_with_opt_ins(hana: Client):
    assert table(hana.get(REPORTS, {**WEEK, "by": "utm_campaign"})) == {
        "Without campaign": "3 (+3) | 7 (+6) | 4 (+3) | 0 | 1 (+1) "
        "| 1 (±0) | 1 (+1) | 100 % (±0) | 25 % (−75 points) | 24.0",
        "spring": "2 (+1) | 2 (+2) | 1 (+1) | 1 (+1) | 0 | 1 (+1) | 0 | 50 % | 100 % | 2.5",
        "All": TOTAL,
    }


def test_opt_ins_of_the_period_before_have_had_the_same_time_for_a_booking(week: Week, hana: Client):
    week.book("Early", at(6, 10), at(7, 9), week.hana, "WON")
    week.opt_in(week.appointments["Early"].lead, at(6, 8))

    # Another opt-in of that week was booked after 11 hours, in the week of the report.
    assert table(hana.get(REPORTS, WEEK))["All"].endswith("| 4.0 (+2.0)")


@pytest.mark.django_db(transaction=True)
def test_a_report_causes_no_warning_of_the_database(hana: Client):
    warnings: list[str | None] = []

    def keep(diagnostic: Diagnostic) -> None:
        warnings.append(diagnostic.message_primary)

    connection.connection.add_notice_handler(keep)
    try:
        assert hana.get(REPORTS, WEEK).status_code == 200
    finally:
        connection.connection.remove_notice_handler(keep)
    assert warnings == []


def test_calls_that_are_entered_when_they_are_over_do_not_count_as_booked(week: Week, hana: Client):
    week.book("History", NOW, at(17, 9), week.mia, "LOST")

    cells = table(hana.get(REPORTS, WEEK))["Mia"].split(" | ")

    assert cells[1:3] == ["3 (+2)", "4 (+3)"]  # booked and shown, of which it is one


def test_they_do_not_count_either_when_they_were_moved_under_another_reference_and_others_still_do(
    week: Week, hana: Client
):
    week.book("History", NOW, at(17, 9), week.mia, "NO_SHOW", source="MANUAL")
    week.book("Early", NOW, NOW + timedelta(days=1), week.mia, "APPOINTMENT_BOOKED", source="MANUAL")
    before = table(hana.get(REPORTS, WEEK))["Mia"].split(" | ")[1]
    for number, name in enumerate(["History", "Early"] * 2):
        reschedule_by_reference(
            organization=week.organization,
            actor=SYSTEM,
            external_reference=week.appointments[name].external_reference,
            schedule_time=NOW + timedelta(days=2 + number),
            new_external_reference=f"moved-{number}",
        )

    assert before == "4 (+3)"
    assert table(hana.get(REPORTS, WEEK))["Mia"].split(" | ")[1] == before


def test_what_was_moved_under_other_references_before_the_upgrade_keeps_the_time_first_booked(
    organization: Organization, api: ApiClient
):
    for number in range(3):
        api.book(external_reference=f"a-{number}", schedule_time=f"2031-01-0{number + 1}T10:00:00Z")
    for days, former, new in [(5, "a-0", "b-0"), (6, "b-0", "c-0"), (7, "a-1", "b-1")]:
        move = {"schedule_time": f"2031-01-0{days}T10:00:00Z", "new_external_reference": new}
        assert api.reschedule(external_reference=former, **move).status_code == 200
    rows = Appointment.objects.of(organization)
    after = dict(rows.values_list("external_reference", "first_booked_for__day"))
    rows.update(first_booked_for=None)

    run_data_steps("appointments", "0034_fill_first_booked_for")

    assert dict(rows.values_list("external_reference", "first_booked_for__day")) == after
    assert after == {"c-0": 1, "b-1": 2, "a-2": None}


def test_a_group_with_nothing_but_the_period_before(hana: Client):
    rows = table(hana.get(REPORTS, {"from": "2026-11-12", "to": "2026-11-12"}))

    assert rows["Mia"] == "– | 0 (−1) | 0 (−1) | 0 | 0 | 0 (−1) | 0 | – | – | –"


def test_the_numbers_are_those_of_the_home_page(hana: Client):
    query = {"days": "7", "who": "team", "by": "event_type"}
    home, report = hana.get("/admin/", query).context["groups"], hana.get(REPORTS, query).context["groups"]

    shown_and_following = {name: [cell.text for cell in cells[2:-1]] for name, cells in report.rows}
    assert shown_and_following == {name: [cell.text for cell in cells[1:]] for name, cells in home.rows}
    assert [cell.text for cell in report.total[2:-1]] == [cell.text for cell in home.total[1:]]


@pytest.mark.parametrize("by", ["host", "setter", "last_source", "utm_campaign"])
def test_each_number_links_to_the_rows_that_it_counts(by: str, week: Week, hana: Client):
    for number, campaign in enumerate(['a=1&b "ü",x', "", "false"]):
        week.book(f"Odd{number}", NOW, at(17, 9), week.hana, "WON", utm_campaign=campaign)
        week.opt_in(week.appointments[f"Odd{number}"].lead, at(17, 8), utm_campaign=campaign)

    numbers = linked_numbers(hana.get(REPORTS, {**WEEK, "by": by}).content.decode())

    assert len(numbers) > 15
    assert {url: count_listed_rows(week.hana.user, url) for url in numbers} == numbers


def test_the_table_as_csv(week: Week, hana: Client):
    week.book("Formula", NOW, at(17, 9), week.hana, "WON", utm_campaign="=1+1")

    response = hana.get(CSV, {**WEEK, "by": "utm_campaign"})

    header, *rows = csv.reader(io.StringIO(response.getvalue().decode("utf-8-sig")))
    assert response["Content-Disposition"] == 'attachment; filename="report-utm-campaign-2026-11-12-2026-11-18.csv"'
    assert header[:5] == ["Campaign", "Opt-ins", "Opt-ins, before", "Booked", "Booked, before"]
    assert [row[0] for row in rows] == ["Without campaign", "spring", "'=1+1", "All"]
    assert ",".join(rows[1]) == "spring,2,1,2,0,1,0,1,0,0,0,1,0,0,0,0.5,,1.0,,2.5,"


def test_campaigns_that_begin_with_the_same_201_characters_are_one_without_a_link(week: Week, hana: Client):
    for number, name in enumerate(["x" * 8_000, "x" * 201, "x" * 200]):
        week.book(f"Odd{number}", NOW, at(17, 9), week.hana, "WON", utm_campaign=name)
        week.opt_in(week.appointments[f"Odd{number}"].lead, at(17, 8), utm_campaign=name)

    response = hana.get(REPORTS, {**WEEK, "by": "utm_campaign"})

    rows = {name: cells for name, cells in response.context["groups"].rows if name.startswith("x")}
    assert {len(name): [str(cell.text) for cell in cells[:2]] for name, cells in rows.items()} == {
        201: ["2", "0"],
        200: ["1", "0"],
    }
    assert [any(cell.url for cell in rows["x" * length]) for length in (201, 200)] == [False, True]


def test_more_groups_than_are_read(week: Week, hana: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reports, "MAX_GROUPS", 1)
    query = {**WEEK, "by": "utm_campaign"}
    page, instead_of_csv = hana.get(REPORTS, query), hana.get(CSV, query)

    assert table(page) == table(instead_of_csv) == {"All": TOTAL}
    assert "There are more than 1 groups." in page.content.decode()


def test_the_same_number_of_statements_for_any_number_of_rows(week: Week, hana: Client):
    def count_statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert hana.get(REPORTS, {"by": "triager"}).status_code == 200
        return len(captured)

    count_statements()  # the session's first request notes its use
    before = count_statements()
    for number in range(3):
        week.book(f"More{number}", NOW, NOW, week.hana, "WON", triager=week.mia)
        week.opt_in(week.appointments[f"More{number}"].lead, NOW)

    assert count_statements() == before


@pytest.mark.parametrize(
    "query",
    [
        "by=password",
        "days=8",
        "period=this_decade",
        "against=tomorrow",
        "organization=00000000-0000-0000-0000-000000000000",
    ],
)
def test_an_address_with_unknown_values_is_refused(query: str, hana: Client):
    assert (hana.get(f"{REPORTS}?{query}").status_code, hana.get(f"{CSV}?{query}").status_code) == (400, 400)


@pytest.mark.parametrize("model", [Appointment, OptIn])
def test_lists_answer_odd_campaigns(model: type[Model], hana: Client):
    queries = ["utm_campaign__exact=%00", "utm_campaign__isnull=maybe", "utm_campaign__exact=%ff"]
    answers = [hana.get(admin_url(model, "changelist"), QUERY_STRING=query).status_code for query in queries]

    assert answers == [400, 200, 200]


def test_days_without_rows_and_days_that_are_no_period(hana: Client):
    empty = hana.get(REPORTS, {"from": "1970-01-01", "to": "1970-03-01", "by": "utm_campaign"})
    wrong = hana.get(REPORTS, {"from": "x", "to": "2026-02-30"})

    assert table(empty) == {"All": "0 | 0 | 0 | 0 | 0 | 0 | 0 | – | – | –"}
    assert "Enter the first and the last day." in wrong.content.decode()


def test_a_member_sees_no_other_organization(week: Week, other_organization: Organization):
    stranger = make_member(make_organization("Initech"), "ines@initech.example", role="OWNER", time_zone=str(ZONE))
    client = logged_in_client(stranger)

    assert table(client.get(REPORTS, WEEK))["All"].startswith("0 | 0")
    assert client.get(REPORTS, {"organization": other_organization.pk}).status_code == 400
    assert client.get(CSV, {"organization": other_organization.pk}).status_code == 400


def test_a_member_of_several_organizations_chooses_one(week: Week, other_organization: Organization):
    member = make_member(week.organization, "both@acme.example", role="OWNER", time_zone=str(ZONE))
    Membership.objects.create(organization=other_organization, user=member.user, role="VIEWER")
    week.book("More", NOW, at(17, 9), week.hana, "WON")
    client = logged_in_client(member)

    chosen = client.get(REPORTS, {**WEEK, "organization": other_organization.pk})

    assert table(chosen)["All"] == TOTAL
    links = linked_numbers(chosen.content.decode())
    assert {url: count_listed_rows(member.user, url) for url in links} == links


@pytest.mark.parametrize(
    ("period", "days", "before", "year_ago"),
    [
        ("this_month", ("2026-11-01", "2026-11-18"), ("2026-10-01", "2026-10-18"), ("2025-11-01", "2025-11-18")),
        ("last_month", ("2026-10-01", "2026-10-31"), ("2026-09-01", "2026-09-30"), ("2025-10-01", "2025-10-31")),
        ("this_quarter", ("2026-10-01", "2026-11-18"), ("2026-07-01", "2026-08-18"), ("2025-10-01", "2025-11-18")),
        ("last_quarter", ("2026-07-01", "2026-09-30"), ("2026-04-01", "2026-06-30"), ("2025-07-01", "2025-09-30")),
        ("this_year", ("2026-01-01", "2026-11-18"), ("2025-01-01", "2025-11-18"), ("2025-01-01", "2025-11-18")),
        ("last_year", ("2025-01-01", "2025-12-31"), ("2024-01-01", "2024-12-31"), ("2024-01-01", "2024-12-31")),
    ],
)
def test_a_part_of_the_calendar_is_compared_with_the_same_part_of_the_one_before_or_a_year_ago(
    period: str, days: tuple[str, str], before: tuple[str, str], year_ago: tuple[str, str], week: Week, hana: Client
):
    for against, earlier in (("before", before), ("year", year_ago)):
        context = hana.get(REPORTS, {"period": period, "against": against}).context
        shown, compared = context["page"].period, context["earlier"]
        assert (str(shown.first), str(shown.last), str(compared.first), str(compared.last)) == (*days, *earlier)
        active = [link.label for name in ("periods", "against") for link in context[name] if link.is_active]
        assert active == [
            period.replace("_", " ").capitalize(),
            {"before": "Period before", "year": "A year ago"}[against],
        ]


def test_the_last_day_of_a_month_is_compared_with_the_last_day_of_another():
    leap_day = reports.Period(date(2024, 2, 1), date(2024, 2, 29), ZONE, months=1)

    assert (leap_day.before.last, leap_day.months_ago(12).last) == (date(2024, 1, 31), date(2023, 2, 28))
    assert reports.add_months(date(2026, 1, 30), 1) == date(2026, 2, 28)


def test_three_years_are_shown_by_month_with_links_to_exactly_their_rows(week: Week, hana: Client):
    week.book("Old", at(1, 9) - timedelta(days=700), at(1, 9) - timedelta(days=690), week.hana, "WON")
    query = {"from": "2023-11-19", "to": "2026-11-18", "against": "year"}

    page = hana.get(REPORTS, query)

    assert table(page)["All"].split(" | ")[1].startswith("11 (")
    [booked, *_] = page.context["charts"]
    assert (len(booked.bars), booked.bars[0]["label"], booked.bars[-1]["label"]) == (37, "Nov 2023: 0", "Nov 2026: 10")
    links = linked_numbers(page.content.decode())
    assert {url: count_listed_rows(week.hana.user, url) for url in links} == links
    [header, *_] = csv.reader(io.StringIO(hana.get(CSV, query).getvalue().decode("utf-8-sig")))
    assert header[1:3] == ["Opt-ins", "Opt-ins, a year ago"]
    assert "Choose at most three years" in hana.get(REPORTS, query | {"from": "2023-11-15"}).content.decode()
