"""manage.py create_webhook_endpoint."""

import pytest

from organizations.models import Organization
from tests.commands.runner import command_error, run
from webhooks.models import Endpoint
from webhooks.topics import topics

URL = "https://hooks.example.com/pipeline"


def test_only_the_secret_is_printed_on_standard_output(organization: Organization) -> None:
    output = run("create_webhook_endpoint", organization.pk, URL)

    endpoint = Endpoint.objects.of(organization).get()
    assert output.out == f"{endpoint.secret}\n"
    assert endpoint.secret.startswith("whsec_")
    assert output.err == f"{URL} receives all events of Acme. The secret is not shown again.\n"


def test_event_types_and_a_description_can_be_given(organization: Organization) -> None:
    events = ["--events", "lead.created, opt_in.created,lead.created"]

    run("create_webhook_endpoint", "Acme", URL, *events, "--description", " Our CRM ")

    endpoint = Endpoint.objects.of(organization).get()
    assert (endpoint.url, endpoint.event_types) == (URL, ["lead.created", "opt_in.created"])
    assert endpoint.description == "Our CRM"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["http://hooks.example.com"], "url must be a public https address"),
        (["https://127.0.0.1/"], "url must be a public https address"),
        ([f"https://hooks.example.com/{'x' * 2048}"], "The URL must be at most 2048 characters long"),
        ([URL, "--description", "x" * 256], "The description must be at most 255 characters long"),
        ([URL, "--events", "lead.created,lead.unknown"], "event_types must be one of: {topics}"),
    ],
)
def test_invalid_arguments_are_refused(organization: Organization, arguments: list[str], message: str) -> None:
    error = command_error("create_webhook_endpoint", "Acme", *arguments)

    assert error == message.format(topics=", ".join(topics()))
    assert not Endpoint.objects.of(organization).exists()
