"""manage.py create_webhook_endpoint."""

import pytest

from organizations.models import Organization
from tests.commands.runner import command_error, run
from webhooks.models import Endpoint
from webhooks.topics import topics

URL = "https://hooks.example.com/pipeline"


def test_it_prints_the_secret_alone(organization: Organization) -> None:
    said = run("create_webhook_endpoint", organization.pk, URL)

    endpoint = Endpoint.objects.of(organization).get()
    assert said.out == f"{endpoint.secret}\n"
    assert endpoint.secret.startswith("whsec_")
    assert said.err == f"{URL} receives all events of Acme. The secret is not shown again.\n"


def test_it_takes_event_types_and_a_description(organization: Organization) -> None:
    run(
        "create_webhook_endpoint",
        "Acme",
        URL,
        "--events",
        "lead.created, opt_in.created,lead.created",
        "--description",
        " Our CRM ",
    )

    endpoint = Endpoint.objects.of(organization).get()
    assert (endpoint.url, endpoint.event_types, endpoint.description) == (
        URL,
        ["lead.created", "opt_in.created"],
        "Our CRM",
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["http://hooks.example.com"], "url must be a public https address"),
        (["https://127.0.0.1/"], "url must be a public https address"),
        ([f"https://hooks.example.com/{'x' * 2048}"], "The URL must be at most 2048 characters long"),
        ([URL, "--description", "x" * 256], "The description must be at most 255 characters long"),
        ([URL, "--events", "lead.created,lead.eaten"], "event_types must be one of: {known}"),
    ],
)
def test_what_can_not_be_is_refused_in_a_sentence(organization: Organization, words: list[str], sentence: str) -> None:
    assert command_error("create_webhook_endpoint", "Acme", *words) == sentence.format(known=", ".join(topics()))
    assert not Endpoint.objects.of(organization).exists()
