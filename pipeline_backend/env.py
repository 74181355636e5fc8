"""Readers of environment variables. They raise ImproperlyConfigured, which names the variable that is invalid."""

import ipaddress
import re
from collections.abc import Collection
from urllib.parse import urlsplit

import environ
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

env = environ.Env()


def read_bool(name: str, *, default: bool) -> bool:
    """Return a boolean variable. Raises ImproperlyConfigured for any other value."""
    value = env.str(name, default=str(default)).strip().lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    # django-environ's own bool() would silently read a typo such as "ture" as False.
    raise ImproperlyConfigured(f"{name} must be true or false")


def read_int(name: str, *, default: int, min_value: int = 1, max_value: int = 10**9) -> int:
    """Return an integer variable from `min_value` to `max_value`."""
    value = env.str(name, default=str(default)).strip()
    if not re.fullmatch(r"\d{1,10}", value) or not min_value <= int(value) <= max_value:
        raise ImproperlyConfigured(f"{name} must be a whole number from {min_value} to {max_value}")
    return int(value)


def read_choice(name: str, *choices: str) -> str:
    """Return a variable that is one of the choices; the first one is the default."""
    value = env.str(name, default=choices[0]).strip().lower()
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of: {', '.join(choices)}")
    return value


def read_url(
    name: str, example: str, *, schemes: Collection[str] = ("http", "https"), pattern: str = ".+:[^/].*", **default: str
) -> str:
    """Return a URL without its trailing slash; `pattern` is that of `scheme:server/path`.

    Raises ImproperlyConfigured, which does not quote the value, because it can contain a password.
    """
    url = env.str(name, **default)
    if url.partition("://")[0] not in schemes:
        raise ImproperlyConfigured(f"{name} has no known scheme; an example is {example}")
    try:
        parts = urlsplit(url)
        # The servers of a database cluster are separated by commas.
        ports = [urlsplit(f"//{server}").port for server in parts.netloc.rpartition("@")[2].split(",")]
        is_valid = 0 not in ports and re.fullmatch(pattern, f"{parts.scheme}:{parts.netloc}{parts.path}")
    except ValueError:
        is_valid = None
    if not is_valid:
        problem = "has an invalid host, port or path (write / in a password as %2F)"
        raise ImproperlyConfigured(f"{name} {problem}; an example is {example}")
    return url.rstrip("/")


def read_token(name: str) -> str:
    """Return a secret for an HTTP header, or "" if the variable is empty. Raises ImproperlyConfigured for a bad one."""
    token = env.str(name, default="").strip()
    if token and not re.fullmatch(r"[\w.~+/=-]{16,200}", token, re.ASCII):
        raise ImproperlyConfigured(f"{name} must have 16 to 200 letters, digits or -._~+/=")
    return token


def read_address(name: str, *, default: str) -> str:
    """Return an IPv4 address and a port to listen on."""
    address = env.str(name, default=default).strip()
    host, _, port = address.rpartition(":")
    try:
        is_valid = str(ipaddress.IPv4Address(host)) == host and 0 < int(port) < 2**16
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ImproperlyConfigured(f"{name} must be an IPv4 address and a port, such as {default}")
    return address


def read_networks(name: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Return a comma-separated list of networks in CIDR notation."""
    try:
        return [ipaddress.ip_network(text.strip()) for text in env.list(name, default=[])]
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} must be a comma-separated list of networks, such as 10.1.0.0/16,10.2.0.0/16"
        ) from None


def read_encryption_keys() -> list[str]:
    """Return the Fernet keys for encrypted columns; the first one encrypts, all of them decrypt."""
    keys = env.list("FIELD_ENCRYPTION_KEYS", default=[])
    # Required in every installation: if the key were optional, some would store secrets in plain text.
    if not keys:
        raise ImproperlyConfigured(
            "FIELD_ENCRYPTION_KEYS must hold at least one Fernet key (comma-separated, newest first)"
        )
    for key in keys:
        try:
            Fernet(key)
        except ValueError:
            raise ImproperlyConfigured(
                "FIELD_ENCRYPTION_KEYS must hold Fernet keys (32 bytes, URL-safe base64)"
            ) from None
    return keys
