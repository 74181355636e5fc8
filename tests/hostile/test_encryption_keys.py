"""Rotation of the encryption key: the first key encrypts, and all keys decrypt (docs/guarantees.md, K3)."""

from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.fernet import Fernet, InvalidToken

from foundation.db.encryption import cipher
from organizations.models import Organization
from webhooks.models import Endpoint
from webhooks.services import add_endpoint


@pytest.fixture(autouse=True)
def _reset_cipher() -> Iterator[None]:
    """Drop the cached cipher after the test, because a process reads the keys only once."""
    yield
    cipher.cache_clear()


def set_encryption_keys(settings: Any, *keys: str) -> None:
    settings.FIELD_ENCRYPTION_KEYS = list(keys)
    cipher.cache_clear()


def stored_secret(organization: Organization, url: str) -> str:
    """Read and decrypt the secret of the endpoint with this URL."""
    return str(Endpoint.objects.of(organization).filter(url=url).values_list("secret", flat=True).get())


def test_secrets_stay_readable_after_a_new_encryption_key_is_added(settings: Any, organization: Organization) -> None:
    old_key, new_key = settings.FIELD_ENCRYPTION_KEYS[0], Fernet.generate_key().decode()
    _, old_secret = add_endpoint(organization=organization, url="https://old.example/in", description="")

    set_encryption_keys(settings, new_key, old_key)
    _, new_secret = add_endpoint(organization=organization, url="https://new.example/in", description="")

    assert stored_secret(organization, "https://old.example/in") == old_secret
    assert stored_secret(organization, "https://new.example/in") == new_secret
    # Without the old key only the new secret is readable: it was encrypted with the new key.
    set_encryption_keys(settings, new_key)
    assert stored_secret(organization, "https://new.example/in") == new_secret
    with pytest.raises(InvalidToken):
        stored_secret(organization, "https://old.example/in")
