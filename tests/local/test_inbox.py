"""The local inbox answers only clients on this computer."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from dev.local import inbox
from organizations.models import Organization

LOOPBACK = ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"]
ELSEWHERE = ["192.0.2.7", "10.0.0.5", "172.17.0.1", "169.254.1.1", "0.0.0.0", "2001:db8::7", "::ffff:192.0.2.7"]
NO_ADDRESS = ["", "localhost", "127.0.0.1, 192.0.2.7"]


@pytest.fixture
def mailed(settings: Any, tmp_path: Path) -> str:
    """Turn on the local inbox, and return the text of an e-mail in it."""
    settings.ROOT_URLCONF, settings.ROOT, settings.EMAIL_FILE_PATH = "dev.urls", tmp_path, tmp_path
    (tmp_path / "1.log").write_bytes(b"Subject: Reset\nTo: ada@example.com\n\nA secret link" + inbox.EMAIL_SEPARATOR)
    return "A secret link"


@pytest.mark.parametrize("address", LOOPBACK)
def test_a_client_on_this_computer_sees_the_inbox(db: None, mailed: str, address: str) -> None:
    response = Client(REMOTE_ADDR=address).get("/local/")

    assert response.status_code == 200
    assert mailed in response.content.decode()


@pytest.mark.parametrize("address", [*ELSEWHERE, *NO_ADDRESS])
@pytest.mark.parametrize("is_behind_proxy", [False, True])
def test_any_other_client_gets_404_whatever_its_headers_say(
    organization: Organization, mailed: str, settings: Any, address: str, is_behind_proxy: bool
) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if is_behind_proxy else None
    claims = {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1", "Forwarded": "for=127.0.0.1"}
    client = Client(REMOTE_ADDR=address, headers=claims)

    responses = [client.get("/local/"), client.put("/local/"), client.post("/local/inbox", b"{}", "application/json")]

    assert [response.status_code for response in responses] == [404, 404, 404]
    assert not any(mailed in response.content.decode() for response in responses)
    assert not (settings.ROOT / ".data").exists()


def test_a_webhook_without_a_valid_signature_is_refused(organization: Organization, mailed: str, settings: Any) -> None:
    response = Client(REMOTE_ADDR="127.0.0.1").post("/local/inbox", b"{}", "application/json")

    assert response.status_code == 401
    assert not (settings.ROOT / ".data").exists()
