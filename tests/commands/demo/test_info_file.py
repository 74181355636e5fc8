"""manage.py demo: printed credentials, the info file, and the endpoint of the local inbox."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment
from notifications.models import Notification
from organizations.models import ApiKey, User
from organizations.services import issue_key, revoke_key
from tests.client import ApiClient
from tests.commands.demo.conftest import LoadedDemo
from tests.commands.runner import command_error, file_mode, run
from webhooks.models import Delivery, Endpoint

OWNER_EMAIL = "olivia.hart@northwind.example"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the info file."""
    return tmp_path / "demo.json"


def run_and_read(path: Path) -> dict[str, Any]:
    """Run the command and return the content of the info file."""
    run("demo", "--facts", path)
    info: dict[str, Any] = json.loads(path.read_text())
    return info


def key_works(key: str) -> bool:
    """Return whether a request with the key succeeds."""
    return bool(ApiClient(key).get("/api/external/statuses").status_code == 200)


def test_without_a_file_key_and_password_are_printed_once(demo: LoadedDemo) -> None:
    first_line, admin_line, key_line = demo.output.out.splitlines()

    assert first_line == f"Northwind Coaching ({demo.organization.pk}) created."
    assert admin_line.startswith(f"Admin: http://testserver/admin/  {OWNER_EMAIL}  ")
    assert User.objects.get(email=OWNER_EMAIL).check_password(admin_line.split()[-1])
    assert key_works(key_line.removeprefix("API key: "))


def test_the_file_has_everything_and_only_its_owner_can_read_it(demo: LoadedDemo, path: Path) -> None:
    output = run("demo", "--facts", path)
    info = json.loads(path.read_text())

    assert file_mode(path) == 0o600
    assert info["api_key"] not in output.out + output.err
    assert {name: info[name] for name in info if name not in {"api_key", "admin_password"}} == {
        "base_url": "http://testserver",
        "admin_url": "http://testserver/admin/",
        "admin_email": OWNER_EMAIL,
        "organization": str(demo.organization.pk),
        "organization_name": "Northwind Coaching",
    }
    assert key_works(info["api_key"])
    assert Client().login(username=OWNER_EMAIL, password=info["admin_password"])
    assert list(path.parent.iterdir()) == [path]


def test_working_credentials_are_kept_and_the_url_is_updated(demo: LoadedDemo, path: Path, settings: Any) -> None:
    before, key_count = run_and_read(path), ApiKey.objects.of(demo.organization).count()
    settings.BASE_URL = "http://127.0.0.1:8001"

    after = run_and_read(path)

    assert after == {**before, "base_url": "http://127.0.0.1:8001", "admin_url": "http://127.0.0.1:8001/admin/"}
    assert ApiKey.objects.of(demo.organization).count() == key_count


def test_a_revoked_key_is_replaced_and_the_password_is_kept(demo: LoadedDemo, path: Path) -> None:
    before = run_and_read(path)
    for key in ApiKey.objects.of(demo.organization):
        revoke_key(key=key)

    after = run_and_read(path)

    assert (key_works(before["api_key"]), key_works(after["api_key"])) == (False, True)
    assert after["admin_password"] == before["admin_password"]


def test_a_key_of_another_organization_is_replaced(demo: LoadedDemo, path: Path) -> None:
    _, other_key = issue_key(organization=demo.other_organization, name="Other")
    path.write_text(json.dumps({**run_and_read(path), "api_key": other_key}))

    info = run_and_read(path)

    assert info["api_key"] != other_key
    assert ApiClient(info["api_key"]).get("/api/external/leads", {"limit": 1}).json()["pagination"]["total"] == 40


def test_a_password_that_was_changed_in_the_meantime_is_replaced(demo: LoadedDemo, path: Path) -> None:
    before = run_and_read(path)
    user = User.objects.get(email=OWNER_EMAIL)
    user.set_password("changed in the admin")
    user.save()

    after = run_and_read(path)

    assert after["admin_password"] != before["admin_password"]
    assert User.objects.get(email=OWNER_EMAIL).check_password(after["admin_password"])


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"api_key": 1, "admin_password": null}'])
def test_an_unusable_file_is_replaced_with_the_right_mode(demo: LoadedDemo, path: Path, content: str) -> None:
    path.write_text(content)
    path.chmod(0o644)

    info = run_and_read(path)

    assert key_works(info["api_key"])
    assert file_mode(path) == 0o600


def test_a_missing_folder_is_refused_before_anything_is_created(demo: LoadedDemo, tmp_path: Path) -> None:
    error = command_error("demo", "--facts", tmp_path / "missing" / "demo.json")

    assert error == f"The folder {tmp_path / 'missing'} does not exist"


def test_a_file_that_cannot_be_written_is_refused_in_one_sentence(demo: LoadedDemo, path: Path) -> None:
    path.mkdir()

    error = command_error("demo", "--facts", path)

    assert error.startswith(f"Can't write {path}: ")


def test_a_local_run_has_an_inbox_a_failing_endpoint_and_something_to_deliver(demo: LoadedDemo, settings: Any) -> None:
    settings.LOCAL_RUN = settings.WEBHOOKS_ALLOW_PRIVATE = True

    run("demo")

    deliveries = Delivery.objects.of(demo.organization).values_list("endpoint__url", "event__type")
    inbox, removed = "http://testserver/local/inbox", "http://testserver/local/removed"
    assert set(deliveries) == {
        (inbox, "lead.created"),
        (inbox, "appointment.created"),
        (removed, "lead.created"),
    }
    notifications = Notification.objects.of(demo.organization)
    assert notifications.filter(recipient__user__email=OWNER_EMAIL).exists()


def test_the_local_endpoints_are_registered_once_and_follow_the_base_url(demo: LoadedDemo, settings: Any) -> None:
    settings.LOCAL_RUN = settings.WEBHOOKS_ALLOW_PRIVATE = True
    run("demo")
    settings.BASE_URL = "http://127.0.0.1:8001"

    run("demo")

    urls = Endpoint.objects.of(demo.organization).values_list("url", flat=True)
    assert set(urls) == {"http://127.0.0.1:8001/local/inbox", "http://127.0.0.1:8001/local/removed"}
    assert len(urls) == 2
    assert Appointment.objects.of(demo.organization).filter(external_reference="demo-first").count() == 1
