"""manage.py demo: its secrets, the facts file, and the local inbox."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from organizations.models import ApiKey, User
from organizations.services import issue_key, revoke_key
from tests.client import ApiClient
from tests.commands.demo.conftest import Loaded
from tests.commands.runner import command_error, file_mode, run
from webhooks.models import Endpoint

OWNER = "olivia.hart@northwind.example"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the facts go."""
    return tmp_path / "demo.json"


def written(file: Path) -> dict[str, Any]:
    """The facts after a run."""
    run("demo", "--facts", file)
    facts: dict[str, Any] = json.loads(file.read_text())
    return facts


def works(key: str) -> bool:
    return bool(ApiClient(key).get("/api/external/statuses").status_code == 200)


def test_without_a_file_key_and_password_are_printed_once(demo: Loaded) -> None:
    first, admin, key = demo.said.out.splitlines()

    assert first == f"Northwind Coaching ({demo.organization.pk}) is open."
    assert admin.startswith(f"Admin: http://testserver/admin/  {OWNER}  ")
    assert User.objects.get(email=OWNER).check_password(admin.split()[-1])
    assert works(key.removeprefix("API key: "))


def test_the_file_says_everything_and_only_its_owner_may_read_it(demo: Loaded, file: Path) -> None:
    facts = written(file)

    assert file_mode(file) == 0o600
    assert {name: facts[name] for name in facts if name not in {"api_key", "admin_password"}} == {
        "base_url": "http://testserver",
        "admin_url": "http://testserver/admin/",
        "admin_email": OWNER,
        "organization": str(demo.organization.pk),
        "organization_name": "Northwind Coaching",
    }
    assert works(facts["api_key"])
    assert Client().login(username=OWNER, password=facts["admin_password"])
    assert list(file.parent.iterdir()) == [file]


def test_what_works_is_kept_and_the_address_follows(demo: Loaded, file: Path, settings: Any) -> None:
    before, keys = written(file), ApiKey.objects.of(demo.organization).count()
    settings.BASE_URL = "http://127.0.0.1:8001"

    after = written(file)

    assert after == {**before, "base_url": "http://127.0.0.1:8001", "admin_url": "http://127.0.0.1:8001/admin/"}
    assert ApiKey.objects.of(demo.organization).count() == keys


def test_a_revoked_key_is_replaced_and_the_password_stays(demo: Loaded, file: Path) -> None:
    before = written(file)
    for key in ApiKey.objects.of(demo.organization):
        revoke_key(key=key)

    after = written(file)

    assert (works(before["api_key"]), works(after["api_key"])) == (False, True)
    assert after["admin_password"] == before["admin_password"]


def test_another_organizations_key_is_replaced(demo: Loaded, file: Path) -> None:
    _, theirs = issue_key(organization=demo.neighbor, name="Theirs")
    file.write_text(json.dumps({**written(file), "api_key": theirs}))

    facts = written(file)

    assert facts["api_key"] != theirs
    assert ApiClient(facts["api_key"]).get("/api/external/leads", {"limit": 1}).json()["pagination"]["total"] == 40


def test_a_password_that_was_changed_since_is_replaced(demo: Loaded, file: Path) -> None:
    before = written(file)
    user = User.objects.get(email=OWNER)
    user.set_password("changed in the admin")
    user.save()

    after = written(file)

    assert after["admin_password"] != before["admin_password"]
    assert User.objects.get(email=OWNER).check_password(after["admin_password"])


@pytest.mark.parametrize("text", ["", "not json", "[]", '{"api_key": 1, "admin_password": null}'])
def test_a_file_that_says_nothing_is_written_anew_with_the_right_mode(demo: Loaded, file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o644)

    facts = written(file)

    assert works(facts["api_key"])
    assert file_mode(file) == 0o600


def test_a_folder_that_is_not_there_is_refused_before_anything_else(demo: Loaded, tmp_path: Path) -> None:
    assert (
        command_error("demo", "--facts", tmp_path / "no" / "demo.json")
        == f"There is no folder {tmp_path / 'no'} for the facts"
    )


def test_a_place_that_can_not_be_written_is_refused_in_a_sentence(demo: Loaded, tmp_path: Path) -> None:
    (tmp_path / "demo.json").mkdir()

    assert command_error("demo", "--facts", tmp_path / "demo.json").startswith(
        f"The facts can't be written to {tmp_path / 'demo.json'}: "
    )


def test_the_inbox_of_a_local_run_is_registered_once_and_follows_the_address(demo: Loaded, settings: Any) -> None:
    settings.LOCAL_RUN = settings.WEBHOOKS_ALLOW_PRIVATE = True
    endpoints = Endpoint.objects.of(demo.organization)
    run("demo")
    first = [endpoint.url for endpoint in endpoints]
    settings.BASE_URL = "http://127.0.0.1:8001"

    run("demo")

    assert first == ["http://testserver/local/inbox"]
    assert [endpoint.url for endpoint in endpoints.all()] == ["http://127.0.0.1:8001/local/inbox"]
