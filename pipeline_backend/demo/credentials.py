"""The demo's key and the owner's password: kept while they work, replaced when they don't."""

import hmac
import secrets

from organizations.keys import parse_key
from organizations.models import ApiKey, Organization, User
from organizations.services import issue_key
from pipeline_backend.demo.loading import KEY_NAME, Demo
from pipeline_backend.demo.organization_setup import NORTHWIND


def get_owner() -> User:
    """Who signs in to the admin."""
    return User.objects.get(email=NORTHWIND.owner_email)


def working_key(demo: Demo, kept: object) -> str:
    """The key that was kept, if requests with it are served; else the one just made, or a new one."""
    if isinstance(kept, str) and is_live(demo.organization, kept):
        return kept
    return demo.key_text or issue_key(organization=demo.organization, name=KEY_NAME)[1]


def is_live(organization: Organization, text: str) -> bool:
    """True for a key of the organization that is neither revoked nor expired."""
    given = parse_key(text)
    key: ApiKey | None = ApiKey.objects.of(organization).filter(key_id=given.key_id).first() if given else None
    return bool(given and key and key.is_live and hmac.compare_digest(bytes(key.secret_hash), given.secret_hash))


def working_password(kept: object) -> str:
    """The password that was kept, if the owner can sign in with it; else a new one."""
    user = get_owner()
    if isinstance(kept, str) and user.check_password(kept):
        return kept
    return set_new_password(user)


def set_new_password(user: User) -> str:
    """A random password, set."""
    password = secrets.token_urlsafe(12)
    user.set_password(password)
    user.save(update_fields=["password"])
    return password
