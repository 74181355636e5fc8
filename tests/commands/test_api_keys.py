"""manage.py create_api_key and revoke_api_key."""

from datetime import UTC, datetime

import pytest
import time_machine

from organizations.keys import parse_key
from organizations.models import ApiKey, Organization
from tests.client import ApiClient
from tests.commands.runner import command_error, run
from tests.factories import make_organization


def get_key(text: str) -> ApiKey:
    """Return the stored row of a key."""
    parsed = parse_key(text)
    assert parsed
    key: ApiKey = ApiKey.unscoped.get(key_id=parsed.key_id)
    return key


def test_only_the_key_is_printed_on_standard_output_and_it_works(organization: Organization) -> None:
    output = run("create_api_key", organization.pk, "--name", "Zapier")

    text = output.out.removesuffix("\n")
    assert ApiClient(text).get("/api/external/statuses").status_code == 200
    assert output.err == (
        f"Zapier (pb_{get_key(text).key_id}_…) has the scopes read, write in Acme until it is revoked. "
        "The key is not shown again.\n"
    )


def test_the_organization_can_be_named(organization: Organization, other_organization: Organization) -> None:
    key = get_key(run("create_api_key", "Acme", "--name", "Zapier").out.strip())

    assert (key.organization, key.scopes, key.expires_at) == (organization, ["read", "write"], None)


def test_an_ambiguous_name_is_refused_with_the_ids_of_both_organizations(organization: Organization) -> None:
    other = make_organization("Other")
    Organization.objects.filter(pk=other.pk).update(name="Acme")

    error = command_error("create_api_key", "Acme", "--name", "Zapier")

    assert error == f"2 organizations are named Acme; use the id instead: {organization.pk}, {other.pk}"
    assert not ApiKey.unscoped.exists()


@pytest.mark.parametrize("name_or_id", ["acme", "Initech", "01890000-0000-7000-8000-000000000000"])
def test_an_unknown_organization_is_refused(organization: Organization, name_or_id: str) -> None:
    error = command_error("create_api_key", name_or_id, "--name", "Zapier")

    assert error == f"There is no organization {name_or_id}"


def test_a_key_can_have_a_single_scope_and_an_expiry(organization: Organization) -> None:
    expires = "2100-01-31T18:00:00+01:00"

    output = run("create_api_key", "Acme", "--name", "Reports", "--scope", "read", "--expires", expires)

    key = get_key(output.out.strip())
    assert (key.scopes, key.expires_at) == (["read"], datetime(2100, 1, 31, 17, tzinfo=UTC))


def test_scopes_can_be_in_any_order_and_a_date_means_the_start_of_that_day(organization: Organization) -> None:
    scopes = ["--scope", "write", "--scope", "read"]

    output = run("create_api_key", "Acme", "--name", "Both", *scopes, "--expires", "2100-01-31")

    key = get_key(output.out.strip())
    assert (key.scopes, key.expires_at) == (["read", "write"], datetime(2100, 1, 31, tzinfo=UTC))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--name", " "], "The name must not be blank"),
        (["--name", "x" * 256], "The name must be at most 255 characters long"),
        (["--name", "A", "--expires", "2001-01-01"], "--expires 2001-01-01 is in the past"),
        (
            ["--name", "A", "--expires", "soon"],
            "--expires soon is neither a date, such as 2027-01-31, nor a timestamp, such as 2027-01-31T18:00:00Z",
        ),
    ],
)
def test_invalid_arguments_are_refused(organization: Organization, arguments: list[str], message: str) -> None:
    assert command_error("create_api_key", "Acme", *arguments) == message
    assert not ApiKey.unscoped.exists()


@pytest.mark.parametrize("form", ["{id}", "pb_{id}_…", "pb_{id}", "{key}"])
def test_a_key_is_revoked_by_its_id_in_any_form(organization: Organization, form: str) -> None:
    text = run("create_api_key", "Acme", "--name", "Zapier").out.strip()
    other = run("create_api_key", "Acme", "--name", "Other").out.strip()

    output = run("revoke_api_key", form.format(id=get_key(text).key_id, key=text))

    assert output.err == f"Zapier (pb_{get_key(text).key_id}_…) of Acme is now revoked.\n"
    assert output.out == ""
    assert ApiClient(text).get("/api/external/statuses").status_code == 401
    assert ApiClient(other).get("/api/external/statuses").status_code == 200


def test_revoking_again_changes_nothing(organization: Organization) -> None:
    text = run("create_api_key", "Acme", "--name", "Zapier").out.strip()
    with time_machine.travel("2027-01-05T10:00:00Z", tick=False):
        run("revoke_api_key", text)

    output = run("revoke_api_key", text)

    key = get_key(text)
    assert output.err == f"Zapier (pb_{key.key_id}_…) of Acme was already revoked at 2027-01-05T10:00:00.000Z.\n"
    assert key.revoked_at == datetime(2027, 1, 5, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("key_id", "message"),
    [
        ("AAAAAAAAAAAA", "There is no API key with the id AAAAAAAAAAAA"),
        ("Zapier", "KEY_ID must be a key's 12-character id, or a key that begins with pb_"),
    ],
)
def test_revoking_an_unknown_or_malformed_key_is_refused(organization: Organization, key_id: str, message: str) -> None:
    assert command_error("revoke_api_key", key_id) == message
