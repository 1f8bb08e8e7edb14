"""The way out for webhooks: to an address of the internet, looked up once, and nowhere else from there.

A name that leads to a private address (of this machine, its network, a cloud's metadata) is refused, so that nobody who
holds the name reaches what only we can reach. The connection goes to the very address that was looked at: a name that
answers otherwise a moment later gains nothing. Redirects are answers like others, and proxies are not asked.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from django.conf import settings

Address = IPv4Address | IPv6Address
NAT64 = IPv6Network("64:ff9b::/96")  # the last 32 bits are an address of IPv4
GLOBAL = IPv6Network("2000::/3")  # all that was ever given out; not fec0::/10, nor what else holds an address of IPv4


class PrivateAddressError(OSError):
    """The name of the receiver leads into a private network, and ALERTS_WEBHOOK_PRIVATE does not allow that."""


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float) -> int:
    """The status of the answer. Raises `OSError` and `http.client.HTTPException` when none comes."""
    parts = urlsplit(url)
    connection = _connection(parts.scheme, parts.hostname or "", parts.port, timeout_seconds)
    try:
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        connection.request("POST", path, body, dict(headers))
        return connection.getresponse().status
    finally:
        connection.close()


def addresses_of(host: str, port: int) -> list[str]:
    """Where the name leads, looked up now. Raises `PrivateAddressError` when one of them is private."""
    found = [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    if not settings.ALERTS_WEBHOOK_PRIVATE and not all(is_public(ip_address(one.partition("%")[0])) for one in found):
        raise PrivateAddressError(PrivateAddressError.__doc__)
    return found


def is_public(address: Address) -> bool:
    """Whether it is one of the internet's, whichever way it is written."""
    if isinstance(address, IPv6Address):
        if inner := address.ipv4_mapped or address.sixtofour:
            return is_public(inner)
        if address in NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
        return address in GLOBAL and address.is_global
    return address.is_global and not address.is_multicast


def _connection(scheme: str, host: str, port: int | None, timeout_seconds: float) -> http.client.HTTPConnection:
    """Connected, and with TLS sure of the name, although it went to an address."""
    if scheme == "https":
        secure = http.client.HTTPSConnection(host, port or 443, timeout=timeout_seconds)
        plain = _socket(addresses_of(host, secure.port), secure.port, timeout_seconds)
        secure.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        return secure
    connection = http.client.HTTPConnection(host, port or 80, timeout=timeout_seconds)
    connection.sock = _socket(addresses_of(host, connection.port), connection.port, timeout_seconds)
    return connection


def _socket(addresses: list[str], port: int, timeout_seconds: float) -> socket.socket:
    """To the first that answers."""
    for place, address in enumerate(addresses, 1):
        try:
            return socket.create_connection((address, port), timeout_seconds)
        except OSError:
            if place == len(addresses):
                raise
    raise OSError("the name leads nowhere")
