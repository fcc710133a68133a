"""Which IP addresses lie in the public Internet. All others a program could use to reach what only the host should."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_PUBLIC_V6 = IPv6Network("2000::/3")
"""All that is given out. Outside lie loopback, unique local, link-local, site-local, multicast and mapped addresses."""
_NAT64 = IPv6Network("64:ff9b::/96")
_OTHER_V4 = (
    IPv4Network("192.0.0.0/24"),  # Protocols' own.
    IPv4Network("192.88.99.0/24"),  # Relays of 6to4.
    IPv4Network("168.63.129.16/32"),  # A cloud's host, to each of its machines.
)
_OTHER_V6 = (
    IPv6Network("2001::/23"),  # Teredo and other protocols' own.
    IPv6Network("2001:db8::/32"),  # Documentation.
    IPv6Network("2002::/16"),  # 6to4, which wraps an IPv4 address.
    IPv6Network("3fff::/20"),  # Documentation.
)


def is_public(text: str) -> bool:
    """Whether `text` is the address of a machine that anybody on the Internet could talk to."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return _is_public_v4(address)
    if address in _NAT64:  # How a network without IPv4 reaches an IPv4 address: the last 32 bits.
        return _is_public_v4(IPv4Address(int(address) & 0xFFFF_FFFF))
    return _is_public_v6(address)


def _is_public_v4(address: IPv4Address) -> bool:
    # Not global: this network, private, shared by carriers, loopback, link-local, documentation, benchmarks, reserved.
    return address.is_global and not address.is_multicast and not any(address in network for network in _OTHER_V4)


def _is_public_v6(address: IPv6Address) -> bool:
    return address in _PUBLIC_V6 and address.is_global and not any(address in network for network in _OTHER_V6)
