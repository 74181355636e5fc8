"""Texts that other programs would interpret: stored unchanged, shown harmlessly (docs/guarantees.md, F19 to F21, F35).

That such texts don't get into the log unescaped is tested in test_server.py.
"""

import json
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, cast

import pytest
from django.contrib import admin
from django.test import Client
from icalendar import Calendar

from appointments.models import Appointment
from foundation.db.timestamps import now
from notifications.mail import CONTROL_CHARACTERS
from organizations.models import Membership, Organization, User
from organizations.services import issue_calendar_secret
from tests.accounts import deliver_mail, post_invitation
from tests.client import ApiClient
from tests.factories import make_custom_field, make_member, owner_of
from tests.hostile.input_counter import count_inputs
from tests.hostile.malicious_texts import MALICIOUS_TEXTS, active_markup_in
from tests.jobs import send_notifications
from tests.receiver import Receiver
from tests.staff.pages import TENANT_MODEL_ADMINS, admin_url, list_url, logged_in_client

each_text = pytest.mark.parametrize("text", MALICIOUS_TEXTS.values(), ids=MALICIOUS_TEXTS)
UTM_FIELDS = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"]
TRAFFIC_FIELDS = [*UTM_FIELDS, "referrer", "landing_page"]
HOST_EMAIL = "odd@acme.example"


def send_everywhere(api: ApiClient, text: str, **booking_fields: Any) -> tuple[str, str]:
    """Submit an opt-in and book an appointment with the text in every field that takes any text; return their ids."""
    opt_in = api.submit(
        first_name=text,
        last_name=text,
        provider_form_id=text,
        provider_form_name=text,
        external_reference=text,
        questions_answers=[{"question": text, "answer": text}],
        traffic=dict.fromkeys(TRAFFIC_FIELDS, text),
    )
    appointment = api.book(
        external_reference=text,
        event_type_name=text,
        lead_first_name=text,
        lead_last_name=text,
        lead_phone=text,
        notes=text,
        **booking_fields,
    )
    assert (opt_in.status_code, appointment.status_code) == (201, 201), (opt_in.content, appointment.content)
    return opt_in.json()["data"]["opt_in_id"], appointment.json()["data"]["id"]


@pytest.mark.django_db(transaction=True)
@each_text
def test_a_text_is_returned_as_it_was_sent(api: ApiClient, measurements: dict[str, str], text: str) -> None:
    count_inputs(measurements, "texts", 1)

    opt_in_id, appointment_id = send_everywhere(api, text)

    opt_in, appointment = api.get_opt_in(opt_in_id), api.get_appointment(appointment_id)
    listed = api.get_data("/api/external/appointments")[0]
    lead = appointment["lead"]
    answers = [(item["question"], item["answer"]) for item in opt_in["question_answers"]]
    assert [opt_in["provider_form_id"], opt_in["provider_form_name"], opt_in["external_reference"]] == [text] * 3
    assert opt_in["traffic_attribution"] == dict.fromkeys(TRAFFIC_FIELDS, text.strip())
    assert answers == [(text, text)]
    assert [appointment["external_reference"], listed["notes"]["note"]] == [text] * 2
    assert [listed[name] for name in UTM_FIELDS] == [text.strip()] * 5
    # Names are stored without surrounding white space, and those of sources with single spaces.
    assert [lead["first_name"], lead["last_name"], appointment["appointment_type"]] == [text.strip()] * 3
    assert appointment["first_source"]["name"] == " ".join(text.split())
    assert [event["data"] for event in api.list_events(type="appointment.created")] == [appointment]
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
        "ref\u00a0",
    ]

    first = [api.book(external_reference=reference).status_code for reference in references]
    repeated = [api.book(external_reference=reference).status_code for reference in references]

    assert first == [201] * len(references)
    assert repeated == [200] * len(references)


@pytest.fixture
def slack(settings: Any, organization: Organization) -> Iterator[Receiver]:
    """Post the organization's Slack messages to a local receiver."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Receiver(status_codes=[200]) as receiver:
        organization.slack_url = receiver.url
        organization.save()
        yield receiver


@pytest.fixture
def host_named_like_the_text(organization: Organization, text: str) -> Membership:
    """Create a member whose first and last name are the text."""
    return make_member(organization, HOST_EMAIL, first_name=text[:150], last_name=text[:150])


def html_of(mail: Any) -> str:
    """Return the mail's only HTML part."""
    (page,) = [part.content for part in mail.alternatives if part.mimetype == "text/html"]
    return str(page)


HEADERS = {
    "Subject",
    "From",
    "To",
    "Date",
    "Message-ID",
    "MIME-Version",
    "Content-Type",
    "X-Notification-Id",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
}


@each_text
def test_a_mail_has_only_our_headers_and_no_active_markup(
    api: ApiClient,
    organization: Organization,
    host_named_like_the_text: Membership,
    mailoutbox: list[Any],
    measurements: dict[str, str],
    text: str,
) -> None:
    count_inputs(measurements, "texts", 1)
    organization.name = text[:100]
    organization.save()
    send_everywhere(api, text, host_email=HOST_EMAIL, meeting_url="https://meet.example/1")

    send_notifications(str(organization.pk))

    (mail,) = mailoutbox
    # Parsed from the bytes on the network, as a mail server would parse them.
    sent = cast(EmailMessage, message_from_bytes(mail.message().as_bytes(linesep="\r\n"), policy=policy.default))
    assert set(sent.keys()) <= HEADERS
    assert (sent["To"], sent["From"].count("@")) == (HOST_EMAIL, 1)
    assert len(str(sent["Subject"]).splitlines()) == 1
    assert "\u202e" not in sent["Subject"]
    control_characters = [
        character
        for character in mail.body
        if not character.isprintable() and character != "\n" and ord(character) < 0xA0
    ]
    assert control_characters == []
    # Only the note keeps its lines. In the body they are harmless, even if they look like headers.
    lines_like_headers = [line for line in mail.body.splitlines() if line.startswith(("Bcc:", "END:", "ATTENDEE"))]
    assert lines_like_headers in ([], text.splitlines()[1:2], text.splitlines()[1:3])
    assert active_markup_in(html_of(mail)) == []


ENCODED_WORDS = [
    "=?utf-8?q?Invoice_=E2=80=AE_overdue=0D=0A_http://evil.example?=",
    "=?utf-8?B?SW52b2ljZSDigK4gb3ZlcmR1ZQ==?=",
    "=?us-ascii?q?In?= =?us-ascii?q?voice?=",
    "=?utf-8?q?caf=C3=A9?= bei Zoë",
    "=?utf-8?q?In",
    "?utf-8?q?Invoice?=",
]


@pytest.mark.parametrize("text", ENCODED_WORDS)
def test_a_subject_is_read_as_it_was_typed(
    api: ApiClient, organization: Organization, mailoutbox: list[Any], measurements: dict[str, str], text: str
) -> None:
    """Mail programs decode such words of a subject, with whatever they contain (RFC 2047)."""
    count_inputs(measurements, "texts", 2)
    organization.name = text
    organization.save()
    User.objects.update(email_verified_at=now())
    post_invitation(logged_in_client(owner_of(organization)), "new@somebody.example")
    deliver_mail(organization)
    api.book(lead_first_name=text, lead_last_name="")
    send_notifications(str(organization.pk))

    sent = [message_from_bytes(mail.message().as_bytes(linesep="\r\n"), policy=policy.default) for mail in mailoutbox]

    assert sent[0]["Subject"].strip() == f"Invitation to {text}"
    assert sent[1]["Subject"].strip().startswith(f"Call Booked: {text}, ")


@each_text
def test_an_invitation_has_exactly_one_event_and_one_attendee(
    api: ApiClient,
    organization: Organization,
    host_named_like_the_text: Membership,
    mailoutbox: list[Any],
    text: str,
) -> None:
    send_everywhere(api, text, host_email=HOST_EMAIL)

    send_notifications(str(organization.pk))

    (calendar,) = [part.content for part in mailoutbox[0].alternatives if part.mimetype.startswith("text/calendar")]
    (event,) = Calendar.from_ical(calendar).walk("VEVENT")
    assert event["ATTENDEE"] == f"mailto:{HOST_EMAIL}"
    # Other calendar programs may split lines differently, so the lines are checked as well. Continued lines begin
    # with a space.
    lines = [line for line in calendar.splitlines() if line[:1].isalpha()]
    assert [line.split(":")[0].split(";")[0] for line in lines].count("ATTENDEE") == 1
    assert not any(line.startswith("END:VEVENT") for line in lines[:-2])


@each_text
def test_a_subscribed_calendar_has_each_name_on_one_line_without_control_characters(
    api: ApiClient, host_named_like_the_text: Membership, text: str
) -> None:
    send_everywhere(api, text, host_email=HOST_EMAIL)
    secret = issue_calendar_secret(member=host_named_like_the_text)

    feed = Client().get(f"/calendar/{host_named_like_the_text.organization_id}/{secret}.ics").content.decode()

    (event,) = Calendar.from_ical(feed).walk("VEVENT")
    assert "\n" not in event["SUMMARY"]
    assert not CONTROL_CHARACTERS.search(feed.replace("\r\n", ""))
    assert "ATTENDEE" not in event


@each_text
def test_a_slack_message_has_four_lines_and_no_mention(
    api: ApiClient,
    organization: Organization,
    host_named_like_the_text: Membership,
    slack: Receiver,
    measurements: dict[str, str],
    text: str,
) -> None:
    count_inputs(measurements, "texts", 1)
    send_everywhere(api, text, host_email=HOST_EMAIL)

    send_notifications(str(organization.pk))

    message = json.loads(slack.requests[0].body)
    block = message["blocks"][0]["text"]
    assert len(block["text"].splitlines()) == 4
    # Mentions and links begin with "<". The only one is our link to the appointment.
    assert (block["verbatim"], block["text"].count("<"), len(block["text"]) < 3_000) == (True, 1, True)
    assert "<" not in message["text"]


@pytest.mark.parametrize("text", ["&" * 255, "<" * 150, "👩‍👩‍👧‍👦" * 30], ids=["ampersands", "brackets", "families"])
def test_a_slack_message_with_the_longest_names_stays_within_slacks_limit(
    api: ApiClient, organization: Organization, host_named_like_the_text: Membership, slack: Receiver, text: str
) -> None:
    send_everywhere(api, text, host_email=HOST_EMAIL)

    send_notifications(str(organization.pk))

    assert len(json.loads(slack.requests[0].body)["blocks"][0]["text"]["text"]) < 3_000


@pytest.mark.parametrize(
    "email",
    ["ada?bcc=all%40evil.example&body=x@example.com", "a&b=c@example.com", "a'b@example.com", "a%0ab@example.com"],
)
def test_a_leads_email_adds_nothing_to_the_mailto_link(
    api: ApiClient, organization: Organization, mailoutbox: list[Any], email: str
) -> None:
    api.book(lead_email=email)

    send_notifications(str(organization.pk))

    link = html_of(mailoutbox[0]).split('href="mailto:')[1].split('"')[0]
    assert set(link) & set("?&' ") == set()
    # %250A is an escaped "%0A" that is part of the address itself, and not a line break.
    assert "%0A" not in link.upper().replace("%250A", "")


def iter_admin_pages(client: Client, organization: Organization) -> Iterator[tuple[str, str]]:
    """Yield URL and HTML of every list, row and history that the organization's owner can open."""
    for page in TENANT_MODEL_ADMINS:
        urls = [list_url(page.model)]
        for row in page.model._base_manager.filter(organization=organization):
            urls += [admin_url(page.model, "change", row.pk), admin_url(page.model, "history", row.pk)]
        for url in urls:
            response = client.get(url)
            assert response.status_code == 200, (url, response.status_code)
            yield url, response.content.decode()


@pytest.mark.parametrize(
    "text", ["".join(MALICIOUS_TEXTS[name] for name in ("script", "image", "attribute", "json"))], ids=["markup"]
)
def test_no_admin_page_contains_active_markup(
    api: ApiClient,
    organization: Organization,
    host_named_like_the_text: Membership,
    measurements: dict[str, str],
    text: str,
) -> None:
    count_inputs(measurements, "texts", 1)
    make_custom_field(organization, "LEAD", "own", label=text[:100])
    make_custom_field(organization, "APPOINTMENT", "own", label=text[:100])
    _, appointment_id = send_everywhere(api, text, host_email=HOST_EMAIL)
    # The API refuses such a URL, but the page must not link to one in any case.
    Appointment.objects.of(organization).filter(pk=appointment_id).update(
        meeting_url="javascript:alert(1)", recording_url="javascript:alert(1)"
    )

    pages = list(iter_admin_pages(logged_in_client(owner_of(organization)), organization))

    assert len(pages) > 20
    assert [(url, markup) for url, page in pages if (markup := active_markup_in(page))] == []
    assert [url for url, page in pages if 'href="javascript:' in page] == []


def test_the_admin_search_never_fails_and_shows_no_markup(api: ApiClient, organization: Organization) -> None:
    owner = logged_in_client(owner_of(organization))
    searchable = [page for page in admin.site._registry.values() if page.search_fields and page in TENANT_MODEL_ADMINS]

    for page in searchable:
        # PostgreSQL can't store NUL, and a long search would cost too much: both are refused, not failed at.
        for text, status in [
            (MALICIOUS_TEXTS["attribute"], 200),
            (MALICIOUS_TEXTS["sql"], 200),
            ("%_\\", 200),
            ("\x00", 400),
            ("a" * 3_000, 400),
        ]:
            response = owner.get(admin_url(page.model, "changelist"), {"q": text})

            markup = active_markup_in(response.content.decode())
            assert (response.status_code, markup) == (status, []), (page, text)
