"""No webhook reaches a special-purpose address, on every version of Python (docs/interface.md, W9).

The networks are copied from the registries, to find entries that the code's shorter list does not cover.
"""

import ipaddress

import pytest

from foundation.egress import is_allowed

IANA_IPV4 = [
    "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32",
    "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32",
    "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
    "255.255.255.255/32",
]  # fmt: skip
IANA_IPV6 = [
    "::1/128", "::/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23",
    "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48",
    "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
    "5f00::/16", "fc00::/7", "fe80::/10",
]  # fmt: skip
OTHERS = [
    "168.63.129.16/32", "224.0.0.0/4", "::/96", "::ffff:0:0:0/96", "fec0::/10", "ff00::/8",
]  # fmt: skip
# Ordinary public addresses right before and right after those networks.
NEIGHBORS = [
    "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
    "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
    "191.255.255.255", "192.0.1.0", "192.0.1.255", "192.0.3.0", "192.31.195.255", "192.31.197.0", "192.52.192.255",
    "192.52.194.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "192.175.47.255",
    "192.175.49.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0",
    "223.255.255.255",
    "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::",
    "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::", "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::",
    "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::",
]  # fmt: skip
# Outside of 2000::/3 no addresses are assigned to the public internet.
OUTSIDE_UNICAST = ["1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "5eff::1", "5f01::1", "200::1", "fbff::1"]


@pytest.mark.parametrize("text", [*IANA_IPV4, *IANA_IPV6, *OTHERS])
def test_the_first_the_middle_and_the_last_address_of_each_network_are_refused(text: str) -> None:
    network = ipaddress.ip_network(text)
    addresses = [network[0], network[network.num_addresses // 2], network[-1]]

    assert [is_allowed(address) for address in addresses] == [False, False, False]


@pytest.mark.parametrize("text", NEIGHBORS)
def test_an_ordinary_address_next_to_such_a_network_is_allowed(text: str) -> None:
    assert is_allowed(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", OUTSIDE_UNICAST)
def test_an_ipv6_address_outside_of_global_unicast_is_refused(text: str) -> None:
    assert not is_allowed(ipaddress.ip_address(text))


@pytest.mark.parametrize("address_class", [ipaddress.IPv4Address, ipaddress.IPv6Address])
def test_pythons_own_classification_of_addresses_is_never_used(
    monkeypatch: pytest.MonkeyPatch, address_class: type[ipaddress.IPv4Address]
) -> None:
    def fail(_: object) -> bool:
        raise AssertionError("the answer differs between versions of Python")

    for name in ("is_global", "is_private", "is_reserved", "is_multicast", "is_link_local", "is_loopback"):
        monkeypatch.setattr(address_class, name, property(fail))

    texts = ["192.0.0.192", "93.184.216.34", "2001:db8::1", "2606:4700::1111"]
    assert [is_allowed(ipaddress.ip_address(text)) for text in texts] == [False, True, False, True]
