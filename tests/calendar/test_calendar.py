"""The calendar: each appointment in its host's day, in the user's time zone, and free times that can be booked."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from appointments.models import Appointment
from appointments.services import edit_appointment
from notifications.models import Notification
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from organizations.services import set_working_hours
from staff.calendar.grid import Block, Column, Slot
from tests.factories import deactivate, make_event_type, make_member
from tests.staff.forms import form_data
from tests.staff.home_data import NOW, ZONE, Week, at, create_week
from tests.staff.pages import admin_url, logged_in_client, shown_messages
from webhooks.models import Event

LIST = admin_url(Appointment, "changelist")
TUESDAY, WEDNESDAY, THURSDAY = "2026-11-17", "2026-11-18", "2026-11-19"


@pytest.fixture
def week(organization: Organization, other_organization: Organization) -> Iterator[Week]:
    """Acme's week, on Wednesday, 10:00. Globex has the same one, of which nothing may be shown."""
    with time_machine.travel(NOW, tick=False):
        create_week(other_organization)
        yield create_week(organization)


@pytest.fixture
def mia(week: Week) -> Client:
    """A client signed in as Mia, the manager."""
    return logged_in_client(week.mia)


def calendar(client: Client, one_day: str | None = None, **parameters: Any) -> Any:
    """Return the calendar of a day, or of a week, by default of the present one."""
    parameters |= {"days": "1", "day": one_day} if one_day else {}
    response = client.get(LIST, {"layout": "calendar", **parameters}, follow=True)
    assert response.status_code == 200, response.status_code
    return response


def columns(response: Any) -> dict[str, Column]:
    """Return the columns by host and day of the month."""
    return {f"{column.host or 'nobody'} {column.day.day}": column for column in response.context["columns"]}


def names(column: Column) -> list[str]:
    """Return the appointments of a column by their leads' names."""
    return [block.appointment.lead.first_name for block in column.items if isinstance(block, Block)]


def slots(column: Column) -> list[str]:
    """Return the free times of a column, as they begin and end in New York."""
    spans = [item.span for item in column.items if isinstance(item, Slot)]
    return [f"{span.start.astimezone(ZONE):%H:%M}-{span.end.astimezone(ZONE):%H:%M}" for span in spans]


def rows(item: Block | Slot) -> tuple[float, float]:
    """Return from which to which row of the grid something stands."""
    return item.top / 12, (item.top + item.height) / 12


def block(column: Column, name: str) -> Block:
    """Return the block of an appointment by its lead's name."""
    return next(block for block in column.blocks if block.appointment.lead.first_name == name)


def test_a_week_has_each_appointment_in_its_hosts_day(mia: Client):
    found = {name: names(column) for name, column in columns(calendar(mia)).items() if column.blocks}

    assert found == {
        "Mia 16": ["Deposit"],
        "Mia 17": ["Late"],
        "Mia 18": ["Late", "Running"],  # Late lasts until 00:30
        "Hana 16": ["Won", "Missed"],
        "Hana 18": ["Ended", "Today"],
        "Hana 19": ["Tomorrow"],
    }


def test_hosts_are_closers_and_who_has_hosted_the_user_first(mia: Client, week: Week):
    make_member(week.organization, "adam@acme.example", first_name="Adam")
    gone = make_member(week.organization, "zoe@acme.example", first_name="Zoe")
    deactivate(gone)

    hosts = [str(host) for host in calendar(mia).context["hosts"]]

    assert hosts == ["Mia", "Adam", "Hana"]  # Sam is a setter who has never hosted


def test_who_has_left_is_shown_with_the_appointments_but_cannot_be_booked(mia: Client, week: Week):
    deactivate(week.hana)

    week_before, this_week = calendar(mia, day="2026-11-25"), calendar(mia)

    assert "Hana" not in [str(host) for host in week_before.context["hosts"]]
    assert names(columns(this_week)["Hana 19"]) == ["Tomorrow"]
    assert slots(columns(this_week)["Hana 19"]) == []


def test_appointments_without_host_have_a_column(mia: Client, week: Week):
    Appointment.objects.of(week.organization).filter(pk=week.appointments["Tomorrow"].pk).update(host=None)

    nobody = columns(calendar(mia))["nobody 19"]

    assert (names(nobody), slots(nobody)) == (["Tomorrow"], [])


def test_times_are_in_the_users_time_zone(week: Week):
    week.mia.user.time_zone = "Asia/Tokyo"
    week.mia.user.save()

    found = columns(calendar(logged_in_client(week.mia)))

    assert names(found["Mia 18"]) == ["Late", "Running"]  # 13:30 and 23:30 in Tokyo
    assert names(found["Mia 19"]) == ["Running"]


def test_a_block_stands_at_its_time(mia: Client):
    response = calendar(mia, WEDNESDAY)
    hana = columns(response)["Hana 18"]

    first_hour = response.context["grid"].hours[0][0]
    assert first_hour == 0  # because of Late, which lasts until 00:30
    assert rows(block(hana, "Ended")) == (9, 10)
    assert rows(block(hana, "Today")) == (16, 17)


def test_blocks_that_overlap_stand_beside_each_other(mia: Client, week: Week):
    week.book("Double", at(17, 9), at(19, 11, 30), week.hana, "APPOINTMENT_BOOKED")
    week.book("After", at(17, 9), at(19, 12, 30), week.hana, "APPOINTMENT_BOOKED")

    hana = columns(calendar(mia, THURSDAY))["Hana 19"]

    places = {name: (block(hana, name).lane, block(hana, name).lanes) for name in ("Tomorrow", "Double", "After")}
    assert places == {"Tomorrow": (0, 2), "Double": (1, 2), "After": (0, 1)}


def test_an_appointment_over_midnight_is_on_both_days(mia: Client):
    before, after = columns(calendar(mia, TUESDAY))["Mia 17"], columns(calendar(mia, WEDNESDAY))["Mia 18"]

    assert (block(before, "Late").ends_after, block(after, "Late").begins_before) == (True, True)
    assert rows(block(after, "Late"))[0] == 0
    assert "Tue 23:30–00:30" in " ".join(calendar(mia, WEDNESDAY).content.decode().split())


def test_canceled_appointments_are_hidden_until_they_are_asked_for(mia: Client):
    hidden, shown = calendar(mia), calendar(mia, canceled="1")

    assert (hidden.context["hidden"], names(columns(hidden)["Hana 17"])) == (1, [])
    assert names(columns(shown)["Hana 17"]) == ["Canceled"]
    assert "cal-canceled" in shown.content.decode()


def test_filters_leave_all_appointments_but_mute_the_others(mia: Client, week: Week):
    found = columns(calendar(mia, outcome__id__exact=str(week.status("WON").pk)))["Hana 16"]

    assert {name: block(found, name).is_match for name in names(found)} == {"Won": True, "Missed": False}


def test_a_view_by_time_becomes_that_time(mia: Client):
    responses = [mia.get(LIST, {"layout": "calendar", "view": name}) for name in ("today", "upcoming", "past")]

    addresses = [parse_qs(urlsplit(response.url).query) for response in responses]
    assert [(address["view"], address["days"]) for address in addresses] == [
        (["all"], ["1"]),
        (["all"], ["7"]),
        (["all"], ["7"]),
    ]


# Free times


def test_free_times_are_those_to_come_between_the_appointments(mia: Client, week: Week):
    today, tomorrow = columns(calendar(mia, WEDNESDAY))["Hana 18"], columns(calendar(mia, THURSDAY))["Hana 19"]

    assert slots(today)[:3] == ["10:00-11:00", "11:00-12:00", "12:00-13:00"]  # it is 10:00
    assert "16:00-17:00" not in slots(today)
    assert slots(tomorrow) == [f"{hour:02}:00-{hour + 1:02}:00" for hour in (9, 10, 12, 13, 14, 15, 16, 17)]
    assert slots(columns(calendar(mia, TUESDAY))["Hana 17"]) == []


def test_free_times_are_those_of_the_hosts_working_hours(mia: Client, week: Week):
    hours = [[["13:00", "17:00"]]] * 5 + [[], []]
    set_working_hours(member=week.hana, hours=hours, days_off=[["2026-11-20", "2026-11-22"]], buffer_minutes=15)
    Appointment.objects.of(week.organization).filter(pk=week.appointments["Tomorrow"].pk).update(
        schedule_time=at(19, 14)
    )

    response = calendar(mia, host__id__exact=str(week.hana.pk))

    found = {name: slots(column) for name, column in columns(response).items() if slots(column)}
    assert found == {
        "Hana 18": ["13:00-14:00", "14:00-15:00", "15:00-15:45"],  # it is Wednesday; the call at 16:00 has its pause
        "Hana 19": ["13:00-13:45", "15:15-16:00", "16:00-17:00"],
    }


def test_the_hours_of_a_host_in_another_zone_are_shown_as_they_are_here(mia: Client, week: Week):
    week.hana.user.time_zone = "Asia/Seoul"  # 14 hours ahead
    week.hana.user.save()

    thursday = columns(calendar(mia, THURSDAY))["Hana 19"]
    sunday = columns(calendar(mia, "2026-11-22"))["Hana 22"]

    assert [slots(thursday)[0], slots(thursday)[-1]] == ["00:00-01:00", "23:00-00:00"]
    assert "04:00-05:00" not in slots(thursday)  # 18:00 in Seoul
    assert slots(sunday) == [f"{hour}:00-{(hour + 1) % 24:02}:00" for hour in range(19, 24)]  # Monday there


@pytest.mark.parametrize("roles", [["CANCELED"], ["CANCELED", "LOST"], ["CANCELED", "FOLLOW_UP"]])
def test_a_canceled_appointment_takes_no_time(mia: Client, week: Week, roles: list[str]):
    """Neither with an outcome that says what came of it."""
    week.book("Off", at(17, 9), at(19, 14), week.hana, roles[0])
    for role in roles[1:]:
        values = {"appointment": week.appointments["Off"], "status_id": week.status(role).pk}
        edit_appointment(organization=week.organization, actor=SYSTEM, **values)

    shown = calendar(mia, THURSDAY, canceled="1")

    assert "14:00-15:00" in slots(columns(shown)["Hana 19"])
    assert shown.content.decode().count("cal-canceled") == 1
    assert "Off" not in calendar(mia, THURSDAY).content.decode()


def test_a_click_on_a_free_time_opens_the_booking_form_with_time_and_host(mia: Client, week: Week):
    call = make_event_type(week.organization, "Coaching")
    slot = next(item for item in columns(calendar(mia, THURSDAY))["Hana 19"].items if isinstance(item, Slot))

    form = form_data(mia, slot.url, lead_email="new@example.com", event_type=str(call.pk))
    mia.post(slot.url, form)

    booked = Appointment.objects.of(week.organization).get(lead__email="new@example.com")
    assert (booked.host, booked.schedule_time) == (week.hana, at(19, 9))


@pytest.mark.parametrize("text", ["", "x", "2026-13-01", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_the_booking_form_ignores_a_time_that_is_none(mia: Client, text: str):
    response = mia.get(admin_url(Appointment, "add"), {"schedule_time": text})

    assert response.status_code == 200


@pytest.mark.parametrize("role", MemberRole)
def test_only_those_who_may_book_see_free_times(week: Week, role: MemberRole):
    member = make_member(week.organization, "vera@acme.example", role=role, time_zone=str(ZONE))

    found = columns(calendar(logged_in_client(member), THURSDAY))["Hana 19"]

    assert names(found) == ["Tomorrow"]
    assert bool(slots(found)) is (role != MemberRole.VIEWER)


# Moves


def move_links(response: Any) -> dict[str, str]:
    """Return the addresses to which the script sends moved entries, with their state, by the leads' names."""
    blocks = [block for column in response.context["columns"] for block in column.blocks if block.state]
    url = {
        block.appointment.lead.first_name: admin_url(Appointment, "reschedule", block.appointment.pk)
        for block in blocks
    }
    states = {block.appointment.lead.first_name: block.state for block in blocks}
    return {
        name: f"{url[name]}?{urlencode({'state': states[name], 'calendar': 'layout=calendar&days=1'})}" for name in url
    }


def test_a_moved_entry_asks_as_reschedule_does_and_leads_back(mia: Client, week: Week):
    link = f"{move_links(calendar(mia))['Tomorrow']}&to=2026-11-20T14:15:00.000Z"

    form = form_data(mia, link)
    response = mia.post(link, form)

    assert (form["schedule_time_0"], form["schedule_time_1"]) == ("2026-11-20", "09:15")  # in New York
    assert (response.status_code, response.url) == (302, f"{LIST}?layout=calendar&days=1")
    moved = Appointment.objects.of(week.organization).get(pk=week.appointments["Tomorrow"].pk)
    assert moved.schedule_time == at(20, 9, 15)


def test_an_entry_that_is_moved_to_another_host_asks_once_and_is_one_change(mia: Client, week: Week):
    """With another time or without: the question names the new host, who gets an invitation and is asked about."""
    acme, tomorrow = week.organization, week.appointments["Tomorrow"]
    sam, viewer = week.sam, make_member(week.organization, "vera@acme.example", role=MemberRole.VIEWER)
    Appointment.objects.of(acme).filter(pk=tomorrow.pk).update(source="MANUAL", invited=[week.hana.pk])
    events = Event.objects.of(acme).order_by("pk")
    link, known = f"{move_links(calendar(mia))['Tomorrow']}&to=2026-11-20T14:15:00.000Z", events.count()

    question = mia.get(f"{link}&host={sam.pk}").content.decode()
    message = mia.post(f"{link}&host={sam.pk}", form_data(mia, f"{link}&host={sam.pk}"), follow=True).content.decode()
    again = mia.post(f"{link}&host={viewer.pk}", {}, follow=True).content.decode()

    gets = "Hana gets a cancellation by e-mail; Sam gets an invitation by e-mail"
    assert "Sam becomes the host instead of Hana. " in question
    assert all(part in question for part in gets.split("; "))
    assert "Moved to Fri 20 Nov, 09:15, with Sam." in message
    assert "someone has changed this since you opened the page" in again
    stored = Appointment.objects.of(acme).get(pk=tomorrow.pk)
    assert (stored.schedule_time, stored.host) == (at(20, 9, 15), sam)
    # The lead's is of the touch point.
    assert [event.type for event in events[known:]] == ["lead.updated", "appointment.rescheduled"]
    kinds = Notification.objects.of(acme).filter(recipient__in=[week.hana, sam]).values_list("recipient", "kind")
    assert set(kinds) == {(week.hana.pk, "CALL_REASSIGNED"), (sam.pk, "CALL_BOOKED")}

    # The host alone, and one who can't be one
    own = f"{move_links(calendar(mia))['Tomorrow']}&host="
    mia.post(f"{own}{week.hana.pk}", form_data(mia, f"{own}{week.hana.pk}"))
    path = admin_url(Appointment, "reschedule", tomorrow.pk)
    viewed = mia.post(f"{path}?host={viewer.pk}", {"schedule_time": "2026-11-21T09:00"})
    stored.refresh_from_db()
    assert (stored.schedule_time, stored.host) == (at(20, 9, 15), week.hana)
    assert events.last().type == "appointment.updated"
    assert "This member can&#x27;t be a host any more" in viewed.content.decode()


def test_an_entry_that_someone_has_changed_meanwhile_is_not_asked_about(mia: Client, week: Week):
    link = f"{move_links(calendar(mia))['Tomorrow']}&to=2026-11-20T14:15:00.000Z"
    form = form_data(mia, link)
    Appointment.objects.of(week.organization).filter(pk=week.appointments["Tomorrow"].pk).update(
        schedule_time=at(19, 13)
    )

    responses = [mia.get(link, follow=True), mia.post(link, form, follow=True)]

    for response in responses:
        assert response.redirect_chain[0][0] == f"{LIST}?layout=calendar&days=1"
        assert "someone has changed this since you opened the page" in response.content.decode()
    stored = Appointment.objects.of(week.organization).get(pk=week.appointments["Tomorrow"].pk)
    assert stored.schedule_time == at(19, 13)


def test_an_hour_that_a_clock_repeats_is_told_apart(mia: Client, week: Week):
    week.book("Night", at(1, 0), at(2, 9), week.mia, "APPOINTMENT_BOOKED")
    link = f"{admin_url(Appointment, 'reschedule', week.appointments['Night'].pk)}?to=2026-11-01T06:30:00.000Z"

    mia.post(link, form_data(mia, link))

    moved = Appointment.objects.of(week.organization).get(pk=week.appointments["Night"].pk)
    assert moved.schedule_time == datetime(2026, 11, 1, 6, 30, tzinfo=UTC)  # 01:30 again


def test_only_those_who_may_change_an_appointment_can_move_it(mia: Client, week: Week):
    found = {"Mia": set(move_links(calendar(mia, canceled="1")))}
    for role, member in {"CLOSER": week.hana, "VIEWER": None}.items():
        member = member or make_member(week.organization, "vera@acme.example", role=MemberRole.VIEWER)
        found[role] = set(move_links(calendar(logged_in_client(member))))

    everything = {"Won", "Missed", "Late", "Ended", "Today", "Tomorrow", "Running", "Deposit"}
    assert found == {
        "Mia": everything,  # but not Canceled
        "CLOSER": {"Won", "Missed", "Ended", "Today", "Tomorrow"},
        "VIEWER": set(),
    }


# Days with another length


def test_the_hour_that_a_clock_repeats_has_two_rows(mia: Client, week: Week):
    first, second = datetime(2026, 11, 1, 5, 30, tzinfo=UTC), datetime(2026, 11, 1, 6, 30, tzinfo=UTC)  # 01:30, twice
    week.book("First", at(1, 0), first, week.hana, "WON")
    week.book("Second", at(1, 0), second, week.hana, "WON")

    response = calendar(mia, "2026-11-01")

    assert response.context["grid"].labels[:4] == ["01:00", "01:00 again", "02:00", "03:00"]
    hana = columns(response)["Hana 1"]
    assert [rows(block(hana, name)) for name in ("First", "Second")] == [(0.5, 1.5), (1.5, 2.5)]
    assert {block(hana, name).lanes for name in ("First", "Second")} == {1}
    starts = [int(start) for start in response.context["days"][0].starts.split()]
    assert starts[:3] == [datetime(2026, 11, 1, hour, tzinfo=UTC).timestamp() for hour in (5, 6, 7)]


def test_the_hour_that_a_clock_skips_has_no_row_that_day(mia: Client, week: Week):
    before = datetime(2027, 3, 14, 6, 30, tzinfo=UTC)  # 01:30, until 03:30
    week.book("Night", at(1, 0), before, week.mia, "APPOINTMENT_BOOKED")

    day = calendar(mia, "2027-03-14")
    host = str(week.mia.pk)
    sunday = columns(calendar(mia, day="2027-03-14", host__id__exact=host))["Mia 14"]

    assert [hour for hour, _ in day.context["grid"].hours][:3] == [1, 3, 4]
    assert rows(block(columns(day)["Mia 14"], "Night")) == (0.5, 1.5)
    assert len(sunday.skipped) == 1  # in the week the other days have the hour
    alone = calendar(mia, day="2027-03-14", host__id__exact=host).context["days"][-1]
    assert [start == "0" for start in alone.starts.split()][:3] == [False, True, False]


def test_a_day_that_a_zone_has_skipped_is_empty(mia: Client, week: Week):
    week.mia.user.time_zone = "Pacific/Apia"
    week.mia.user.save()

    day = calendar(mia, "2011-12-30")

    assert [hour for hour, _ in day.context["grid"].hours] == list(range(9, 18))
    assert {start for column in day.context["days"] for start in column.starts.split()} == {"0"}


def test_a_day_has_only_the_appointments_between_its_midnights(mia: Client, week: Week):
    for name, hour in {"Eve": 3, "Morn": 4, "Last": 28, "Next": 29}.items():  # UTC; the day ends at 5:00
        time = datetime(2026, 11, 1 + hour // 24, hour % 24, 30, tzinfo=UTC)
        week.book(name, at(1, 0), time, week.mia, "WON", event_type=None)
    short = make_event_type(week.organization, "Short", duration_minutes=5)
    Appointment.objects.of(week.organization).filter(lead__first_name__in=["Eve", "Next"]).update(event_type=short)

    assert names(columns(calendar(mia, "2026-11-01"))["Mia 1"]) == ["Morn", "Last"]


# The page


def test_hosts_come_in_pages_of_eight(mia: Client, week: Week):
    for number in range(8):
        make_member(week.organization, f"h{number}@acme.example", first_name=f"Host {number}")

    first, second = calendar(mia), calendar(mia, hosts="2")

    assert [len(page.context["hosts"]) for page in (first, second)] == [8, 2]
    assert "More hosts" in first.content.decode()
    assert "Previous hosts" in second.content.decode()
    host = first.context["hosts"][0].pk
    assert [row.pk for row in calendar(mia, hosts="2", host__id__exact=str(host)).context["hosts"]] == [host]


def test_hours_go_across_in_a_week_of_several_hosts_only(mia: Client, week: Week):
    several, alone, day = calendar(mia), calendar(mia, host__id__exact=str(week.hana.pk)), calendar(mia, THURSDAY)

    assert [response.context["is_across"] for response in (several, alone, day)] == [True, False, False]
    assert {str(column.host) for column in alone.context["columns"]} == {"Hana"}
    by_day = {str(each.date): [str(column.host) for column in each.columns] for each in several.context["days"]}
    assert by_day[THURSDAY] == ["Mia", "Hana"]
    empty = [str(each.date) for each in several.context["days"] if each.is_empty]
    assert empty == ["2026-11-21", "2026-11-22"]  # nobody works at the weekend
    assert several.content.decode().count("Nobody works") == 2
    assert len({column.color for column in several.context["columns"]}) == 2


def test_a_crowded_day_shows_the_first_ones_and_links_to_all(mia: Client, week: Week):
    for number in range(30):  # two of which are canceled
        role = "CANCELED" if number < 2 else "APPOINTMENT_BOOKED"
        week.book(f"Crowd{number}", at(17, 9), at(19, 12, number), week.hana, role)

    response = calendar(mia)
    hana, next_day = columns(response)["Hana 19"], columns(response)["Hana 20"]
    with_canceled = columns(calendar(mia, canceled="1"))["Hana 19"]

    assert (len(hana.blocks), hana.more) == (24, 5)  # 28 and Tomorrow
    assert (len(with_canceled.blocks), with_canceled.more) == (24, 7)
    assert response.context["hidden"] == 3  # with Canceled
    assert (slots(hana), slots(next_day)) == ([], [])  # what looks free may not be
    listed = mia.get(LIST + hana.more_url).context["cl"].result_count
    assert listed == 31
    assert columns(calendar(mia, THURSDAY))["Hana 19"].more == 0  # a day has places for 48


def test_previous_and_next_keep_the_filters(mia: Client, week: Week):
    links = calendar(mia, host__id__exact=str(week.hana.pk), canceled="1").context["page"].links

    queries = {name: parse_qs(urlsplit(url).query) for name, url in links.items()}
    assert queries["previous"]["day"] == ["2026-11-09"]
    assert queries["next"]["day"] == ["2026-11-23"]
    assert queries["next"]["host__id__exact"] == [str(week.hana.pk)]
    assert "day" not in queries["today"]


def test_a_member_of_several_organizations_sees_one_at_a_time(week: Week, other_organization: Organization):
    both = make_member(week.organization, "both@acme.example", role=MemberRole.MANAGER)
    Membership.objects.create(organization=other_organization, user=both.user, role=MemberRole.MANAGER)
    client = logged_in_client(both)

    acme, globex = calendar(client), calendar(client, organization__id__exact=str(other_organization.pk))

    assert acme.context["page"].organization == week.organization
    assert {host.organization_id for host in globex.context["host_choices"]} == {other_organization.pk}
    assert "Globex" in acme.content.decode()  # to choose


@pytest.mark.parametrize(
    "parameters",
    [{"days": "3"}, {"hosts": "0"}, {"hosts": "x"}, {"hosts": "9" * 30}],
)
def test_invalid_values_are_refused(mia: Client, parameters: dict[str, str]):
    assert mia.get(LIST, {"layout": "calendar", **parameters}).status_code == 400


@pytest.mark.parametrize("day", ["x", "0026-12-14"])
def test_a_day_that_cannot_be_read_leads_to_today_and_says_what_to_enter(mia: Client, day: str):
    """A browser makes the year 26 of a date field the year 0026."""
    page: Any = mia.get(LIST, {"layout": "calendar", "view": "all", "day": day}, follow=True)

    assert page.context["page"].is_now
    assert [f"You typed “{day}”." in text and text.startswith("Day: Enter a ") for text in shown_messages(page)] == [
        True
    ]


def test_another_organizations_calendar_is_not_found(mia: Client, other_organization: Organization):
    parameters = {"layout": "calendar", "organization__id__exact": str(other_organization.pk)}

    assert mia.get(LIST, parameters).status_code in (400, 404)


def test_the_number_of_statements_does_not_grow(mia: Client, week: Week):
    calendar(mia)  # fills caches
    statements = []
    for number in range(2):
        with CaptureQueriesContext(connection) as captured:
            calendar(mia)
        statements.append(len(captured))
        for hour in range(8):
            host = make_member(week.organization, f"n{number}{hour}@acme.example", first_name=f"N{hour}")
            week.book(f"More{number}{hour}", at(17, 9), at(19, 8 + hour), host, "APPOINTMENT_BOOKED")

    assert statements[0] == statements[1]
