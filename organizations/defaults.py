"""Default values of model fields. Migrations name these functions: this module never moves."""

import secrets
import string

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


def random_base62(length: int) -> str:
    """Return `length` random base62 characters from the system's secure source."""
    return "".join(secrets.choice(BASE62) for _ in range(length))


def new_user_id() -> str:
    """Return a new public user id: `user_` and 24 base62 characters."""
    return f"user_{random_base62(24)}"


def both_scopes() -> list[str]:
    """Return the scopes of an API key that doesn't name any."""
    return ["read", "write"]
