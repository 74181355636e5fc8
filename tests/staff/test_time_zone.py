"""Each page shows all its times in the user's time zone, and names that zone once."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.admin import ModelAdmin
from django.contrib.staticfiles import finders
from django.core.exceptions import ValidationError
from django.test import Client

from accounts.time_zone import describe_zone
from appointments.models import Appointment, CallAnalysis
from foundation.db.timestamps import now, zone_names
from leads.models import Lead, NextStep, PossibleDuplicate
from leads.services import add_lead
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization, User
from staff.toolkit.times import TimestampField
from tests.accounts import accept, invite_and_read_link
from tests.factories import make_member, set_columns
from tests.record.test_lead_page import action_url
from tests.staff.forms import form_data
from tests.staff.pages import TENANT_MODEL_ADMINS, admin_url, list_url, logged_in_client, shown_messages
from tests.staff.sample_data import create_sample_data
from webhooks.models import Attempt, Endpoint

ZONE, SHOWN = "Australia/Lord_Howe", "Lord Howe time (GMT+1"  # +11:00 in summer, +10:30 in winter


@pytest.fixture
def member(organization: Organization) -> Client:
    """A client of Acme's second owner, whose time zone nobody else has."""
    return logged_in_client(make_member(organization, "isla@acme.example", role=MemberRole.OWNER, time_zone=ZONE))


@pytest.fixture
def appointment(organization: Organization) -> Appointment:
    """An appointment at 23:30 UTC on 4 January, which is 10:30 on 5 January for the member."""
    appointment = create_sample_data(organization, "ours")
    appointment.schedule_time = datetime(2027, 1, 4, 23, 30, tzinfo=UTC)
    appointment.save()
    return appointment


def text_of(page: str) -> str:
    """Return what a person reads on the page, without the options of its selects."""
    return re.sub(r"<[^>]+>", " ", re.sub(r"<(option|script|style)\b.*?</\1>", " ", page, flags=re.DOTALL))


@pytest.mark.parametrize("model_admin", TENANT_MODEL_ADMINS, ids=lambda model_admin: model_admin.opts.label)
def test_every_page_names_the_time_zone_once(model_admin: ModelAdmin, member: Client, appointment: Appointment):
    model = model_admin.model
    # The page of a possible duplicate only leads to the comparison below.
    row = None if model is PossibleDuplicate else model.objects.of(appointment.organization).first()
    urls = [list_url(model), *([admin_url(model, "change", row.pk)] if row else [])]
    if model_admin.can_add:
        urls.append(admin_url(model, "add"))

    pages = {url: text_of(member.get(url, follow=True).content.decode()) for url in urls}

    assert {url: page.count(SHOWN) for url, page in pages.items()} == dict.fromkeys(urls, 1)
    # The working hours of a member are on the member's own clock, and their page says on which.
    assert [url for url, page in pages.items() if "UTC" in page and model is not Membership] == []


def test_the_comparison_of_two_leads_names_the_time_zone_once(member: Client, appointment: Appointment):
    other = add_lead(organization=appointment.organization, actor=SYSTEM, email="second@acme.example")

    page = text_of(member.get(f"{admin_url(Lead, 'merge', appointment.lead_id)}?with={other.pk}").content.decode())

    assert (page.count(SHOWN), "UTC" in page) == (1, False)


@pytest.mark.parametrize("url", ["/admin/", "/admin/account/sessions/"])
def test_pages_of_the_site_name_the_time_zone_once(url: str, member: Client, appointment: Appointment):
    page = text_of(member.get(url).content.decode())

    assert (page.count(SHOWN), "UTC" in page) == (1, False)


def test_the_heading_of_an_appointment_shows_the_time_of_its_field(member: Client, appointment: Appointment):
    url = admin_url(Appointment, "change", appointment.pk)

    page, form = text_of(member.get(url).content.decode()), form_data(member, url)

    assert (form["schedule_time_0"], form["schedule_time_1"]) == ("2027-01-05", "10:30")
    assert "Ours, Tue 5 Jan 2027, 10:30" in page


def test_pages_that_refer_to_an_appointment_show_its_time_in_the_same_zone(member: Client, appointment: Appointment):
    analysis = CallAnalysis.objects.of(appointment.organization).get()
    urls = [
        admin_url(CallAnalysis, "change", analysis.pk),
        admin_url(Appointment, "cancel", appointment.pk),
        admin_url(Appointment, "history", appointment.pk),
    ]

    pages = [text_of(member.get(url).content.decode()) for url in urls]

    assert ["Tue 5 Jan 2027, 10:30" in page for page in pages] == [True, True, True]


def test_the_message_after_saving_shows_the_time_of_the_page(member: Client, appointment: Appointment):
    url = admin_url(Appointment, "change", appointment.pk)

    response = member.post(url, form_data(member, url, recording_url="https://rec.example/1"))

    assert "Tue 5 Jan 2027, 10:30" in shown_messages(response)[0]


def test_the_chart_of_an_endpoint_shows_times_in_the_same_zone(member: Client, appointment: Appointment):
    attempted_at = now().replace(hour=0, minute=0, second=7)
    Attempt.objects.of(appointment.organization).update(created_at=attempted_at)
    endpoint = Endpoint.objects.of(appointment.organization).get()

    page = member.get(admin_url(Endpoint, "change", endpoint.pk)).content.decode()

    assert re.search(r"<title>[^<]* 1[01]:[03]0:07: 200, 5 ms", page)
    assert "UTC" not in page


def test_the_browsers_time_zone_causes_no_warning():
    # Django's script adds a warning beside each field when the browser's time zone differs from the user's.
    css = Path(finders.find("staff/admin.css")).read_text()

    assert re.search(r"body \.timezonewarning\s*{\s*display: none;", css)


@pytest.mark.parametrize("time", ["2027-04-03T14:45:00Z", "2027-04-03T15:15:00Z"])
def test_an_appointment_in_the_hour_that_the_clock_repeats_can_be_changed(
    time: str, member: Client, appointment: Appointment, host: Membership
):
    stored = datetime.fromisoformat(time)
    set_columns(Appointment, appointment.organization, appointment.pk, schedule_time=stored)
    url = admin_url(Appointment, "change", appointment.pk)

    response = member.post(url, form_data(member, url, host=host.pk))

    appointment.refresh_from_db()
    assert (response.status_code, appointment.host, appointment.schedule_time) == (302, host, stored)


def test_the_names_of_the_time_zones_are_read_once_in_a_process(member: Client, organization: Organization):
    profile = admin_url(
        User, "change", Membership.objects.of(organization).get(user__email="isla@acme.example").user_id
    )
    zone_names.cache_clear()

    pages = [member.get(profile).content.decode() for _ in range(2)]

    assert [page.count('value="Europe/Berlin"') for page in pages] == [1, 1]
    assert zone_names.cache_info().misses == 1


def use_zone(member: Client, zone: str, page: str = "/admin/leads/lead/?q=x") -> tuple[str, list[str]]:
    """Send what the page's offer sends; return where it leads, and the messages."""
    response = member.post("/admin/account/time-zone/", {"time_zone": zone, "page": page})
    return response.headers["Location"], shown_messages(response)


def test_the_time_zone_of_the_browser_is_taken_over_and_the_page_is_shown_again(member: Client):
    answer = use_zone(member, "Asia/Kolkata")

    assert answer == ("/admin/leads/lead/?q=x", ["Times are in Kolkata time (GMT+5:30) now."])
    assert "Times in Kolkata time (GMT+5:30)" in " ".join(text_of(member.get("/admin/").content.decode()).split())


def test_the_address_that_takes_over_a_time_zone_leads_home_and_changes_nothing(member: Client):
    response = member.get("/admin/account/time-zone/", {"time_zone": "Asia/Kolkata"})

    assert (response.status_code, response.headers["Location"]) == (302, "/admin/")
    assert User.objects.get(email="isla@acme.example").time_zone == ZONE


@pytest.mark.parametrize("zone", ["", "Europe/Nowhere", "../../etc/passwd", "x" * 5000])
def test_an_unknown_time_zone_changes_nothing(zone: str, member: Client):
    assert use_zone(member, zone)[1] == ["This time zone is not known here. Choose one in your account."]
    assert User.objects.get(email="isla@acme.example").time_zone == ZONE


@pytest.mark.parametrize("page", ["https://evil.example/", "//evil.example", "javascript:alert(1)", ""])
def test_taking_over_a_time_zone_leads_to_no_other_site(page: str, member: Client):
    assert use_zone(member, "Asia/Kolkata", page)[0] == "/admin/"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("UTC", "UTC"),
        ("Etc/UTC", "UTC"),
        ("Etc/GMT+5", "GMT-5"),
        ("America/St_Johns", "St Johns time (GMT-3:30)"),
        ("America/Argentina/Buenos_Aires", "Buenos Aires time (GMT-3)"),
        ("Europe/Nowhere", "Nowhere time (GMT+0)"),
    ],
)
def test_a_time_zone_is_called_by_its_city_and_offset(name: str, text: str):
    assert describe_zone(name, datetime(2027, 1, 5, tzinfo=UTC)) == text


@pytest.mark.parametrize(
    ("name", "at", "offset"),
    [
        ("Europe/Berlin", "2027-03-28T00:59:00Z", "GMT+1"),
        ("Europe/Berlin", "2027-03-28T01:00:00Z", "GMT+2"),
        ("Australia/Sydney", "2027-10-02T15:59:00Z", "GMT+10"),
        ("Australia/Sydney", "2027-10-02T23:00:00Z", "GMT+11"),
        ("America/New_York", "2027-11-07T05:59:00Z", "GMT-4"),
        ("America/New_York", "2027-11-07T06:00:00Z", "GMT-5"),
    ],
)
def test_its_offset_is_that_of_the_very_hour(name: str, at: str, offset: str):
    assert describe_zone(name, datetime.fromisoformat(at)).endswith(f"({offset})")


@pytest.mark.parametrize(("sent", "zone"), [("Asia/Calcutta", "Asia/Kolkata"), ("Europe/Nowhere", "Europe/Rome")])
def test_a_new_account_gets_the_time_zone_of_the_browser(
    sent: str, zone: str, owner: Client, organization: Organization, client: Client
):
    Organization.objects.filter(pk=organization.pk).update(time_zone="Europe/Rome")
    link = invite_and_read_link(owner, organization, "new@acme.example")

    accept(client, link, browser_zone=sent)

    assert User.objects.get(email="new@acme.example").time_zone == zone


def test_a_form_that_was_opened_before_the_zone_was_changed_means_the_times_that_it_shows(
    member: Client, appointment: Appointment
):
    url, step_url = admin_url(Appointment, "change", appointment.pk), action_url(appointment.lead, "set_next_step")
    unchanged = form_data(member, url, meeting_url="https://meet.example.com/new")
    step = form_data(member, step_url, at_0="2027-01-20", at_1="14:00")
    before = appointment.schedule_time
    member.post("/admin/account/time-zone/", {"time_zone": "UTC"})

    responses = [member.post(url, unchanged), member.post(step_url, step)]

    stored = Appointment.objects.of(appointment.organization).get(pk=appointment.pk)
    assert [response.status_code for response in responses] == [302, 302]
    assert (stored.schedule_time, stored.meeting_url) == (before, "https://meet.example.com/new")
    assert NextStep.unscoped.latest("created_at").at == datetime(2027, 1, 20, 3, tzinfo=UTC)
    refused = member.post(step_url, step | {"at_1": "tea time"}).content.decode()
    assert (SHOWN in refused, f'value="{ZONE}"' in refused) == (True, True)


def test_free_times_beside_such_a_form_are_in_its_zone(member: Client, appointment: Appointment):
    member.post("/admin/account/time-zone/", {"time_zone": "UTC"})
    about = {"organization": appointment.organization_id, "lead": appointment.lead_id, "minutes": "15", "field": "at"}
    form = {**about, "at_0": "2027-01-20", "at_1": "10:00"}
    url = admin_url(Appointment, "times")

    pages = [member.post(url, form | zone).content.decode() for zone in ({}, {"at_zone": ZONE})]

    starts = [re.findall('data-start="([^"]+)"', page)[0] for page in pages]
    assert starts == ["2027-01-20 09:00", "2027-01-20 00:00"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("130", "01:30"), ("215", "02:15"), ("945", "09:45"), ("1730", "17:30"), ("17", "17:00"), ("9.05", "09:05")]
    + [("5pm", "17:00"), ("12 am", "00:00"), ("12:15pm", "12:15")]
    + [(text, None) for text in ("24", "5.5", "1", "13pm", "0am", "9:5", "25:00", "12345", "٩:٠٥")],
)
def test_a_time_is_read_as_a_person_means_it_or_refused(typed: str, expected: str | None):
    if typed == "1":
        expected = "01:00"
    try:
        at = TimestampField().clean(["2027-01-05", typed])
    except ValidationError:
        at = None

    assert (at and at.strftime("%H:%M")) == expected
