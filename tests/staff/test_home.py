"""The home page: what is to be done, and numbers that are right and link to exactly the rows that they count."""

import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from appointments.models import Appointment
from appointments.services import reschedule
from leads.models import Lead
from leads.privacy.erasing import request_erasure
from leads.services import change_status
from organizations.models import MemberRole, Membership, Organization
from statuses.models import Status
from tests.client import ApiClient
from tests.factories import make_member, make_organization, owner_actor, owner_of
from tests.staff.forms import form_data
from tests.staff.home_data import NOW, ZONE, Week, at, count_listed_rows, create_week, linked_numbers
from tests.staff.pages import admin_url, list_url, logged_in_client, shown_messages

HOME = "/admin/"
BAR_LINK = re.compile(r'<a href="([^"]+)" tabindex="-1"><rect')


@pytest.fixture
def week(organization: Organization, other_organization: Organization) -> Iterator[Week]:
    """Acme's week, with the clock stopped. Globex has the same one, of which nothing may be counted."""
    with time_machine.travel(NOW, tick=False):
        create_week(other_organization)
        yield create_week(organization)


@pytest.fixture
def hana(week: Week) -> Client:
    """A client signed in as Hana, a closer."""
    return logged_in_client(week.hana)


@pytest.fixture
def mia(week: Week) -> Client:
    """A client signed in as Mia, the manager."""
    return logged_in_client(week.mia)


def texts(figures: Any) -> list[str]:
    """Return what the figures show."""
    return [figure.text for figure in figures]


def work(response: Any) -> dict[str, tuple[str, list[str]]]:
    """Return the total and the leads' names of each list of what is to be done."""
    return {
        work_list.title: (work_list.total.text, [str(getattr(row, "lead", row)) for row, _ in work_list.rows])
        for work_list in response.context["lists"]
    }


def charts(response: Any) -> dict[str, str]:
    """Return the number of each chart."""
    return {chart.title: chart.total.text for chart in response.context["charts"]}


def groups(response: Any) -> dict[str, list[str]]:
    """Return the rows of the table: appointments, shown, no-show, canceled, won, lost, show rate and close rate."""
    table = response.context["groups"]
    return {name: texts(cells) for name, cells in [*table.rows, ("All", table.total)]}


def test_a_manager_sees_what_the_team_has_to_do(mia: Client):
    assert work(mia.get(HOME)) == {
        "Today": ("2", ["Running", "Today"]),
        "Tomorrow": ("1", ["Tomorrow"]),
        "Without outcome": ("1", ["Ended"]),
        "Next steps due": ("2", ["Callback", "Undated"]),
        "Opt-ins not called yet": ("1", ["Fresh"]),
    }


def test_closers_and_setters_see_what_they_have_to_do(week: Week, hana: Client):
    closer, setter = work(hana.get(HOME)), work(logged_in_client(week.sam).get(HOME))

    assert [closer[name] for name in ("Today", "Without outcome", "Next steps due")] == [
        ("1", ["Today"]),
        ("1", ["Ended"]),
        ("0", []),
    ]
    assert [setter[name] for name in ("Today", "Tomorrow", "Next steps due", "Opt-ins not called yet")] == [
        ("1", ["Today"]),
        ("1", ["Tomorrow"]),
        ("1", ["Undated"]),
        ("1", ["Fresh"]),
    ]


def test_everybody_can_switch_between_their_own_and_the_team(mia: Client, hana: Client):
    assert work(hana.get(HOME, {"who": "team"})) == work(mia.get(HOME))
    assert work(mia.get(HOME, {"who": "mine"}))["Today"] == ("1", ["Running"])


def test_a_call_that_began_before_midnight_is_todays_until_its_end(week: Week):
    week.book("Night", at(14, 9), at(18, 23, 30), week.mia, "APPOINTMENT_BOOKED")  # takes an hour
    client, listed = logged_in_client(week.mia), admin_url(Appointment, "changelist")

    def days() -> list[tuple[list[str], list[str]]]:
        """Return the leads of Home's lists of today and tomorrow, and those of the lists that they lead to."""
        lists = {row.kind: row for row in client.get("/admin/?who=team").context["lists"]}
        return [
            (
                [str(row.lead.first_name) for row, _ in lists[day].rows],
                [
                    row.lead.first_name
                    for row in client.get(f"{listed}?view=upcoming&work={day}").context["cl"].result_list
                ],
            )
            for day in ("today", "tomorrow")
        ]

    with time_machine.travel(at(18, 23), tick=False):
        before = days()
    with time_machine.travel(at(19, 0, 10), tick=False):
        after = days()
    with time_machine.travel(at(19, 0, 40), tick=False):
        over = days()

    assert before == [(["Night"], ["Night"]), (["Tomorrow"], ["Tomorrow"])]
    assert after == [(["Night", "Tomorrow"], ["Night", "Tomorrow"]), ([], [])]
    assert over == [(["Tomorrow"], ["Tomorrow"]), ([], [])]


def test_the_numbers_of_a_week(mia: Client):
    page = mia.get(HOME, {"days": "7"})

    assert charts(page) == {"Booked": "9", "Show rate": "83 %", "Close rate": "40 %", "Canceled": "1"}
    assert groups(page) == {
        "Hana": ["5", "2", "1", "1", "1", "0", "67 %", "50 %"],
        "Mia": ["3", "3", "0", "0", "1", "1", "100 %", "33 %"],
        "All": ["8", "5", "1", "1", "2", "1", "83 %", "40 %"],
    }
    assert [(name, figure.text, share) for name, figure, share in page.context["funnel"]] == [
        ("Opt-ins", "5", 100),
        ("Booked", "3", 60),
        ("Shown", "2", 40),
        ("Won", "1", 20),
    ]
    assert page.context["time_to_booking"].text == "4 h 0 min"
    assert [
        (re.sub("<[^>]+>", "", name), time.text, figure.text)
        for name, (time, figure) in page.context["status_times"].rows
    ] == [
        ("Appointment booked", "3 d 16 h", "2"),
        ("New lead", "11 h 0 min", "3"),
    ]


def test_a_rescheduled_call_is_neither_shown_nor_without_outcome(week: Week, mia: Client):
    """The lead asked for another day."""
    week.appointments["Ended"].outcome = week.status("RESCHEDULED")
    week.appointments["Ended"].save()

    page = mia.get(HOME, {"days": "7"})

    assert work(page)["Without outcome"] == ("0", [])
    assert groups(page)["Hana"] == ["5", "1", "1", "1", "1", "0", "50 %", "100 %"]
    listed = {url: rows for url, rows in linked_numbers(page.content.decode()).items() if "result=shown" in url}
    assert {url: count_listed_rows(week.mia.user, url) for url in listed} == listed


def test_the_numbers_of_each_day_in_the_users_zone(mia: Client):
    page = mia.get(HOME, {"days": "7"})

    assert {name: texts(cells) for name, cells in page.context["days"].rows} == {
        "Thu 12 Nov": ["1", "0", "0", "0", "0", "0", "0", "–", "–"],
        "Fri 13 Nov": ["2", "0", "0", "0", "0", "0", "0", "–", "–"],
        "Sat 14 Nov": ["2", "0", "0", "0", "0", "0", "0", "–", "–"],
        "Sun 15 Nov": ["1", "0", "0", "0", "0", "0", "0", "–", "–"],
        "Mon 16 Nov": ["2", "3", "2", "1", "0", "2", "0", "67 %", "100 %"],
        "Tue 17 Nov": ["0", "2", "1", "0", "1", "0", "1", "100 %", "0 %"],
        "Wed 18 Nov": ["1", "3", "2", "0", "0", "0", "0", "100 %", "0 %"],
    }


def test_the_numbers_of_my_own_and_of_chosen_days(week: Week, hana: Client):
    mine = hana.get(HOME, {"days": "7"})
    two_days = hana.get(HOME, {"who": "team", "from": "2026-11-16", "to": "2026-11-17", "by": "setter"})
    narrowed = hana.get(HOME, {"who": "team", "days": "7", "host": str(week.hana.pk), "setter": str(week.sam.pk)})

    assert groups(mine)["All"] == ["5", "2", "1", "1", "1", "0", "67 %", "50 %"]
    assert groups(two_days) == {
        "Without setter": ["4", "2", "1", "1", "1", "1", "67 %", "50 %"],
        "Sam": ["1", "1", "0", "0", "1", "0", "100 %", "100 %"],
        "All": ["5", "3", "1", "1", "2", "1", "75 %", "67 %"],
    }
    assert groups(narrowed)["All"] == ["2", "1", "0", "0", "1", "0", "100 %", "100 %"]


@pytest.mark.parametrize(
    "query",
    [
        "days=7&who=team",
        "days=7&who=mine&by=setter",
        "days=30&who=team&by=event_type",
        "from=2026-11-10&to=2026-11-16&who=team&by=last_source&host={host}",
        "days=7&who=team&by=triager&setter={setter}",
    ],
)
def test_each_number_links_to_the_rows_that_it_counts(query: str, week: Week, hana: Client):
    page = hana.get(f"{HOME}?{query.format(host=week.hana.pk, setter=week.sam.pk)}").content.decode()
    numbers = linked_numbers(page)
    bars = {unescape(url) for url in BAR_LINK.findall(page)}

    assert len(numbers) > 20
    assert bars <= set(numbers)
    assert {url: count_listed_rows(week.hana.user, url) for url in numbers} == numbers


def test_each_opt_in_of_a_lead_counts_by_what_was_booked_at_its_time_or_later(week: Week, hana: Client):
    before = stages(hana)
    week.book("Often", at(13, 9), at(14, 10), week.hana, "WON")
    week.book("Often", at(13, 12), at(15, 10), week.hana, "CANCELED")
    week.book("Often", at(15, 9), at(16, 9), week.hana, "NO_SHOW")
    lead = week.appointments["Often"].lead
    for time in (at(13, 8), at(13, 9), at(13, 9, 1), at(13, 12), at(14, 9), at(15, 9), at(15, 9, 1)):
        week.opt_in(lead, time)

    after = stages(hana)

    added = {stage: number - before[stage] for stage, number in after.items()}
    assert added == {"not_called": 0, "booked": 6, "shown": 2, "won": 2}


def test_a_call_that_was_entered_afterwards_counts_from_its_time(week: Week, hana: Client):
    """An imported call of last year is no booking after an opt-in of this week; one held after it is."""
    before = stages(hana)
    week.book("Imported", at(14, 9), at(14, 9) - timedelta(days=300), week.hana, "WON")
    week.book("Entered", at(14, 9), at(13, 15), week.hana, "WON")
    for name in ("Imported", "Entered"):
        week.opt_in(week.appointments[name].lead, at(13, 10))

    added = {stage: number - before[stage] for stage, number in stages(hana).items()}

    assert added == {"not_called": 0, "booked": 1, "shown": 1, "won": 1}


def stages(client: Client) -> dict[str, int]:
    """Return how many opt-ins the home page links to in each stage; the lists behind the links have as many."""
    numbers = linked_numbers(client.get(HOME, {"days": "7", "who": "team"}).content.decode())
    found = {url: number for url, number in numbers.items() if "stage=" in url}
    user = client.get(HOME).wsgi_request.user
    assert {url: count_listed_rows(user, url) for url in found} == found
    return {parse_qs(urlsplit(url).query)["stage"][0]: number for url, number in found.items()}


def test_a_filter_by_a_row_that_is_not_offered_any_more_stays(
    week: Week, hana: Client, monkeypatch: pytest.MonkeyPatch
):
    """Sources have no limit in number, and a select shows some of them."""
    monkeypatch.setattr("staff.figures.tables.MAX_OPTIONS", 1)
    for host in (week.hana, week.mia):
        page = hana.get(HOME, {"days": "7", "host": str(host.pk)}).content.decode()
        assert re.search(rf'<option value="{host.pk}"\s+selected', page)


def test_the_linked_lists_open(week: Week, mia: Client):
    page = mia.get(HOME, {"days": "7"})
    urls = [work_list.total.url for work_list in page.context["lists"]]
    urls += [page.context["status_times"].rows[0][1][1].url, page.context["funnel"][1][1].url]

    counts = [mia.get(url).context["cl"].result_count for url in urls]

    assert counts == [2, 1, 1, 2, 1, 2, 3]


def outcome_form(page: str) -> tuple[str, dict[str, str]]:
    """Return the address of the first form with outcome buttons, and what its button "Won" sends."""
    form = re.search(r'<form class="home-outcomes" method="post" action="([^"]+)">(.*?)</form>', page, re.DOTALL)
    assert form, page
    fields = dict(re.findall(r'<input type="hidden" name="(state|home)" value="([^"]*)">', form[2]))
    buttons = {text: value for value, text in re.findall(r'name="outcome" value="([^"]+)"[^>]*>([^<]+)<', form[2])}
    assert list(buttons) == ["Won", "Lost", "No-show"]
    return form[1], {**{name: unescape(value) for name, value in fields.items()}, "outcome": buttons["Won"]}


def test_an_outcome_is_set_with_one_click_and_not_twice(week: Week, mia: Client):
    url, fields = outcome_form(mia.get(HOME, {"who": "team", "days": "7"}).content.decode())

    response = mia.post(url, fields)
    again = mia.post(url, fields)

    ended = Appointment.objects.of(week.organization).get(pk=week.appointments["Ended"].pk)
    assert (response.status_code, response.url) == (302, "/admin/?who=team&days=7")
    assert (ended.outcome, ended.lead.status) == (week.status("WON"), week.status("WON"))
    assert ended.outcome_changes.count() == 1
    assert f'href="{admin_url(Appointment, "change", ended.pk)}"' in shown_messages(response)[-1]  # to undo it
    assert again.url == response.url
    assert "this was done already" in shown_messages(again)[-1]
    assert work(mia.get(HOME))["Without outcome"] == ("0", [])


def test_a_follow_up_asks_when_and_leads_home_again(week: Week, mia: Client):
    page = mia.get(HOME, {"who": "team", "days": "7"}).content.decode()
    link = unescape(re.search(r'<a class="home-button" href="([^"]+set_follow_up[^"]+)"', page)[1])

    response = mia.post(link, form_data(mia, link) | {"next_step_at": "2026-11-20T10:00"})

    lead = Lead.objects.of(week.organization).get(first_name="Ended")
    assert (response.status_code, response.url) == (302, "/admin/?who=team&days=7")
    assert (lead.status.role, lead.next_step_at.date().isoformat()) == ("FOLLOW_UP", "2026-11-20")


def test_an_outcome_that_somebody_else_has_set_meanwhile_is_not_overwritten(week: Week, mia: Client):
    url, fields = outcome_form(mia.get(HOME, {"who": "team", "days": "7"}).content.decode())
    mia.post(url, fields | {"outcome": str(week.status("LOST").pk)})

    response = mia.post(url, fields)

    assert response.url == "/admin/?who=team&days=7"
    assert "someone has changed this since you opened the page" in shown_messages(response)[-1]
    assert Appointment.objects.of(week.organization).get(lead__first_name="Ended").outcome == week.status("LOST")


def test_an_outcome_is_not_set_for_a_call_that_has_been_moved_meanwhile(week: Week, mia: Client):
    url, fields = outcome_form(mia.get(HOME, {"who": "team", "days": "7"}).content.decode())
    ended = Appointment.objects.of(week.organization).get(lead__first_name="Ended")
    booked = ended.outcome
    by = {"organization": week.organization, "actor": owner_actor(week.organization)}
    reschedule(**by, appointment=ended, to=NOW + timedelta(days=7))

    response = mia.post(url, fields)

    assert "someone has changed this since you opened the page" in shown_messages(response)[-1]
    assert Appointment.objects.of(week.organization).get(pk=ended.pk).outcome == booked


def test_an_outcome_of_another_organization_is_refused(week: Week, other_organization: Organization, mia: Client):
    other = Appointment.objects.of(other_organization).filter(lead__first_name="Ended").get()
    _, fields = outcome_form(mia.get(HOME).content.decode())

    response = mia.post(admin_url(Appointment, "set_outcome", other.pk), fields)

    assert (response.status_code, response.url) == (302, "/admin/")
    assert Appointment.objects.of(other_organization).get(pk=other.pk).outcome == other.outcome


def test_a_member_of_several_organizations_chooses_one(week: Week, other_organization: Organization):
    member = make_member(week.organization, "both@acme.example", role="MANAGER", time_zone=str(ZONE))
    Membership.objects.create(organization=other_organization, user=member.user, role="CLOSER")
    client = logged_in_client(member)

    first, second = (
        client.get(HOME, {"days": "7", **chosen}) for chosen in ({}, {"organization": other_organization.pk})
    )

    assert (first.context["page"].organization, second.context["page"].organization) == (
        week.organization,
        other_organization,
    )
    assert groups(first)["All"][0] == "8"
    assert (groups(second)["All"][0], first.context["page"].is_mine, second.context["page"].is_mine) == (
        "0",
        False,
        True,
    )
    links = linked_numbers(first.content.decode())
    assert {url: count_listed_rows(member.user, url) for url in links} == links


def test_an_operator_sees_an_organization_without_being_a_member(week: Week, operator: Client):
    page = operator.get(HOME, {"organization": week.organization.pk})

    assert groups(page)["All"][0] == "9"  # the operator's zone is UTC, and the 30 days are the default
    assert "Mine" not in re.sub(r"<dl>.*</dl>", "", page.content.decode(), flags=re.DOTALL)


def test_an_operator_without_organizations_is_told_to_add_one(operator: Client):
    page = operator.get(HOME).content.decode()

    assert "There is no organization yet." in page
    assert admin_url(Organization, "add") in page


@pytest.mark.parametrize(
    "query",
    [
        "who=nobody",
        "days=8",
        "by=password",
        "host=x",
        "setter=%00",
        "organization=00000000-0000-0000-0000-000000000000",
    ],
)
def test_an_address_with_unknown_values_is_refused(query: str, owner: Client):
    assert owner.get(f"{HOME}?{query}").status_code == 400


@pytest.mark.parametrize(
    ("days", "problem"),
    [
        ("from=2026-11-16", "Enter the first and the last day."),
        ("from=x&to=2026-02-30", "Enter the first and the last day."),
        ("from=2026-11-17&to=2026-11-16", "Choose at most 92 days, the first before the last."),
        ("from=2026-01-01&to=2026-11-16", "Choose at most 92 days, the first before the last."),
        ("from=9999-12-31&to=9999-12-31", "Enter the first and the last day."),
    ],
)
def test_days_that_are_no_period_are_explained(days: str, problem: str, owner: Client):
    page = owner.get(f"{HOME}?{days}")

    assert (page.status_code, problem in page.content.decode()) == (200, True)


def test_a_new_organization_is_told_what_to_do_first(organization: Organization, owner: Client):
    page = owner.get(HOME)

    assert [step.text.split()[0] for step in page.context["steps"]] == [
        "Choose",
        "Choose",
        "Invite",
        "Add",
        "Import",
        "Create",
        "Add",
        "Book",
    ]
    assert [step.is_done for step in page.context["steps"]] == [False] * 8
    assert [work_list.rows for work_list in page.context["lists"]] == [[]] * 5
    assert "No appointments left today." in page.content.decode()
    make_member(organization, "first@acme.example")
    Organization.objects.filter(pk=organization.pk).update(time_zone="Europe/Rome")
    steps = owner.get(HOME).context["steps"]
    assert [number for number, step in enumerate(steps) if step.is_done] == [0, 2]


def test_who_may_not_book_is_not_asked_to(organization: Organization, owner: Client):
    viewer = logged_in_client(make_member(organization, "vera@acme.example", role=MemberRole.VIEWER))
    add = admin_url(Appointment, "add")

    own, other = owner.get(HOME).content.decode(), viewer.get(HOME).content.decode()

    assert "Book an appointment" in own
    assert ("Book an appointment" in other, add in other) == (False, False)
    lists = [client.get(list_url(Appointment)).content.decode() for client in (owner, viewer)]
    assert ["No appointments yet" in text for text in lists] == [True, True]
    assert ["create an API key" in text for text in lists] == [True, False]


def test_the_steps_of_one_of_several_organizations(
    organization: Organization, other_organization: Organization, owner: Client
):
    user = Membership.objects.of(organization).get(role="OWNER").user
    Membership.objects.create(organization=other_organization, user=user, role="CLOSER")

    own, other = (
        owner.get(HOME, {"organization": chosen.pk}).context["steps"] for chosen in (organization, other_organization)
    )

    assert len(own) == 8
    assert [step.text for step in other] == ["Book the first appointment"]
    for step in own:
        page = owner.get(step.url)
        assert (page.status_code, "For which organization?" in page.content.decode()) == (200, False)
        assert str(organization.pk) in step.url


def test_the_page_takes_the_same_number_of_statements_for_any_number_of_rows(week: Week, mia: Client):
    def count_statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert mia.get(HOME, {"by": "last_source"}).status_code == 200
        return len(captured)

    count_statements()  # the session's first request notes its use
    before = count_statements()
    create_week(make_organization("Initech"))
    for number in range(3):
        week.book(f"More{number}", NOW, NOW, week.hana, "WON", event_type=None)
        week.opt_in(week.appointments[f"More{number}"].lead, NOW)

    assert count_statements() == before


@pytest.mark.parametrize(("hour", "word"), [(5, "morning"), (13, "afternoon"), (23, "evening")])
def test_the_greeting_is_that_of_the_users_time_of_day(hour: int, word: str, week: Week):
    with time_machine.travel(NOW.astimezone(ZONE).replace(hour=hour), tick=False):
        page = logged_in_client(week.mia).get(HOME).content.decode()

    assert f"Good {word}, Mia" in page
    assert "Wednesday 18 November" in page


def test_an_erased_lead_is_no_work(api: ApiClient, organization: Organization):
    """Neither its opt-in, nor the lead itself with the status of a follow-up."""
    follow_up = Status.objects.of(organization).get(role="FOLLOW_UP")
    ids = [api.submit(email=f"{name}@example.com").json()["data"]["lead_id"] for name in ("ada", "bob")]
    by = {"organization": organization, "actor": owner_actor(organization)}
    change_status(**by, lead_id=UUID(ids[1]), status_id=follow_up.pk)
    owner = logged_in_client(owner_of(organization))
    before = work(owner.get(HOME))

    for id in ids:
        request_erasure(**by, lead_id=UUID(id))
    after = work(owner.get(HOME))

    titles = ("Next steps due", "Opt-ins not called yet")
    assert [before[title][0] for title in titles] == ["1", "1"]
    assert [after[title] for title in titles] == [("0", [])] * 2
    [steps] = [each for each in owner.get(HOME).context["lists"] if each.kind == "next_steps"]
    assert list(owner.get(steps.total.url).context["cl"].result_list) == []
