"""The address that a client's requests are counted against."""

import ipaddress
from collections.abc import Mapping
from typing import Any

from django.conf import settings


def client_address(meta: Mapping[str, Any]) -> str:
    """Return a client's IPv4 address, or the /64 network of its IPv6 address: its owner has all of it."""
    address = meta.get("REMOTE_ADDR") or "unknown"
    # Without a trusted proxy, clients could set the header themselves. With one, only its own entry (the last) counts.
    if settings.SECURE_PROXY_SSL_HEADER and meta.get("HTTP_X_FORWARDED_FOR"):
        address = meta["HTTP_X_FORWARDED_FOR"].rsplit(",", 1)[-1].strip()
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed.packed, 64), strict=False))


def network_of(address: str) -> str:
    """Return the /24 (IPv4) or /48 (IPv6) that a client's address is in: providers give a customer up to a /48."""
    try:
        network = ipaddress.ip_network(address)
        return str(network.supernet(new_prefix=24 if network.version == 4 else 48))
    except ValueError:
        return address
