"""Where webhooks may go: public addresses only, unless the operator allows others (decision 33).

A URL is looked at when it is saved, for a friendly message, and every address it resolves to when it is dialled, for
safety. The tenant learns one word, `blocked_address`, and nothing of the network inside.
"""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Globally routable by the registries, and still nobody's web server.
BLOCKED_NETWORKS = [
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.175.48.0/24",
        "2001::/23",
        "2002::/16",
        "3fff::/20",
    )
]
UNICAST = ipaddress.ip_network("2000::/3")


class BlockedAddress(Exception):
    """A URL or address that webhooks must not reach."""


@dataclass(frozen=True)
class ParsedUrl:
    """A URL, taken apart."""

    is_tls: bool
    host: str
    port: int
    path: str
    host_header: str


def parse_url(url: str) -> ParsedUrl:
    """The URL's parts, or BlockedAddress for whatever no well-meant endpoint has."""
    schemes = {"https", "http"} if settings.WEBHOOKS_ALLOW_PRIVATE else {"https"}
    if any(character <= " " or character in "\\\x7f" for character in url) or not url.isascii():
        raise BlockedAddress
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise BlockedAddress from None
    if parts.scheme not in schemes or not host or "@" in parts.netloc or "%" in parts.netloc:
        raise BlockedAddress
    is_tls = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return ParsedUrl(
        is_tls=is_tls, host=host, port=port or (443 if is_tls else 80), path=path, host_header=parts.netloc
    )


def validate_url(url: str) -> None:
    """Refuse what can be seen to be no public https address."""
    host = parse_url(url).host.rstrip(".")
    if settings.WEBHOOKS_ALLOW_PRIVATE:
        return
    literal = parse_ip_literal(host)
    if literal and not is_allowed(literal):
        raise BlockedAddress
    if (
        literal is None
        and not settings.WEBHOOKS_ALLOWED_NETWORKS
        and ("." not in host or host.endswith((".localhost", ".local", ".internal")))
    ):
        raise BlockedAddress


def parse_ip_literal(host: str) -> Address | None:
    """The address, if the host is one in any spelling that a resolver takes (2130706433, 0x7f.1, ::1)."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def is_public(address: Address) -> bool:
    """Globally routable unicast, and no disguise of an IPv4 address."""
    if any(address in network for network in BLOCKED_NETWORKS if network.version == address.version):
        return False
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return isinstance(address, ipaddress.IPv4Address) or address in UNICAST


def require_allowed(found: list[str]) -> list[str]:
    """All the resolver's answers, or BlockedAddress if any of them must not be reached."""
    addresses = [ipaddress.ip_address(text.partition("%")[0]) for text in found]
    if not addresses or not all(map(is_allowed, addresses)):
        raise BlockedAddress
    return found


def is_allowed(address: Address) -> bool:
    """Public, or in a network that the operator allows."""
    if settings.WEBHOOKS_ALLOW_PRIVATE or is_public(address):
        return True
    return any(
        address in network for network in settings.WEBHOOKS_ALLOWED_NETWORKS if network.version == address.version
    )
