"""Default values of model fields. Migrations name these functions: this module never moves."""

import secrets
import string

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


def random_base62(length: int) -> str:
    return "".join(secrets.choice(BASE62) for _ in range(length))


def new_user_id() -> str:
    return f"user_{random_base62(24)}"


def both_scopes() -> list[str]:
    return ["read", "write"]
