"""The pages about events and the OpenAPI document show the topics of the registry and the events that the code sends.

With UPDATE_DOCS=1 these tests rewrite the generated sections of the pages instead of failing.
"""

import json
import os
import re
from datetime import datetime
from pathlib import Path

import pytest
import time_machine
from django.db import transaction
from uuid_utils.compat import uuid7

from appointments.models import Appointment
from appointments.services import create_note, edit_appointment, reschedule, save_event_type
from appointments.services.deleting import delete_appointments
from foundation.api.openapi import component_name
from leads.deleting import delete_leads
from leads.merging import merge_leads
from leads.models import CustomField, Lead
from leads.privacy.erasing import request_erasure
from leads.services import add_note, delete_custom_field, save_custom_field
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization
from organizations.services import save_user
from statuses.models import Status
from statuses.services import delete_status, save_status
from tests.client import ApiClient, synced_opt_in_payload
from tests.document import document, event_errors
from tests.factories import make_api, make_member, make_organization
from webhooks.models import Event
from webhooks.services import add_endpoint, send_test
from webhooks.topics import topics

DOCS = Path(__file__).resolve().parents[2] / "docs"
UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.mark.parametrize("page", ["webhooks.md", "interface.md"])
def test_the_pages_list_every_topic(page: str) -> None:
    assert_generated(page, "topics", render_table())


@pytest.mark.django_db
def test_the_page_shows_every_event_as_it_is_sent() -> None:
    bodies = example_bodies()

    assert_generated("webhooks.md", "events", "\n".join(render_event(name, bodies[name]) for name in topics()))


@pytest.mark.django_db
def test_the_openapi_document_describes_every_event_as_it_is_sent() -> None:
    bodies = {name: json.loads(body) for name, body in example_bodies().items()}

    assert list(document()["webhooks"]) == list(topics()) == sorted(bodies)
    assert event_errors(bodies.values()) == []


def assert_generated(page: str, section: str, content: str) -> None:
    """Assert that the section of the page, between two comments, has this content."""
    path = DOCS / page
    pattern = re.compile(rf"(<!-- {section}: [^\n]*-->\n).*(<!-- end of {section} -->)", re.DOTALL)
    expected, count = pattern.subn(lambda match: f"{match[1]}\n{content}\n{match[2]}", path.read_text())
    assert count == 1
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(expected)

    assert path.read_text() == expected


def render_table() -> str:
    """Return the table of all topics: when each is sent, the schema of `data`, and what `previous` can have."""
    lines = ["| type | when | `data` | `previous` |", "|---|---|---|---|"]
    for topic in topics().values():
        previous = ", ".join(f"`{name}`" for name in topic.previous) or "–"
        lines.append(f"| `{topic}` | {topic.summary} | `{component_name(topic.serializer)}` | {previous} |")
    return "\n".join(lines) + "\n"


def example_bodies() -> dict[str, str]:
    """Return the body of an event of each topic, by topic; the last one if there are several."""
    with time_machine.travel("2026-12-01T09:30:00.000Z", tick=False):
        organization = make_organization("Acme")
        host = make_member(organization, "hana@acme.example", first_name="Hana", last_name="Host")
        record_every_topic(make_api(organization), organization, host)
    return {event.type: event.body for event in Event.objects.of(organization).order_by("created_at", "id")}


def record_every_topic(api: ApiClient, organization: Organization, host: Membership) -> None:
    """Record at least one event of each topic."""
    api.submit(
        traffic={"utm_source": "newsletter"},
        questions_answers=[{"question": "What do you need?", "answer": "More calls"}],
    )
    for minute in (1, 2):
        body = synced_opt_in_payload(changed_at=f"2026-11-01T10:0{minute}:00Z", traffic={"utm_term": str(minute)})
        api.put("/api/external/sync/WEBINAR/opt-ins/form-1", body)
    id = api.book(host_email=host.user.email, meeting_url="https://meet.example/1").json()["data"]["id"]
    appointment = Appointment.objects.of(organization).get(pk=id)
    reschedule(
        organization=organization,
        actor=SYSTEM,
        appointment=appointment,
        to=datetime.fromisoformat("2027-01-06T10:00:00Z"),
    )
    no_show = api.get_status("NO_SHOW")["id"]
    edit_appointment(organization=organization, actor=SYSTEM, appointment=appointment, status_id=no_show)
    by = {"organization": organization, "actor": SYSTEM}
    create_note(**by, appointment=appointment, text="Try again", id=uuid7(), mentions=[host])
    edit_appointment(organization=organization, actor=SYSTEM, appointment=appointment, setter=host)
    add_note(organization=organization, actor=SYSTEM, lead=appointment.lead, text="Prefers mornings", id=uuid7())
    for row in (f"appointments/{id}", f"leads/{appointment.lead_id}"):
        note = api.post(f"/api/external/{row}/notes", {"note": "Call at noon"}).json()["data"]
        api.patch(f"/api/external/{row}/notes/{note['id']}", {"note": "Call in the evening"})
        api.delete(f"/api/external/{row}/notes/{note['id']}")
    api.cancel()
    request_erasure(
        organization=organization, actor=SYSTEM, lead_id=api.submit(email="eve@example.com").json()["data"]["lead_id"]
    )
    emails = ("ada@example.com", "ada@work.example")
    api.submit(email=emails[1])
    field = CustomField(entity=CustomField.Entity.LEAD, key="budget", label="Budget")
    save_custom_field(organization=organization, actor=SYSTEM, field=field)
    field.label = "Yearly budget"
    save_custom_field(organization=organization, actor=SYSTEM, field=field)
    delete_custom_field(organization=organization, actor=SYSTEM, field=field)
    status = save_status(organization=organization, actor=SYSTEM, status=Status(name="Thinking", role="FOLLOW_UP"))
    status.name = "Undecided"
    save_status(organization=organization, actor=SYSTEM, status=status)
    delete_status(organization=organization, actor=SYSTEM, status=status)
    host.user.last_name = "Hosting"
    save_user(actor=SYSTEM, user=host.user, changed=["last_name"])
    event_type = appointment.event_type
    event_type.name = "Discovery call"
    save_event_type(organization=organization, actor=SYSTEM, event_type=event_type)
    lead_id, other_id = (Lead.objects.of(organization).get(email=email).pk for email in emails)
    merge_leads(organization=organization, actor=SYSTEM, keep=lead_id, merge=other_id)
    api.book(lead_email="dan@example.com", external_reference="ref-9")
    with transaction.atomic():
        booked = Appointment.objects.of(organization).select_for_update().get(external_reference="ref-9")
        booked.organization, lead = organization, booked.lead
        delete_appointments(organization, [booked], SYSTEM, notifies=False)
        delete_leads(organization, [lead.pk], SYSTEM)
    endpoint, _ = add_endpoint(organization=organization, url="https://hooks.example.com/pipeline")
    send_test(endpoint=endpoint, actor=SYSTEM)


def render_event(topic_name: str, body: str) -> str:
    """Return the topic's section of the page: heading, summary and example."""
    example = json.dumps(json.loads(replace_ids(body)), indent=2)
    return f"### `{topic_name}`\n\n{topics()[topic_name].summary}\n\n```json\n{example}\n```\n"


def replace_ids(text: str) -> str:
    """Return the text with its ids replaced by fixed ones, so that the page is the same in every run."""
    # Numbered in the order of their first use: equal ids stay equal.
    for number, id in enumerate(dict.fromkeys(UUID7.findall(text)), 1):
        text = text.replace(id, f"01a1fd56-0000-7000-8000-{number:012d}")
    text = re.sub(r'("id" ?: ?)"[0-9A-Za-z]{12}"', r'\1"4kZ000000000"', text)  # a key's id
    return re.sub(r"user_[0-9A-Za-z]{24}", "user_2Yx0000000000000000000", text)
