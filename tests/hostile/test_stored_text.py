"""Texts that mean something to other programs are kept as they are, and mean nothing where they are shown: F19, F20, F21 and F35 of the catalogue.

There is no export to CSV. That nothing gets raw into the log is in test_server.py.
"""

import json
from collections.abc import Iterator
from email import message_from_bytes, policy
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from icalendar import Calendar

from appointments.models import Appointment
from notifications.tasks import deliver_due
from organizations.models import Membership, Organization
from tests.admin.pages import TENANT_MODEL_ADMINS, admin_url, logged_in_client
from tests.client import ApiClient
from tests.factories import make_custom_field, make_member, owner_of
from tests.hostile.tally import tried
from tests.hostile.texts import TEXTS, raw_markup, trimmed
from tests.receiver import Receiver

each_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
UTM = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"]


def tell(api: ApiClient, text: str, **fields: Any) -> tuple[str, str]:
    """An opt-in and a booking with the text wherever text may stand; their ids."""
    traffic = dict.fromkeys([*UTM, "referrer", "landing_page"], text)
    answers = [{"question": text, "answer": text}]
    form = {
        "provider_form_id": text,
        "provider_form_name": text,
        "external_reference": text,
        "questions_answers": answers,
        "traffic": traffic,
    }
    opt_in = api.submit(first_name=text, last_name=text, **form)
    booked = api.book(
        external_reference=text,
        event_type_name=text,
        lead_first_name=text,
        lead_last_name=text,
        lead_phone=text,
        notes=text,
        **fields,
    )
    assert (opt_in.status_code, booked.status_code) == (201, 201), (opt_in.content, booked.content)
    return opt_in.json()["data"]["opt_in_id"], booked.json()["data"]["id"]


@pytest.mark.django_db(transaction=True)
@each_text
def test_a_text_comes_back_as_it_was_sent(api: ApiClient, measurements: dict[str, str], text: str) -> None:
    tried(measurements, "texts", 1)
    opt_in_id, id = tell(api, text)

    opt_in, booked, listed = (
        api.get_opt_in(opt_in_id),
        api.get_appointment(id),
        api.get_data("/api/external/appointments")[0],
    )

    lead = booked["lead"]
    assert [opt_in["provider_form_id"], opt_in["provider_form_name"], opt_in["external_reference"]] == [text] * 3
    assert opt_in["traffic_attribution"] == dict.fromkeys([*UTM, "referrer", "landing_page"], text)
    assert [(one["question"], one["answer"]) for one in opt_in["question_answers"]] == [(text, text)]
    assert [booked["external_reference"], listed["notes"]["note"], *(listed[name] for name in UTM)] == [text] * 7
    assert [lead["first_name"], lead["last_name"], booked["appointment_type"]] == [trimmed(text)] * 3
    assert booked["first_source"]["name"] == text
    assert [event["data"] for event in api.list_events(type="appointment.created")] == [booked]
    assert api.book(external_reference=text).status_code == 200


def test_references_are_compared_exactly(api: ApiClient) -> None:
    references = [
        "ref",
        "Ref",
        "REF",
        "ref ",
        " ref",
        "r\u00e9f",
        "re\u0301f",
        "ref\u200b",
        "ｒｅｆ",
        "ref\u0000"[:3] + "\u00a0",
    ]

    assert [api.book(external_reference=reference).status_code for reference in references] == [201] * len(references)
    assert [api.book(external_reference=reference).status_code for reference in references] == [200] * len(references)


@pytest.fixture
def slack(settings: Any, organization: Organization) -> Iterator[Receiver]:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Receiver(status_codes=[200]) as receiver:
        organization.slack_url = receiver.url
        organization.save()
        yield receiver


@pytest.fixture
def odd_host(organization: Organization, text: str) -> Membership:
    """A member whose name is the text too."""
    return make_member(organization, "odd@acme.example", first_name=text[:150], last_name=text[:150])


HEADERS = {"Subject", "From", "To", "Date", "Message-ID", "MIME-Version", "Content-Type", "X-Notification-Id"}


@each_text
def test_a_mail_has_the_heads_and_the_lines_that_we_gave_it(
    api: ApiClient,
    organization: Organization,
    odd_host: Membership,
    mailoutbox: list[Any],
    measurements: dict[str, str],
    text: str,
) -> None:
    tried(measurements, "texts", 1)
    organization.name = text[:100]
    organization.save()
    tell(api, text, host_email="odd@acme.example", meeting_url="https://meet.example/1")

    deliver_due(str(organization.pk))

    (mail,) = mailoutbox
    sent: Any = message_from_bytes(mail.message().as_bytes(linesep="\r\n"), policy=policy.default)
    assert set(sent.keys()) <= HEADERS
    assert (sent["To"], sent["From"].count("@")) == ("odd@acme.example", 1)
    assert len(str(sent["Subject"]).splitlines()) == 1
    plain = mail.body
    assert [letter for letter in plain if not letter.isprintable() and letter != "\n" and ord(letter) < 0xA0] == []
    assert [line for line in plain.splitlines() if line.startswith(("Bcc:", "END:", "ATTENDEE"))] in (
        [],
        text.splitlines()[1:2],
        text.splitlines()[1:3],
    )
    (page,) = [part.content for part in mail.alternatives if part.mimetype == "text/html"]
    assert raw_markup(page) == []


@each_text
def test_an_invitation_has_the_one_event_and_guest_that_we_gave_it(
    api: ApiClient, organization: Organization, odd_host: Membership, mailoutbox: list[Any], text: str
) -> None:
    tell(api, text, host_email="odd@acme.example")

    deliver_due(str(organization.pk))

    (calendar,) = [part.content for part in mailoutbox[0].alternatives if part.mimetype.startswith("text/calendar")]
    (event,) = Calendar.from_ical(calendar).walk("VEVENT")
    assert event["ATTENDEE"] == "mailto:odd@acme.example"
    lines = [line for line in calendar.splitlines() if line[:1].isalpha()]
    assert [line.split(":")[0].split(";")[0] for line in lines].count("ATTENDEE") == 1
    assert not any(line.startswith("END:VEVENT") for line in lines[:-2])


@each_text
def test_a_slack_message_says_it_in_four_lines_and_calls_nobody(
    api: ApiClient,
    organization: Organization,
    odd_host: Membership,
    slack: Receiver,
    measurements: dict[str, str],
    text: str,
) -> None:
    tried(measurements, "texts", 1)
    tell(api, text, host_email="odd@acme.example")

    deliver_due(str(organization.pk))

    message = json.loads(slack.requests[0].body)
    block = message["blocks"][0]["text"]
    assert len(block["text"].splitlines()) == 4
    assert (block["verbatim"], block["text"].count("<"), len(block["text"]) < 3_000) == (True, 1, True)
    assert "<" not in message["text"]


@pytest.mark.parametrize("text", ["&" * 255, "<" * 150, "👩‍👩‍👧‍👦" * 30], ids=["ampersands", "brackets", "families"])
def test_slack_takes_the_longest_names(
    api: ApiClient, organization: Organization, odd_host: Membership, slack: Receiver, text: str
) -> None:
    tell(api, text, host_email="odd@acme.example")

    deliver_due(str(organization.pk))

    assert len(json.loads(slack.requests[0].body)["blocks"][0]["text"]["text"]) < 3_000


@pytest.mark.parametrize(
    "email",
    ["ada?bcc=all%40evil.example&body=x@example.com", "a&b=c@example.com", "a'b@example.com", "a%0ab@example.com"],
)
def test_a_leads_address_fills_in_nothing_but_the_address(
    api: ApiClient, organization: Organization, mailoutbox: list[Any], email: str
) -> None:
    api.book(lead_email=email)

    deliver_due(str(organization.pk))

    (page,) = [part.content for part in mailoutbox[0].alternatives if part.mimetype == "text/html"]
    link = page.split('href="mailto:')[1].split('"')[0]
    assert set(link) & set("?&' ") == set()
    assert "%0A" not in link.upper().replace("%250A", "")


def pages_of(viewer: Client, organization: Organization) -> Iterator[tuple[str, str]]:
    """Every list, row and history that the organization's owner can open."""
    for page in TENANT_MODEL_ADMINS:
        model = page.model
        addresses = [admin_url(model, "changelist")]
        for row in model._base_manager.filter(organization=organization):
            addresses += [admin_url(model, "change", row.pk), admin_url(model, "history", row.pk)]
        for address in addresses:
            answer = viewer.get(address)
            assert answer.status_code == 200, (address, answer.status_code)
            yield address, answer.content.decode()


@pytest.mark.parametrize(
    "text", ["".join(TEXTS[name] for name in ("script", "image", "attribute", "json"))], ids=["markup"]
)
def test_no_admin_page_runs_it(
    api: ApiClient, organization: Organization, odd_host: Membership, measurements: dict[str, str], text: str
) -> None:
    tried(measurements, "texts", 1)
    make_custom_field(organization, "LEAD", "own", label=text[:100])
    make_custom_field(organization, "APPOINTMENT", "own", label=text[:100])
    _, id = tell(api, text, host_email="odd@acme.example")
    Appointment.objects.of(organization).filter(pk=id).update(
        meeting_url="javascript:alert(1)", recording_url="javascript:alert(1)"
    )

    pages = list(pages_of(logged_in_client(owner_of(organization)), organization))

    assert len(pages) > 20
    assert [(address, found) for address, page in pages if (found := raw_markup(page))] == []
    assert [address for address, page in pages if 'href="javascript:' in page] == []


def test_the_search_of_the_admin_takes_any_text(api: ApiClient, organization: Organization) -> None:
    owner = logged_in_client(owner_of(organization))
    searched = [page for page in admin.site._registry.values() if page.search_fields and page in TENANT_MODEL_ADMINS]

    for page in searched:
        for text in [TEXTS["attribute"], TEXTS["sql"], "\x00", "%_\\", "a" * 3_000]:
            answer = owner.get(admin_url(page.model, "changelist"), {"q": text})
            assert (answer.status_code, raw_markup(answer.content.decode())) == (200, []), (page, text)
