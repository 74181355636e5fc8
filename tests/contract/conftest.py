"""What the contract's tests share."""

import pytest


@pytest.fixture(autouse=True)
def quick_passwords(settings):
    """Members are made by the hundred here, and nobody signs in."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
