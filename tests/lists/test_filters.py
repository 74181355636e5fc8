"""Filters by several values, and the chips above a list that show and remove them."""

import re
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from appointments.models import Appointment
from foundation.db.timestamps import now
from leads.models import Lead, LeadNote, Source
from leads.services import get_or_create_source
from optins.models import OptIn
from organizations.models import Membership, Organization, SavedView, SecurityEvent
from organizations.services import add_member
from staff.toolkit import custom_lists
from statuses.models import Status
from tests.factories import make_api, make_custom_field, make_member, make_organization, owner_of
from tests.staff.pages import admin_url, logged_in_client, shown_messages

APPOINTMENTS, LEADS, OPT_INS = (f"{admin_url(model, 'changelist')}?view=all" for model in (Appointment, Lead, OptIn))
SECURITY_LOG = f"{admin_url(SecurityEvent, 'changelist')}?o=1"
NOTES = f"{admin_url(LeadNote, 'changelist')}?view=all"
NAMES = ("ada", "bea", "cyd")


@pytest.fixture
def owner(organization: Organization) -> Client:
    """The owner of three leads with an opt-in and an appointment each."""
    api = make_api(organization)
    for number, name in enumerate(NAMES, start=1):
        api.submit(email=f"{name}@example.com", first_name=name.capitalize())
        api.book(
            external_reference=name, lead_email=f"{name}@example.com", schedule_time=f"2030-01-0{number}T10:00:00Z"
        )
    return logged_in_client(owner_of(organization))


@pytest.fixture
def tom(organization: Organization, host: Membership) -> Membership:
    """The setter of Ada, and host of her call; Hana is those of Bea's, and nobody of Cyd's."""
    tom = make_member(organization, "tom@acme.example", first_name="Tom", last_name="Becker")
    for name, member in (("ada", tom), ("bea", host), ("cyd", None)):
        Lead.objects.of(organization).filter(email=f"{name}@example.com").update(setter=member)
        Appointment.objects.of(organization).filter(lead__email=f"{name}@example.com").update(host=member, outcome=None)
    return tom


def names(client: Client, address: str) -> list[str]:
    """Return the names before the @ of the leads of a list's rows, sorted."""
    rows = client.get(address).context["cl"].queryset
    return sorted(getattr(row, "lead", row).email.partition("@")[0] for row in rows)


def chips(client: Client, address: str) -> dict[str, str]:
    """Return the chips of a list, and the addresses to which they lead."""
    cl: Any = client.get(address, follow=True).context["cl"]
    return {f"{chip.title}: {chip.text}": chip.url for chip in cl.chips}


DAYS = "Enter a whole number of days from 1 to 36,500, such as 10."


@pytest.mark.parametrize(
    ("page", "parameter", "text", "label", "advice"),
    [
        (LEADS, "since_days", "0", "In this status for at least (days)", DAYS),
        (f"{LEADS}&layout=board", "since_days", "9999999999999", "In this status for at least (days)", DAYS),
        (APPOINTMENTS, "since_days", "two weeks", "With this outcome for at least (days)", DAYS),
        (APPOINTMENTS, "since_to", "0001-01-01", "With this outcome since, to", "Enter a year from 1970 to 2100."),
        (OPT_INS, "created_at_to", "today", "Created to", "Enter a date such as 25.11.2026 or 2026-11-25."),
        (SECURITY_LOG, "created_at_from", "12/11/26", "Time from", "Enter a date such as 25.11.2026 or 2026-11-25."),
    ],
)
def test_a_list_is_shown_without_a_filter_that_cannot_be_read_and_says_what_to_enter(
    page: str, parameter: str, text: str, label: str, advice: str, owner: Client
):
    refused = owner.get(f"{page}&q=a&{parameter}={text}")
    page_shown = owner.get(refused.url)

    assert (refused.status_code, refused.url) == (302, f"{page}&q=a&{parameter}=")
    assert f"{label}: {advice} You typed “{text}”." in unescape(page_shown.content.decode())
    assert (page_shown.status_code, len(page_shown.context["cl"].filter_params) > 0) == (200, True)


def test_two_filters_that_cannot_be_read_are_both_named_and_the_others_stay(owner: Client):
    long = "last monday and " * 9

    shown = owner.get(f"{LEADS}&since_days=x&created_at_to={long}&phone=any", follow=True)

    first, second = (str(message) for message in shown.context["messages"])
    assert sorted((first[:16], second[:16])) == ["Created to: Ente", "In this status f"]
    assert max(map(len, (first, second))) < 160
    assert shown.request["QUERY_STRING"] == "view=all&since_days=&created_at_to=&phone=any"


@pytest.mark.parametrize("page", [LEADS, f"{LEADS}&layout=board", f"{APPOINTMENTS}&layout=calendar", NOTES])
@pytest.mark.parametrize("text", ["one two three four five six seven eight nine ten eleven", "x" * 201])
def test_a_search_for_too_many_words_finds_nothing_and_says_why(page: str, text: str, owner: Client):
    shown = owner.get(f"{page}&q={text}")
    content = shown.content.decode()

    assert shown.status_code == 400
    assert ("Search for at most 10 words and 200 characters." in content, f'value="{text}"' in content) == (True, True)
    assert list(shown.context["cl"].queryset) == []


def test_a_filter_takes_several_values_and_rows_without_one(owner: Client, tom: Membership, host: Membership):
    setter = f"{LEADS}&setter__id__exact={tom.pk}"
    several = [
        (setter, ["ada"]),
        (f"{setter}&setter__id__exact={host.pk}", ["ada", "bea"]),
        (f"{setter}&setter__id__exact=none", ["ada", "cyd"]),
        (f"{LEADS}&setter__isnull=True", ["cyd"]),  # as links had it
        (f"{LEADS}&setter__isnull=False", ["ada", "bea"]),
        (f"{LEADS}&setter__id__exact=none&next_step_type__exact=none&phone=none", ["cyd"]),
        (f"{LEADS}&setter__id__exact=none&next_step_type__exact=CALL", []),
        (f"{LEADS}&setter__id__exact={uuid4()}", []),
        (f"{APPOINTMENTS}&host__id__exact={tom.pk}&host__id__exact=none", ["ada", "cyd"]),
        (f"{APPOINTMENTS}&outcome__id__exact=none&layout=board", ["ada", "bea", "cyd"]),
        (f"{APPOINTMENTS}&source__exact=MANUAL&source__exact=SCHEDULER_A&no_show__exact=0", ["ada", "bea", "cyd"]),
        (f"{OPT_INS}&lead__setter__id__exact=none&lead__setter__id__exact={host.pk}", ["bea", "cyd"]),
    ]

    assert [names(owner, address) for address, _ in several] == [found for _, found in several]
    refused = [f"{LEADS}&setter__id__exact=nobody", LEADS + "&setter__id__exact=none&status__id__exact=x" * 101]
    assert [owner.get(address).status_code for address in refused] == [400, 400]


def test_a_chip_for_each_filter_shows_its_values_and_removes_it(owner: Client, tom: Membership):
    setter = f"setter__id__exact={tom.pk}&setter__id__exact=none"
    address = f"{LEADS}&{setter}&created_at_from=2026-01-31&created_at_to=&whose=me&q=a"

    found = chips(owner, address)
    page = unescape(owner.get(address).content.decode())

    assert list(found) == ["Person: Mine", "Setter: Tom Becker, Unassigned", "Created: from 31 Jan 2026"]
    assert found["Person: Mine"] == f"?created_at_from=2026-01-31&created_at_to=&q=a&{setter}&view=all"
    assert 'aria-label="Setter: Tom Becker, Unassigned, remove this filter"' in page
    assert 'href="?q=a&view=all" aria-label="Clear all filters"' in page
    assert "list-chips" not in owner.get(LEADS).content.decode()


def test_applying_the_filters_keeps_what_their_form_does_not_offer(
    owner: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    """The form sends its fields, and hidden ones for the other parameters of the address."""
    monkeypatch.setattr("staff.toolkit.tenant.MAX_FILTER_CHOICES", 1)
    Source.objects.of(organization).update(created_at=now() - timedelta(days=1))
    newest = get_or_create_source(organization=organization, name="Newest")
    lost = Status.objects.of(organization).get(role="LOST")
    day = timezone.localdate().isoformat()
    address = f"{LEADS}&last_source__id__exact={newest.pk}&left_status={lost.pk}&left_from={day}&left_to={day}"

    page: Any = owner.get(address)
    sent = parse_qs(urlsplit(address).query)
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.content.decode()))
    offered = re.findall(r'<option value="([^"]+)" selected[^>]*>\s*(?:Newest|Lost)', page.content.decode())

    assert {name: [value] for name, value in hidden.items() if name in ("left_from", "left_to")} == {
        name: sent[name] for name in ("left_from", "left_to")
    }
    assert set(offered) == {str(newest.pk), str(lost.pk)}
    without_status = f"{LEADS}&left_status=&left_from={day}&left_to={day}"
    assert (list(chips(owner, without_status)), names(owner, without_status)) == ([], ["ada", "bea", "cyd"])


def test_a_filter_by_a_custom_field_goes_with_its_organization(
    organization: Organization, other_organization: Organization
):
    member = make_member(organization, "both@acme.example")
    add_member(organization=other_organization, user=member.user, role="SETTER")
    field = make_custom_field(organization, "LEAD", "vip", type="BOOLEAN")
    make_api(organization).submit(email="ada@example.com")
    client, name = logged_in_client(member), f"custom_{field.pk.hex}"
    of = {row.pk: f"organization__id__exact={row.pk}" for row in (organization, other_organization)}

    kept = client.get(f"{LEADS}&{name}=none&{of[organization.pk]}")
    for chosen in ("", f"&{of[other_organization.pk]}", "&" + "&".join(of.values())):
        for layout in ("", "&layout=board"):
            page: Any = client.get(f"{LEADS}&{name}=none{chosen}{layout}", follow=True)
            assert (page.status_code, name in page.request["QUERY_STRING"]) == (200, False)
            assert shown_messages(page) == ["Filters by custom fields that this list doesn't have were removed."]

    assert [lead.email for lead in kept.context["cl"].result_list] == ["ada@example.com"]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_search_of_rows_of_leads_finds_all_of_them(owner: Client, most: int, monkeypatch: pytest.MonkeyPatch):
    """Beyond a number of rows, they are not looked for by their ids."""
    make_api(Organization.objects.get()).book(external_reference="again", lead_email="ada@example.com")
    monkeypatch.setattr("staff.leads.lists.MAX_FOUND", most)

    assert names(owner, f"{APPOINTMENTS}&q=ada@example.com") == ["ada", "ada"]
    assert names(owner, f"{APPOINTMENTS}&q=bea") == ["bea"]


def test_boards_calendar_and_links_have_chips_too(owner: Client, tom: Membership):
    lead = Lead.unscoped.get(email="ada@example.com")

    calendar = f"{APPOINTMENTS}&layout=calendar&host__id__exact={tom.pk}&host__id__exact=none&day=2030-01-02"
    assert chips(owner, calendar) == {"Host: Tom Becker, Unassigned": "?day=2030-01-02&layout=calendar&view=all"}
    assert [str(host) for host in owner.get(calendar).context["hosts"]] == ["Tom Becker", "None"]
    assert list(chips(owner, f"{LEADS}&layout=board&phone=any")) == ["Phone: Has one"]
    assert list(chips(owner, f"{APPOINTMENTS}&lead__id__exact={lead.pk}&no_show__exact=0")) == [
        "No-show: No",
        "Lead: Ada",
    ]


def test_a_saved_view_has_chips_only_when_its_filters_are_changed(
    owner: Client, tom: Membership, organization: Organization
):
    status = Status.objects.of(organization).get(role="NEW_LEAD", is_lead_default=True)
    query = f"view=all&status__id__exact={status.pk}&setter__id__exact=none&phone="
    owner.post(f"{admin_url(Lead, 'changelist')}views/save/", {"name": "Free", "query": query})
    view = SavedView.objects.of(organization).get()

    opened = owner.get(f"{LEADS}&view={view.pk}").url

    assert view.query == query.removesuffix("&phone=")
    assert chips(owner, opened) == {}
    assert list(chips(owner, f"{opened}&setter__id__exact={tom.pk}")) == [
        f"Status: {status}",
        "Setter: Unassigned, Tom Becker",
    ]


CUSTOM = {
    "TEXT": ("Acme GmbH", "_has=acme", "contains “acme”"),
    "NUMBER": (14500.5, "_from=14500&{}_to=14501", "from 14500 to 14501"),
    "DATE": ("1927-04-01", "_from=1927-04-01&{}_to=1927-04-01", "from 1 Apr 1927 to 1 Apr 1927"),
    "BOOLEAN": (True, "=1", "Yes"),
    "SELECT": ("none", "=%3Dnone&{}=Hot", "none, Hot"),
}


def test_a_list_is_filtered_by_five_custom_fields_at_most(owner: Client, organization: Organization):
    fields = [make_custom_field(organization, "LEAD", f"field-{number}") for number in range(6)]
    names = [f"custom_{field.pk.hex}_has" for field in fields]
    url = admin_url(Lead, "changelist")

    pages = [owner.get(url, dict.fromkeys(names[:count], "a")) for count in (4, 5, 6)]

    assert [page.status_code for page in pages] == [200, 200, 400]
    assert [names[5] in page.content.decode() for page in pages[:2]] == [True, False]


def test_a_part_of_a_text_is_searched_in_the_newest_rows_of_a_large_list(
    owner: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    field = make_custom_field(organization, "LEAD", "goal")
    first, *_, last = Lead.objects.of(organization).order_by("created_at", "pk")
    Lead.objects.of(organization).filter(pk__in=[first.pk, last.pk]).update(custom_values={str(field.pk): "A moor"})
    url = f"{LEADS}&custom_{field.pk.hex}_has=oor"

    everything = owner.get(url)
    monkeypatch.setattr(custom_lists, "SEARCHED", 2)
    newest = owner.get(url)
    monkeypatch.setattr(custom_lists, "MAX_COUNT", 0)
    many = owner.get(url)

    found = [{lead.pk for lead in page.context["cl"].result_list} for page in (everything, newest, many)]
    assert found == [{first.pk, last.pk}, {last.pk}, {first.pk, last.pk}]
    texts = ["contains “oor”, in the newest 2" in page.content.decode() for page in (everything, newest, many)]
    assert texts == [False, True, False]


def test_each_kind_of_custom_field_is_a_filter_a_chip_and_a_column(owner: Client, organization: Organization):
    fields = {
        kind: make_custom_field(
            organization, "LEAD", kind.lower(), type=kind, label=f"A {kind.lower()}", options=options
        )
        for kind, options in ((kind, ["none", "Hot"] if kind == "SELECT" else []) for kind in CUSTOM)
    }
    ada = Lead.objects.of(organization).get(email="ada@example.com")
    values = {str(field.pk): CUSTOM[kind][0] for kind, field in fields.items()}
    Lead.objects.of(organization).filter(pk=ada.pk).update(custom_values=values)
    parameters = {kind: f"custom_{field.pk.hex}" for kind, field in fields.items()}
    addresses = {kind: f"{LEADS}&{parameters[kind]}{CUSTOM[kind][1]}".format(parameters[kind]) for kind in CUSTOM}

    assert {kind: names(owner, address) for kind, address in addresses.items()} == {kind: ["ada"] for kind in CUSTOM}
    for kind, name in parameters.items():
        assert names(owner, f"{LEADS}&{name}=none") == ["bea", "cyd"]
        assert list(chips(owner, addresses[kind])) == [f"A {kind.lower()}: {CUSTOM[kind][2]}"]
    everything = "&".join(address.partition("&")[2] for address in addresses.values())
    assert names(owner, f"{LEADS}&{everything}") == ["ada"]
    page = owner.get(f"{LEADS}&{everything}&columns={','.join(parameters.values())}").content.decode()
    cells = re.findall(r'class="[^"]*field-custom_\w+[^"]*"[^>]*>([^<]*)<', page)
    assert [cell.strip() for cell in cells if cell.strip()] == ["Acme GmbH", "14,500.5", "1 Apr 1927", "Yes", "none"]
    for text in ("NUMBER=5", f"TEXT_has={'a' * 201}"):
        kind = re.split("[_=]", text)[0]
        assert owner.get(f"{LEADS}&{text.replace(kind, parameters[kind], 1)}").status_code == 400
    for end, text, advice in (
        ("NUMBER_from", "nan", "Enter a number such as 1500 or 12.5"),
        ("NUMBER_to", "1e999", "Enter a number such as 1500 or 12.5"),
        ("NUMBER_from", "1,500", "Enter a number such as 1500 or 12.5"),
        ("DATE_from", "2027-02-30", "Enter a date such as 25.11.2026 or 2026-11-25"),
    ):
        kind, bound = end.split("_")
        refused = owner.get(f"{LEADS}&{parameters[kind]}_{bound}={text}")
        assert refused.url == f"{LEADS}&{parameters[kind]}_{bound}="
        assert shown_messages(refused)[-1] == f"A {kind.lower()} {bound}: {advice}. You typed “{text}”."
    assert names(owner, f"{LEADS}&{parameters['DATE']}_from=01.04.1927") == ["ada"]
    # Another organization's fields are unknown.
    assert names(owner, f"{LEADS}&{parameters['BOOLEAN']}=0") == []
    stranger = logged_in_client(owner_of(make_organization("Globex")))
    refused = stranger.get(addresses["SELECT"], follow=True)
    assert shown_messages(refused) == ["Filters by custom fields that this list doesn't have were removed."]


def test_rows_are_filtered_by_how_long_they_have_their_status(owner: Client, organization: Organization):
    at, status = now(), Status.objects.of(organization).get(role="LOST")
    assert not Lead.objects.of(organization).filter(status_since=None).exists()
    assert not Appointment.objects.of(organization).filter(outcome_since=None).exists()
    for days, name in ((40, "ada"), (20, "bea"), (0, "cyd")):
        lead = Lead.objects.of(organization).get(email=f"{name}@example.com")
        call = Appointment.objects.of(organization).get(lead=lead)
        moment, created = at - timedelta(days=days, hours=1), at - timedelta(days=60)
        Lead.unscoped.filter(pk=lead.pk).update(created_at=created, status_since=moment)
        Appointment.unscoped.filter(pk=call.pk).update(created_at=created, outcome_since=moment)
    day = timezone.localdate(at - timedelta(days=20, hours=1)).isoformat()

    for page in (LEADS, APPOINTMENTS, f"{LEADS}&layout=board"):
        assert names(owner, f"{page}&since_days=30") == ["ada"]
        assert names(owner, f"{page}&since_days=2") == ["ada", "bea"]
        assert names(owner, f"{page}&since_from={day}&since_to={day}") == ["bea"]
        assert names(owner, f"{page}&since_from={day}") == ["bea", "cyd"]
        assert names(owner, f"{page}&since_days=30 days") == ["ada"]
        assert owner.get(f"{page}&left_from=x").status_code == 400
    assert list(chips(owner, f"{LEADS}&since_days=30&since_from=2026-03-01")) == [
        "In this status: for 30 days or more, from 1 Mar 2026"
    ]
    # A change counts from its own time, also if it isn't made by a service.
    Lead.objects.of(organization).filter(email="ada@example.com").update(status=status)
    Appointment.objects.of(organization).filter(lead__email="ada@example.com").update(outcome=status)
    for page in (LEADS, APPOINTMENTS):
        assert names(owner, f"{page}&since_days=2") == ["bea"]
