"""Guards against server-side request forgery: webhooks reach public addresses only (docs/interface.md, W9).

A URL is checked when it is saved, for a friendly message, and every address that it resolves to when we connect, for
safety. The tenant sees one error class, `blocked_address`, and nothing about the internal network.
"""

import ipaddress
import socket
from contextlib import suppress

from django.conf import settings
from yarl import URL

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# IANA assigns no other IPv6 addresses to the public internet.
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")

# With the IPv6 networks outside of global unicast, these cover every entry of the IANA Special-Purpose Address
# Registries as last updated on 2025-10-09 (www.iana.org/assignments/iana-ipv4-special-registry and
# iana-ipv6-special-registry), multicast, and a platform address. Entries that the registries call globally reachable
# are refused, too: they are anycast addresses of network protocols, identifiers, or prefixes that embed an IPv4
# address, which could be an internal one. Python's `is_global` is not used, because it differs between versions.
NOT_PUBLIC = [
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private use
        "100.64.0.0/10",  # shared address space of carriers
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # platform service of Azure's virtual machines
        "169.254.0.0/16",  # link local, and the metadata addresses of clouds
        "172.16.0.0/12",  # private use
        "192.0.0.0/24",  # protocol assignments, and a metadata address (192.0.0.192)
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private use
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/3",  # multicast, and reserved
        "2001::/23",  # protocol assignments, among them Teredo
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
]

MAX_HOST_LENGTH = 255


class BlockedAddress(Exception):
    """A URL or address that webhooks must not reach, with the reason if it is shown."""


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
    if not has_port or parsed.scheme not in schemes or not parsed.raw_host or "%" in authority:
        raise BlockedAddress
    if "@" in authority:
        raise BlockedAddress("must have no user and no password")
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
    return str(url.raw_host).lower().rstrip(".")


def parse_ip_literal(host: str) -> Address | None:
    """Return the address if the host is one, in any spelling that a resolver accepts (2130706433, 0x7f.1, ::1)."""
    with suppress(ValueError):
        return ipaddress.ip_address(host)
    with suppress(OSError):
        return ipaddress.IPv4Address(socket.inet_aton(host))
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
    is_unicast = address.version == 4 or address in GLOBAL_UNICAST
    # A network contains no address of the other version.
    return is_unicast and not any(address in network for network in NOT_PUBLIC)
