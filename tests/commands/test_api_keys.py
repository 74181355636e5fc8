"""manage.py create_api_key and revoke_api_key."""

from datetime import UTC, datetime

import pytest
import time_machine

from organizations.keys import parse_key
from organizations.models import ApiKey, Organization
from tests.client import ApiClient
from tests.commands.runner import command_error, run
from tests.factories import make_organization


def stored(text: str) -> ApiKey:
    given = parse_key(text)
    assert given
    key: ApiKey = ApiKey.unscoped.get(key_id=given.key_id)
    return key


def test_it_prints_the_key_alone_and_the_key_works(organization: Organization) -> None:
    said = run("create_api_key", organization.pk, "--name", "Zapier")

    text = said.out.removesuffix("\n")
    assert ApiClient(text).get("/api/external/statuses").status_code == 200
    assert (
        said.err
        == f"Zapier (pb_{stored(text).key_id}_…) may read and write in Acme, until it is revoked. It is not shown again.\n"
    )


def test_the_organization_may_be_given_by_its_name(
    organization: Organization, other_organization: Organization
) -> None:
    key = stored(run("create_api_key", "Acme", "--name", "Zapier").out.strip())

    assert (key.organization, key.scopes, key.expires_at) == (organization, ["read", "write"], None)


def test_a_name_that_two_have_is_refused_with_both_ids(organization: Organization) -> None:
    other = make_organization("Other")
    Organization.objects.filter(pk=other.pk).update(name="Acme")

    assert (
        command_error("create_api_key", "Acme", "--name", "Zapier")
        == f"2 organizations are called Acme; say which by its id: {organization.pk}, {other.pk}"
    )
    assert not ApiKey.unscoped.exists()


@pytest.mark.parametrize("who", ["acme", "Initech", "01890000-0000-7000-8000-000000000000"])
def test_an_unknown_organization_is_refused(organization: Organization, who: str) -> None:
    assert command_error("create_api_key", who, "--name", "Zapier") == f"There is no organization {who}"


def test_a_key_may_have_one_scope_and_an_end(organization: Organization) -> None:
    key = stored(
        run(
            "create_api_key", "Acme", "--name", "Reports", "--scope", "read", "--expires", "2100-01-31T18:00:00+01:00"
        ).out.strip()
    )

    assert (key.scopes, key.expires_at) == (["read"], datetime(2100, 1, 31, 17, tzinfo=UTC))


def test_both_scopes_may_be_named_in_any_order_and_a_date_alone_is_its_beginning(organization: Organization) -> None:
    key = stored(
        run(
            "create_api_key", "Acme", "--name", "Both", "--scope", "write", "--scope", "read", "--expires", "2100-01-31"
        ).out.strip()
    )

    assert (key.scopes, key.expires_at) == (["read", "write"], datetime(2100, 1, 31, tzinfo=UTC))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--name", " "], "The name must not be blank"),
        (["--name", "x" * 256], "The name must be at most 255 characters long"),
        (["--name", "A", "--expires", "2001-01-01"], "--expires 2001-01-01 is in the past"),
        (
            ["--name", "A", "--expires", "soon"],
            "--expires soon is neither a date such as 2027-01-31 nor a timestamp such as 2027-01-31T18:00:00Z",
        ),
    ],
)
def test_what_can_not_be_is_refused_in_a_sentence(organization: Organization, words: list[str], sentence: str) -> None:
    assert command_error("create_api_key", "Acme", *words) == sentence
    assert not ApiKey.unscoped.exists()


@pytest.mark.parametrize("form", ["{id}", "pb_{id}_…", "pb_{id}", "{whole}"])
def test_a_key_is_revoked_by_its_id_in_any_form(organization: Organization, form: str) -> None:
    text = run("create_api_key", "Acme", "--name", "Zapier").out.strip()
    other = run("create_api_key", "Acme", "--name", "Other").out.strip()

    said = run("revoke_api_key", form.format(id=stored(text).key_id, whole=text))

    assert said.err == f"Zapier (pb_{stored(text).key_id}_…) of Acme was revoked now.\n"
    assert said.out == ""
    assert ApiClient(text).get("/api/external/statuses").status_code == 401
    assert ApiClient(other).get("/api/external/statuses").status_code == 200


def test_revoking_again_changes_nothing(organization: Organization) -> None:
    text = run("create_api_key", "Acme", "--name", "Zapier").out.strip()
    with time_machine.travel("2027-01-05T10:00:00Z", tick=False):
        run("revoke_api_key", text)

    said = run("revoke_api_key", text)

    assert said.err == f"Zapier (pb_{stored(text).key_id}_…) of Acme was revoked at 2027-01-05T10:00:00.000Z already.\n"
    assert stored(text).revoked_at == datetime(2027, 1, 5, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("id", "sentence"),
    [
        ("AAAAAAAAAAAA", "There is no API key with the id AAAAAAAAAAAA"),
        ("Zapier", "KEY_ID must be a key's 12-character id, or a key that begins with pb_"),
    ],
)
def test_a_key_that_is_none_is_refused(organization: Organization, id: str, sentence: str) -> None:
    assert command_error("revoke_api_key", id) == sentence
