"""Names of event types and sources are one in any letter case and Unicode form (docs/interface.md, A11, L10)."""

from typing import Any

import pytest
from django.test import Client

from appointments.models import EventType
from leads.models import Source
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_event_type, owner_of
from tests.imports.files import Page, csv_file
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

NFC, NFD = "Caf\u00e9", "Cafe\u0301"
PAIRS = pytest.mark.parametrize(
    ("first", "second"),
    [(NFC, NFD), (NFD, "CAF\u00c9"), ("straße", "STRASSE"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("x" * 255, "X" * 255)],
    ids=["NFC, NFD", "NFD, upper case", "sharp s", "final sigma", "longest"],
)


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


def names(model: Any, organization: Organization) -> list[str]:
    return list(model.objects.of(organization).order_by("created_at", "id").values_list("name", flat=True))


@PAIRS
def test_a_booking_finds_the_event_type_in_any_form_of_its_name(
    api: ApiClient, organization: Organization, other_api: ApiClient, first: str, second: str
) -> None:
    other_api.book(event_type_name=second)

    ids = [
        api.book(external_reference=name, event_type_name=name).json()["data"]["id"] for name in (first, second, first)
    ]

    assert names(EventType, organization) == [first]
    assert [api.get_appointment(id)["appointment_type"] for id in ids] == [first] * 3


@PAIRS
def test_opt_ins_of_any_form_of_a_name_have_one_source(
    api: ApiClient, organization: Organization, first: str, second: str
) -> None:
    leads = [api.submit(traffic={"utm_source": name}).json()["data"]["lead_id"] for name in (first, second)]

    assert names(Source, organization) == [first]
    assert [api.get_lead(id)["last_source"]["name"] for id in leads] == [first] * 2


def test_names_that_differ_in_accents_are_two(api: ApiClient, organization: Organization) -> None:
    for name in (NFC, "Cafe"):
        api.book(external_reference=name, event_type_name=name)

    assert names(EventType, organization) == [NFC, "Cafe"]


def test_the_form_refuses_another_form_of_a_name_and_keeps_its_own(owner: Client, organization: Organization) -> None:
    known = make_event_type(organization, NFC)
    add, change = admin_url(EventType, "add"), admin_url(EventType, "change", known.pk)

    refused = owner.post(add, form_data(owner, add, name=NFD))
    renamed = owner.post(change, form_data(owner, change, name=NFD.upper()))

    assert form_errors(refused) == ["Another event type has this name."]
    assert renamed.status_code == 302
    assert names(EventType, organization) == [NFD.upper()]


def test_after_a_rename_the_new_name_is_found_and_the_former_one_is_free(
    owner: Client, api: ApiClient, organization: Organization
) -> None:
    known = make_event_type(organization, NFC)
    change = admin_url(EventType, "change", known.pk)
    owner.post(change, form_data(owner, change, name="straße"))

    for name in (NFD, "STRASSE"):
        api.book(external_reference=name, event_type_name=name)

    assert names(EventType, organization) == ["straße", NFD]


def test_an_import_finds_event_types_and_sources_in_any_form_of_their_names(
    owner: Client, organization: Organization, api: ApiClient
) -> None:
    make_event_type(organization, NFC)
    api.submit(email="bob@example.com", traffic={"utm_source": NFC})
    header = ["Reference", "Lead e-mail", "Time", "Event type"]
    rows = [["a-1", "ada@example.com", "2031-03-03 10:00", NFD], ["a-2", "ada@example.com", "2031-03-04 10:00", NFC]]

    booked = Page(owner, organization, csv_file(header, *rows), kind="APPOINTMENTS").run()
    again = Page(owner, organization, csv_file(header, *rows), kind="APPOINTMENTS").run()
    Page(owner, organization, csv_file(["E-mail", "Source"], ["eve@example.com", NFD], ["lea@example.com", NFC])).run()

    assert booked.row.counts == {"NEW": 2}
    assert again.row.counts == {"UNCHANGED": 2}
    assert names(EventType, organization) == [NFC]
    assert names(Source, organization) == [NFC, "MANUAL"]


@pytest.mark.parametrize("name", [NFC, NFD])
def test_a_row_without_a_key_is_found_by_its_name(api: ApiClient, organization: Organization, name: str) -> None:
    """As a process of the last version stores it while the new one is already running."""
    make_event_type(organization, name)
    EventType.objects.of(organization).update(name_key=None)

    response = api.book(event_type_name=name.upper())

    assert response.status_code == 201
    assert names(EventType, organization) == [name]
