"""Guards against server-side request forgery: webhooks reach public addresses only (docs/interface.md, W9).

A URL is checked when it is saved, for a friendly message, and every address that it resolves to when we connect, for
safety. The tenant sees one error class, `blocked_address`, and nothing about the internal network.
"""

import ipaddress
import socket

from django.conf import settings
from yarl import URL

from pipeline_backend.egress.special_purpose import SPECIAL_PURPOSE

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# IANA assigns no other addresses to the public internet.
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")

MAX_HOST_LENGTH = 255


class BlockedAddress(Exception):
    """A URL or address that webhooks must not reach."""


def parse_url(url: str) -> URL:
    """Parse a URL. Raises BlockedAddress for anything that no ordinary endpoint URL contains."""
    schemes = {"https", "http"} if settings.WEBHOOKS_ALLOW_PRIVATE else {"https"}
    # Parsers disagree about these characters, so what we check might not be what is requested.
    if any(character <= " " or character in "\\\x7f" for character in url) or not url.isascii():
        raise BlockedAddress
    try:
        parsed = URL(url, encoded=True)
        has_port = bool(parsed.port)  # read here, because an invalid port raises an error only now
    except ValueError:
        raise BlockedAddress from None
    authority = parsed.raw_authority
    if not has_port or parsed.scheme not in schemes or not parsed.raw_host or "@" in authority or "%" in authority:
        raise BlockedAddress
    return parsed


def receiving_host(url: str) -> str:
    """Return the host that a URL leads to, in one spelling for each, without the port; "" for a blocked URL."""
    try:
        host = host_of(parse_url(url))
    except BlockedAddress:
        return ""
    return str(parse_ip_literal(host) or host)[:MAX_HOST_LENGTH]


def validate_url(url: str) -> None:
    """Raise BlockedAddress for a URL that is visibly not a public https address. Resolves nothing."""
    host = host_of(parse_url(url))
    is_local_name = "." not in host or host.endswith((".localhost", ".local", ".internal"))
    if literal := parse_ip_literal(host):
        require_allowed(str(literal))
    # An operator who allows a network may well use such a name for it.
    elif is_local_name and not settings.WEBHOOKS_ALLOW_PRIVATE and not settings.WEBHOOKS_ALLOWED_NETWORKS:
        raise BlockedAddress


def host_of(url: URL) -> str:
    """Return the host in lower case, without the dot that can end a name."""
    return str(url.raw_host).lower().rstrip(".")


def parse_ip_literal(host: str) -> Address | None:
    """Return the address if the host is one, in any spelling that a resolver accepts (2130706433, 0x7f.1, ::1)."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def require_allowed(*addresses: str) -> None:
    """Raise BlockedAddress if there are no addresses, or if any of them must not be reached."""
    parsed = [ipaddress.ip_address(text.partition("%")[0]) for text in addresses]  # "%" begins an IPv6 zone
    if not parsed or not all(map(is_allowed, parsed)):
        raise BlockedAddress


def is_allowed(address: Address) -> bool:
    """Return True if the address is public, or in a network that the operator allows. The same on every Python."""
    if settings.WEBHOOKS_ALLOW_PRIVATE or any(address in network for network in settings.WEBHOOKS_ALLOWED_NETWORKS):
        return True
    if address.version == 6 and address not in GLOBAL_UNICAST:
        return False
    # A network contains no address of the other version.
    return not any(address in entry.network for entry in SPECIAL_PURPOSE)
