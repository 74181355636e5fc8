"""Addresses that no tenant's web server has: the table that `ssrf` refuses.

It has every entry of the IANA IPv4 and IPv6 Special-Purpose Address Registries, both as last updated on 2025-10-09
(www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry), and the networks that those
registries leave out. Python's `is_global` and `is_private` follow the registries too, but differently in each version:
3.11.7 treats most of 192.0.0.0/24 as public, where clouds have a metadata address (192.0.0.192).

A webhook may reach none of these, not even the entries that the registries call globally reachable (such as
192.0.0.9/32 or 2001:1::1/128): they are anycast addresses of network protocols, identifiers, or prefixes that embed an
IPv4 address, which could be an internal one.

To update it, compare it with the registries, and change the dates above and the copy in
tests/webhooks/test_special_purpose.py.
"""

import ipaddress
from dataclasses import dataclass

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class SpecialPurpose:
    """A network, the name of its purpose, and the document that says so."""

    network: Network
    name: str
    source: str


SPECIAL_PURPOSE = [
    SpecialPurpose(ipaddress.ip_network(text), name, source)
    for text, name, source in (
        # The IPv4 registry.
        ("0.0.0.0/8", "This network", "RFC 791"),
        ("0.0.0.0/32", "This host on this network", "RFC 1122"),
        ("10.0.0.0/8", "Private-Use", "RFC 1918"),
        ("100.64.0.0/10", "Shared Address Space", "RFC 6598"),
        ("127.0.0.0/8", "Loopback", "RFC 1122"),
        ("169.254.0.0/16", "Link Local", "RFC 3927"),
        ("172.16.0.0/12", "Private-Use", "RFC 1918"),
        ("192.0.0.0/24", "IETF Protocol Assignments", "RFC 6890"),
        ("192.0.0.0/29", "IPv4 Service Continuity Prefix", "RFC 7335"),
        ("192.0.0.8/32", "IPv4 dummy address", "RFC 7600"),
        ("192.0.0.9/32", "Port Control Protocol Anycast", "RFC 7723"),
        ("192.0.0.10/32", "Traversal Using Relays around NAT Anycast", "RFC 8155"),
        ("192.0.0.170/32", "NAT64/DNS64 Discovery", "RFC 8880, RFC 7050"),
        ("192.0.0.171/32", "NAT64/DNS64 Discovery", "RFC 8880, RFC 7050"),
        ("192.0.2.0/24", "Documentation (TEST-NET-1)", "RFC 5737"),
        ("192.31.196.0/24", "AS112-v4", "RFC 7535"),
        ("192.52.193.0/24", "AMT", "RFC 7450"),
        ("192.88.99.0/24", "Deprecated (6to4 Relay Anycast)", "RFC 7526"),
        ("192.88.99.2/32", "6a44-relay anycast address", "RFC 6751"),
        ("192.168.0.0/16", "Private-Use", "RFC 1918"),
        ("192.175.48.0/24", "Direct Delegation AS112 Service", "RFC 7534"),
        ("198.18.0.0/15", "Benchmarking", "RFC 2544"),
        ("198.51.100.0/24", "Documentation (TEST-NET-2)", "RFC 5737"),
        ("203.0.113.0/24", "Documentation (TEST-NET-3)", "RFC 5737"),
        ("240.0.0.0/4", "Reserved", "RFC 1112"),
        ("255.255.255.255/32", "Limited Broadcast", "RFC 8190, RFC 919"),
        # The IPv6 registry.
        ("::1/128", "Loopback Address", "RFC 4291"),
        ("::/128", "Unspecified Address", "RFC 4291"),
        ("::ffff:0:0/96", "IPv4-mapped Address", "RFC 4291"),
        ("64:ff9b::/96", "IPv4-IPv6 Translation (NAT64)", "RFC 6052"),
        ("64:ff9b:1::/48", "IPv4-IPv6 Translation (NAT64)", "RFC 8215"),
        ("100::/64", "Discard-Only Address Block", "RFC 6666"),
        ("100:0:0:1::/64", "Dummy IPv6 Prefix", "RFC 9780"),
        ("2001::/23", "IETF Protocol Assignments", "RFC 2928"),
        ("2001::/32", "Teredo", "RFC 4380, RFC 8190"),
        ("2001:1::1/128", "Port Control Protocol Anycast", "RFC 7723"),
        ("2001:1::2/128", "Traversal Using Relays around NAT Anycast", "RFC 8155"),
        ("2001:1::3/128", "DNS-SD Service Registration Protocol Anycast", "RFC 9665"),
        ("2001:2::/48", "Benchmarking", "RFC 5180"),
        ("2001:3::/32", "AMT", "RFC 7450"),
        ("2001:4:112::/48", "AS112-v6", "RFC 7535"),
        ("2001:10::/28", "Deprecated (previously ORCHID)", "RFC 4843"),
        ("2001:20::/28", "ORCHIDv2", "RFC 7343"),
        ("2001:30::/28", "Drone Remote ID Protocol Entity Tags", "RFC 9374"),
        ("2001:db8::/32", "Documentation", "RFC 3849"),
        ("2002::/16", "6to4", "RFC 3056"),
        ("2620:4f:8000::/48", "Direct Delegation AS112 Service", "RFC 7534"),
        ("3fff::/20", "Documentation", "RFC 9637"),
        ("5f00::/16", "Segment Routing (SRv6) SIDs", "RFC 9602"),
        ("fc00::/7", "Unique-Local", "RFC 4193, RFC 8190"),
        ("fe80::/10", "Link-Local Unicast", "RFC 4291"),
        # In neither registry.
        ("168.63.129.16/32", "Platform service of Azure's virtual machines", "Microsoft"),
        ("224.0.0.0/4", "Multicast", "RFC 5771"),
        ("::/96", "Deprecated (IPv4-compatible)", "RFC 4291"),
        ("::ffff:0:0:0/96", "Deprecated (IPv4-translated)", "RFC 2765"),
        ("fec0::/10", "Deprecated (site-local)", "RFC 3879"),
        ("ff00::/8", "Multicast", "RFC 4291"),
    )
]
