"""The demo's API key and the password of its owner. Working ones are kept, others are replaced."""

import hmac
import secrets

from organizations.keys import parse_key
from organizations.models import ApiKey, Organization, User
from organizations.services import issue_key
from pipeline_backend.demo.loading import KEY_NAME, Demo
from pipeline_backend.demo.organization_setup import NORTHWIND


def get_owner() -> User:
    """Return the user who owns the demo organization."""
    return User.objects.get(email=NORTHWIND.owner_email)


def working_key(demo: Demo, stored_key: object) -> str:
    """Return the stored key if it still works, else the key of this run, else a new one."""
    if isinstance(stored_key, str) and is_live(demo.organization, stored_key):
        return stored_key
    return demo.key_text or issue_key(organization=demo.organization, name=KEY_NAME)[1]


def is_live(organization: Organization, text: str) -> bool:
    """Return whether the text is a key of the organization that is neither revoked nor expired."""
    parsed = parse_key(text)
    if parsed is None:
        return False
    key: ApiKey | None = ApiKey.objects.of(organization).filter(key_id=parsed.key_id).first()
    return bool(key and key.is_live and hmac.compare_digest(bytes(key.secret_hash), parsed.secret_hash))


def working_password(stored_password: object) -> str:
    """Return the stored password if the owner can sign in with it, else a new one."""
    user = get_owner()
    if isinstance(stored_password, str) and user.check_password(stored_password):
        return stored_password
    return set_new_password(user)


def set_new_password(user: User) -> str:
    """Set a random password and return it."""
    password = secrets.token_urlsafe(12)
    user.set_password(password)
    user.save(update_fields=["password"])
    return password
