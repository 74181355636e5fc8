"""A new encryption key in front of the old one: what was written stays readable, what is written needs the new one alone (K3)."""

from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.fernet import Fernet, InvalidToken

from organizations.models import Organization
from pipeline_backend.db.encryption import cipher
from webhooks.models import Endpoint
from webhooks.services import add_endpoint


@pytest.fixture(autouse=True)
def _read_anew() -> Iterator[None]:
    """The keys are read once in a process."""
    yield
    cipher.cache_clear()


def use(settings: Any, *keys: str) -> None:
    settings.FIELD_ENCRYPTION_KEYS = list(keys)
    cipher.cache_clear()


def test_secrets_stay_readable_with_a_new_key_in_front(settings: Any, organization: Organization) -> None:
    old, new = settings.FIELD_ENCRYPTION_KEYS[0], Fernet.generate_key().decode()
    _, before = add_endpoint(organization=organization, url="https://old.example/in", description="")

    use(settings, new, old)
    _, after = add_endpoint(organization=organization, url="https://new.example/in", description="")

    assert set(Endpoint.objects.of(organization).values_list("secret", flat=True)) == {before, after}
    use(settings, new)
    assert (
        Endpoint.objects.of(organization).filter(url="https://new.example/in").values_list("secret", flat=True).get()
        == after
    )
    with pytest.raises(InvalidToken):
        Endpoint.objects.of(organization).filter(url="https://old.example/in").values_list("secret", flat=True).get()
