"""Readers of environment variables. They raise ImproperlyConfigured, which names the variable that is invalid."""

import ipaddress
import os
import re
import sys
from collections.abc import Collection
from email.utils import getaddresses
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import environ
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

env = environ.Env()
TRUE = {"1", "true", "yes", "on"}
MAX_DAYS = 36_500  # a time that long ago is still a date
HOST = re.compile(r"\*|\.?\w[\w.-]*|\[[\da-fA-F:.]+\]")


def require(name: str, is_valid: object, problem: str) -> None:
    if not is_valid:
        raise ImproperlyConfigured(f"{name} {problem}")


def read_text(name: str, default: str | None = None) -> str:
    """Return a variable, or the content of the file that NAME_FILE names, or the default if neither is set.

    Raises ImproperlyConfigured for bytes that are not text.
    """
    # Not env.str(), which reads a value that begins with $ as the name of another variable.
    value = read_file(name) if os.environ.get(f"{name}_FILE") else os.environ.get(name, default)
    if value is None:
        raise ImproperlyConfigured(f"Set the {name} environment variable")
    require(name, value.strip().isprintable(), "has characters that can't be printed; it must be text in UTF-8")
    return value


def read_file(name: str) -> str:
    """Return the content of the file that NAME_FILE names, as Docker and Kubernetes pass secrets."""
    require(name, not os.environ.get(name), f"and {name}_FILE are both set; remove one of them")
    try:
        return Path(os.environ[f"{name}_FILE"]).read_bytes().decode(errors="surrogateescape").strip()
    # The path isn't quoted: it could be the secret, set by mistake.
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its path is invalid"
        raise ImproperlyConfigured(f"{name}_FILE names a file that can't be read: {reason}") from None


def read_list(name: str, default: str = "") -> list[str]:
    return [part for text in read_text(name, default).split(",") if (part := text.strip())]


def read_secret(name: str) -> str:
    value = read_text(name)
    require(name, value.strip(), "must not be empty")
    return value


def read_bool(name: str) -> bool:
    value = read_text(name, "false").strip().lower()
    # django-environ's own bool() would silently read a typo such as "ture" as False.
    require(name, value in TRUE | {"0", "false", "no", "off"}, "must be true or false")
    return value in TRUE


def read_int(name: str, *, default: int, min_value: int = 1, max_value: int = 10**9) -> int:
    value = read_text(name, str(default)).strip()
    is_valid = re.fullmatch(r"[0-9]{1,10}", value) and min_value <= int(value) <= max_value
    require(name, is_valid, f"must be a whole number from {min_value} to {max_value}")
    return int(value)


def read_choice(name: str, *choices: str) -> str:
    value = read_text(name, choices[0]).strip().lower()
    require(name, value in choices, f"must be one of: {', '.join(choices)}")
    return value


def read_url(
    name: str,
    example: str,
    *,
    schemes: Collection[str] = ("http", "https"),
    pattern: str = r".+:[^/\s].*",
    default: str | None = None,
    has_query: bool = True,
) -> str:
    """Return a URL without its trailing slash; `pattern` is that of `scheme:server/path`.

    Raises ImproperlyConfigured, which does not quote the value, because it can contain a password.
    """
    url = read_text(name, default).strip()
    require(name, url.partition("://")[0] in schemes, f"has no known scheme; an example is {example}")
    try:
        parts = urlsplit(url)
        # The servers of a database cluster are separated by commas.
        ports = [urlsplit(f"//{server}").port for server in parts.netloc.rpartition("@")[2].split(",")]
        is_valid = 0 not in ports and re.fullmatch(pattern, f"{parts.scheme}:{parts.netloc}{parts.path}")
    except ValueError:
        is_valid = None
    has_other_parts = "#" in url or ("?" in url and not has_query)
    problem = "has an invalid host, port or path (write / in a password as %2F)"
    require(name, is_valid and not has_other_parts, f"{problem}; an example is {example}")
    return url.rstrip("/")


def read_redis_url(name: str) -> str:
    """Return the URL of Redis. With TLS it has `ssl_cert_reqs`, without which Celery checks no certificate."""
    example = "redis://:password@host:6379/0"
    url = read_url(name, example, schemes=("redis", "rediss"), pattern=r".+:[^/]+(/\d*)?")
    parts = urlsplit(url)
    if parts.scheme == "redis":
        return url
    options = dict(parse_qsl(parts.query))
    check = options.get("ssl_cert_reqs", "required").lower().removeprefix("cert_")
    problem = f"has an ssl_cert_reqs other than required or none; an example is {example}"
    require(name, check in {"required", "none"}, problem)
    return parts._replace(query=urlencode(options | {"ssl_cert_reqs": check})).geturl()


def read_optional_url(name: str, example: str, *, pattern: str, module: str) -> str:
    """Return a URL, or "" if the variable is empty. Raises ImproperlyConfigured if the module for it is missing."""
    if not read_text(name, "").strip():
        return ""
    url = read_url(name, example, pattern=pattern, has_query=False)
    try:
        is_installed = find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that contains it
        is_installed = False
    problem = "is set, but its packages are not installed; run pip install -r requirements-observability.txt"
    require(name, is_installed, problem)
    return url


def read_token(name: str) -> str:
    """Return a secret for an HTTP header, or "" if the variable is empty. Raises ImproperlyConfigured for a bad one."""
    token = read_text(name, "").strip()
    is_valid = re.fullmatch(r"([\w.~+/=-]{16,200})?", token, re.ASCII)
    require(name, is_valid, "must have 16 to 200 letters, digits or -._~+/=")
    return token


def read_address(name: str, *, default: str) -> str:
    address = read_text(name, default).strip()
    host, _, port = address.rpartition(":")
    try:
        is_valid = str(ipaddress.IPv4Address(host)) == host and 0 < int(port) < 2**16
    except ValueError:
        is_valid = False
    require(name, is_valid, f"must be an IPv4 address and a port, such as {default}")
    return address


def read_hosts(name: str, default: str) -> list[str]:
    hosts = read_list(name, default)
    problem = "must be a comma-separated list of host names without scheme and port, such as pipeline.example.com"
    require(name, hosts and all(map(HOST.fullmatch, hosts)), problem)
    return hosts


def read_mailbox(name: str, default: str) -> str:
    text = read_text(name, default).strip()
    try:
        addresses = [address for _, address in getaddresses([text])]
        validate_email(addresses[0] if len(addresses) == 1 else "")
    except ValidationError:
        raise ImproperlyConfigured(f"{name} must be an e-mail address, such as pipeline@example.com") from None
    return text


def read_folder(name: str) -> str | None:
    """Return the path of a directory that exists or can be created; None for no value."""
    path = read_text(name, "").strip()
    try:
        nearest = next(folder for folder in (Path(path).absolute(), *Path(path).absolute().parents) if folder.exists())
        is_valid = nearest.is_dir()
    except OSError:
        is_valid = False
    require(name, is_valid, "must be the path of a directory")
    return path or None


def read_networks(name: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    try:
        return [ipaddress.ip_network(text) for text in read_list(name)]
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} must be a comma-separated list of networks, such as 10.1.0.0/16,10.2.0.0/16"
        ) from None


def read_encryption_keys(name: str) -> list[str]:
    """Return the Fernet keys for encrypted columns; the first one encrypts, all of them decrypt."""
    keys = read_list(name)
    # Required in every installation: if the key were optional, some would store secrets in plain text.
    require(name, keys, "must hold at least one Fernet key (comma-separated, newest first)")
    try:
        for key in keys:
            Fernet(key)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must hold Fernet keys (32 bytes, URL-safe base64)") from None
    return keys


def load_settings() -> None:
    """Load the settings. If one is invalid, exit with one sentence, which a traceback would bury."""
    from django.conf import settings  # noqa: PLC0415  # the settings import this module

    try:
        settings.INSTALLED_APPS  # noqa: B018  # the first use of a setting loads them all
    except ImproperlyConfigured as error:
        sys.exit(f"Invalid settings: {error}")
