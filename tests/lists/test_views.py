"""The views of the lists: what each shows, in which order, and what its address keeps."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client

from appointments.models import Appointment
from leads.models import Lead
from optins.models import OptIn
from organizations.models import Membership, Organization
from staff.appointments.appointments import AppointmentAdmin
from staff.toolkit.views import TABLE, Layout, ViewChangeList
from statuses.models import Status
from tests.factories import make_api, make_member, make_provider_appointment
from tests.staff.pages import admin_url, logged_in_client, shown_messages

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)
HOURS = {"yesterday": -24, "morning": -5, "soon": 2, "evening": 7, "tomorrow": 26}
APPOINTMENTS, LEADS, OPT_INS = (admin_url(model, "changelist") for model in (Appointment, Lead, OptIn))


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands at noon, UTC."""
    monkeypatch.setattr("staff.selections.now", lambda: NOW)


@pytest.fixture
def closer(organization: Organization, host: Membership) -> Client:
    """Hana, the host of the appointments, for whom it is 14:00 to 20:00 o'clock east of UTC when the clock stands."""
    status = Status.objects.of(organization).get(role="APPOINTMENT_BOOKED")
    for name, hours in HOURS.items():
        make_provider_appointment(
            organization,
            f"{name}@example.com",
            external_reference=name,
            schedule_time=NOW + timedelta(hours=hours),
            host=host,
            outcome=status,
        )
    return logged_in_client(host)


def names(client: Client, address: str) -> list[str]:
    """Return the references, or the e-mails, of the rows of a list, in their order."""
    rows = client.get(address).context["cl"].result_list
    return [row.external_reference if isinstance(row, Appointment) else getattr(row, "lead", row).email for row in rows]


def test_each_view_of_appointments_shows_its_rows_in_its_order(closer: Client):
    views = ("today", "upcoming", "without_outcome", "past", "mine", "all")

    assert {view: names(closer, f"{APPOINTMENTS}?view={view}") for view in views} == {
        "today": ["morning", "soon", "evening"],
        "upcoming": ["soon", "evening", "tomorrow"],
        "without_outcome": ["morning", "yesterday"],
        "past": ["morning", "yesterday"],
        "mine": ["morning", "soon", "evening", "tomorrow"],
        "all": ["tomorrow", "evening", "soon", "morning", "yesterday"],
    }


@pytest.mark.parametrize("few", [0, 1, 2])
def test_few_and_many_appointments_without_outcome_are_found_alike(
    closer: Client, few: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("appointments.conditions.FEW", few)

    assert names(closer, f"{APPOINTMENTS}?view=without_outcome") == ["morning", "yesterday"]


def test_the_pages_of_a_list_have_each_row_once_and_in_order(closer: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("staff.toolkit.base.ServiceAdmin.list_per_page", 2)

    pages = [names(closer, f"{APPOINTMENTS}?view=all&p={page}") for page in (1, 2, 3)]
    by_lead = [names(closer, f"{APPOINTMENTS}?view=all&o=1&p={page}") for page in (1, 2, 3)]

    assert pages == [["tomorrow", "evening"], ["soon", "morning"], ["yesterday"]]
    assert sorted(name for page in by_lead for name in page) == sorted(HOURS)


def test_today_is_the_day_of_the_members_zone(closer: Client, organization: Organization):
    # In Kiritimati it is the next day already, which began at 10:00 UTC.
    client = logged_in_client(make_member(organization, "kiri@acme.example", time_zone="Pacific/Kiritimati"))

    assert names(client, APPOINTMENTS) == ["soon", "evening"]


def test_mine_leaves_out_the_appointments_of_others(closer: Client, organization: Organization):
    client = logged_in_client(make_member(organization, "mia@acme.example"))

    assert names(client, f"{APPOINTMENTS}?view=mine") == []


def test_a_list_opens_with_its_first_view_and_a_filter_or_a_search_looks_at_all_rows(closer: Client):
    plain = closer.get(APPOINTMENTS)
    filtered = f"{APPOINTMENTS}?host__id__exact={plain.context['user'].memberships.get().pk}"

    assert names(closer, APPOINTMENTS) == names(closer, f"{APPOINTMENTS}?view=today")
    assert names(closer, filtered) == names(closer, f"{APPOINTMENTS}?view=all")
    assert names(closer, f"{APPOINTMENTS}?q=yesterday@example.com") == ["yesterday"]
    # The form of the search leaves the view, and the links of columns and pages keep it.
    assert 'name="view"' not in closer.get(f"{APPOINTMENTS}?view=past").content.decode().split("</form>")[0]
    assert "view=today" in plain.context["cl"].get_query_string({"p": 2})
    assert [tab.label for tab in plain.context["cl"].tabs if tab.is_active] == ["Today"]


def test_a_row_of_opt_ins_opens_the_lead_at_the_opt_ins_answers(closer: Client, organization: Organization):
    answers = [{"question": "What is your goal?", "answer": "More time"}]
    make_api(organization).submit(email="goal@example.com", questions_answers=answers)
    opt_in = OptIn.objects.of(organization).get(lead__email="goal@example.com")

    page = closer.get(OPT_INS, {"view": "all", "source__exact": opt_in.source}).content.decode()
    link = f"{admin_url(Lead, 'change', opt_in.lead_id)}?kind=opt_ins#entry-{opt_in.pk}"
    lead = closer.get(link.partition("#")[0]).content.decode()

    assert f'href="{link}"' in unescape(page)
    assert re.search(rf'id="entry-{opt_in.pk}">.*?<details open>.*?More time', lead, re.DOTALL)


def test_an_action_on_selected_rows_reaches_rows_of_any_view(closer: Client):
    row = Appointment.unscoped.get(external_reference="tomorrow")
    data = {"action": "cancel_selected", "_selected_action": str(row.pk), "index": "0"}

    page = closer.post(APPOINTMENTS, data)
    everything = closer.post(APPOINTMENTS, {**data, "select_across": "1"})

    assert ([shown for shown, _ in page.context["rows"]], len(everything.context["rows"])) == ([row], 3)


def test_each_view_of_leads_and_opt_ins_shows_its_rows(organization: Organization, host: Membership):
    api = make_api(organization)
    for name in ("new", "due", "later", "booked", "other"):
        api.submit(email=f"{name}@example.com")
    leads = Lead.objects.of(organization)
    leads.filter(email__in=["due@example.com", "later@example.com"]).update(
        setter=host, next_touch_point_type="CALL", next_touch_point_at=NOW + timedelta(hours=3)
    )
    leads.filter(email="later@example.com").update(next_touch_point_at=NOW + timedelta(days=2))
    leads.exclude(email__in=["new@example.com", "other@example.com"]).update(
        status=Status.objects.of(organization).get(role="LOST")
    )
    leads.filter(email="new@example.com").update(updated_at=NOW + timedelta(days=900))
    api.book(lead_email="booked@example.com", host_email=host.user.email)
    client = logged_in_client(host)

    assert names(client, LEADS) == names(client, f"{LEADS}?view=mine_to_work") == ["due@example.com"]
    assert names(client, f"{LEADS}?view=new") == ["other@example.com", "new@example.com"]
    assert (names(client, f"{LEADS}?view=all")[0], len(names(client, f"{LEADS}?view=all"))) == ("new@example.com", 5)
    assert names(client, OPT_INS) == [f"{name}@example.com" for name in ("other", "later", "due", "new")]
    assert len(names(client, f"{OPT_INS}?view=all")) == 5


@pytest.mark.parametrize("query", ["view=nothing&no_show__exact=1", "layout=piano&no_show__exact=1", "view=&layout="])
def test_an_unknown_view_or_layout_leads_to_all_rows_with_the_same_filters(query: str, closer: Client):
    response = closer.get(f"{APPOINTMENTS}?{query}")

    assert response.status_code == 302
    assert ("no_show__exact=1" in response.url) == ("no_show" in query)
    assert "view=all" in response.url
    assert shown_messages(response)[0].startswith("The list has no such")
    assert closer.get(response.url).status_code == 200


@pytest.fixture
def piano(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layout of appointments that answers with the references of its rows, and has a parameter of its own."""

    class Piano(Layout):
        name, label, icon, parameters = "piano", "Piano", "event", ("week",)

        def render(self, page: Any, request: HttpRequest, cl: ViewChangeList) -> HttpResponse:
            text = ",".join(cl.queryset.values_list("external_reference", flat=True))
            return HttpResponse(text + " " + " ".join(link.url for link in cl.layout_links))

    monkeypatch.setattr(AppointmentAdmin, "layouts", (TABLE, Piano()))


@pytest.mark.usefixtures("piano")
def test_a_layout_renders_the_rows_of_the_list_and_the_switch_keeps_the_parameters(closer: Client):
    page: Any = closer.get(f"{APPOINTMENTS}?view=past&layout=piano&week=2026-03-09&no_show__exact=0")
    plain = closer.get(f"{APPOINTMENTS}?layout=piano").content.decode()

    rows, table, piano = page.content.decode().split()
    kept = "no_show__exact=0&view=past&week=2026-03-09"
    assert (rows, table, piano) == (
        "morning,yesterday",
        f"?{kept}",
        "?layout=piano&no_show__exact=0&view=past&week=2026-03-09",
    )
    assert plain.startswith("tomorrow,evening,soon,morning,yesterday")
    assert names(closer, f"{APPOINTMENTS}{table}") == ["morning", "yesterday"]


@pytest.mark.usefixtures("piano")
def test_a_layout_needs_the_permission_of_the_list(client: Client):
    assert client.get(f"{APPOINTMENTS}?layout=piano").status_code == 302
