"""An organization with at least one row of everything, and ways to look at the admin's answers."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from appointments.models import Appointment
from notifications.services import set_muted_kinds
from organizations.actors import SYSTEM, actor_columns
from organizations.isolation.tenancy import TenantModel
from organizations.models import Membership, Organization, Role
from tests.factories import (
    make_analysis,
    make_api,
    make_custom_field,
    make_event_type,
    make_member,
    make_note,
    make_status,
)
from webhooks.models import Attempt, Delivery, Replay
from webhooks.services import add_endpoint

PAGES = [page for page in admin.site._registry.values() if page.opts.app_label not in ("auth", "admin")]
TENANT_PAGES = [page for page in PAGES if issubclass(page.model, TenantModel)]


def furnish(organization: Organization, word: str) -> Appointment:
    """One of everything, each with the word in a text that pages show."""
    add_endpoint(organization=organization, url=f"https://hooks.{word}.example/in", description=f"{word} receiver")
    api, email = make_api(organization), f"{word}@leads.example"
    make_event_type(organization, f"{word} call")
    make_status(organization, f"{word} status")
    make_custom_field(organization, "LEAD", f"{word}_field")
    make_custom_field(organization, "APPOINTMENT", f"{word}_field")
    member = make_member(organization, f"{word}@members.example", role=Role.CLOSER, first_name=word.capitalize())
    set_muted_kinds(member=member, kinds=[])
    answers = [{"question": f"{word}?", "answer": "Yes", "position": 1}]
    api.submit(
        email=email, first_name=word.capitalize(), questions_answers=answers, traffic={"utm_source": f"{word} campaign"}
    )
    id = api.book(
        external_reference=word,
        lead_email=email,
        event_type_name=f"{word} call",
        notes=f"{word} note",
        host_email=f"{word}@members.example",
    ).json()["data"]["id"]
    make_note(organization, id, f"{word} second note")
    make_analysis(organization, id, ai_generated_title=f"{word} analysis")
    for delivery in Delivery.objects.of(organization):
        Attempt.objects.create(organization=organization, delivery=delivery, duration_ms=5, status_code=200)
    return Appointment.objects.of(organization).get(pk=id)


def furnish_replays(organization: Organization) -> None:
    """A replay for each delivery."""
    for delivery in Delivery.objects.of(organization):
        delivery.replay = Replay.objects.create(
            organization=organization, endpoint_id=delivery.endpoint_id, count=1, **actor_columns(SYSTEM)
        )
        delivery.save()


def signed_in(member: Membership) -> Client:
    """The member at the admin."""
    client = Client()
    client.force_login(member.user)
    return client


def url(model: type[Any], view: str, *args: Any) -> str:
    """An address of the model's pages."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=[quote(id) for id in args])


def errors_of(answer: Any) -> list[str]:
    """All errors that the form shows."""
    assert answer.status_code == 200, (answer.status_code, answer.headers)
    form = answer.context["adminform"].form if "adminform" in answer.context else answer.context["form"]
    return [sentence for found in form.errors.values() for sentence in found]


def messages_of(answer: Any) -> list[str]:
    """The messages that are shown next."""
    return [str(message) for message in get_messages(answer.wsgi_request)]
