"""Webhooks: a notification as a signed POST to a URL of the settings, at public addresses only.

Only the environment sets the URL; no page and no message does. Plain HTTP must be allowed by a setting, since others on
the network can read the alert. A host name that resolves to a private address (this machine, its network, a cloud's
metadata service) is refused. The connection goes to the address that was checked, so a name that resolves differently a
moment later is harmless. Redirects are not followed, and proxies are not used.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import socket
import ssl
import time
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from django.conf import settings

from metrics.alerts.models import Notification

TIMEOUT_SECONDS = 10.0
TIMESTAMP_HEADER = "Signalbox-Timestamp"
SIGNATURE_HEADER = "Signalbox-Signature"
ID_HEADER = "Signalbox-Notification"

Address = IPv4Address | IPv6Address
NAT64 = IPv6Network("64:ff9b::/96")  # the last 32 bits are an address of IPv4
GLOBAL = IPv6Network("2000::/3")  # the public addresses of IPv6; no site-local ones such as fec0::/10


class NotAcceptedError(Exception):
    """The receiver did not answer with a status from 200 to 299."""


class PrivateAddressError(OSError):
    """The webhook's host name resolves to a private address, which ALERTS_WEBHOOK_PRIVATE does not allow."""


def send(notification: Notification) -> None:
    """POST a notification. Raises `NotAcceptedError`, and the errors of `post`."""
    body = json.dumps(notification.news, separators=(",", ":")).encode()
    timestamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Signalbox",
        ID_HEADER: str(notification.pk),
        TIMESTAMP_HEADER: timestamp,
        SIGNATURE_HEADER: sign(settings.ALERTS_WEBHOOK_SECRET, timestamp, body),
    }
    status = post(notification.target, body, headers, TIMEOUT_SECONDS)
    if not 200 <= status < 300:
        raise NotAcceptedError(f"answered {status}")


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return `sha256=` and the HMAC-SHA256 of the timestamp, a dot and the body, in hexadecimal digits."""
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float) -> int:
    """POST and return the status of the answer. Raises `OSError` and `http.client.HTTPException` when none comes."""
    parts = urlsplit(url)
    connection = _connection(parts.scheme, parts.hostname or "", parts.port, timeout_seconds)
    try:
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        connection.request("POST", path, body, dict(headers))
        return connection.getresponse().status
    finally:
        connection.close()


def addresses_of(host: str, port: int) -> list[str]:
    """Resolve a host name. Raises `PrivateAddressError` when one of its addresses is private."""
    addresses = [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    public = all(is_public(ip_address(address.partition("%")[0])) for address in addresses)
    if not settings.ALERTS_WEBHOOK_PRIVATE and not public:
        raise PrivateAddressError(PrivateAddressError.__doc__)
    return addresses


def is_public(address: Address) -> bool:
    """Tell whether an address is public; an IPv6 address that contains one of IPv4 is judged by that."""
    if isinstance(address, IPv6Address):
        if inner := address.ipv4_mapped or address.sixtofour:
            return is_public(inner)
        if address in NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
        return address in GLOBAL and address.is_global
    return address.is_global and not address.is_multicast


def _connection(scheme: str, host: str, port: int | None, timeout_seconds: float) -> http.client.HTTPConnection:
    """Connect to an address of the host; TLS still checks the name."""
    secure = scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(host, port or kind.default_port, timeout=timeout_seconds)
    plain = _socket(addresses_of(host, connection.port), connection.port, timeout_seconds)
    connection.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host) if secure else plain
    return connection


def _socket(addresses: list[str], port: int, timeout_seconds: float) -> socket.socket:
    """Connect to the first address that answers."""
    for position, address in enumerate(addresses, 1):
        try:
            return socket.create_connection((address, port), timeout_seconds)
        except OSError:
            if position == len(addresses):
                raise
    raise OSError("the name has no address")
