"""Webhooks: a notification as a signed POST, or as a message of a chat, at public addresses only.

The environment or an administrator sets the URL; no message does. Plain HTTP must be allowed by a setting, since others
on the network can read the alert. A host name that resolves to a private address (this machine, its network, a cloud's
metadata service) is refused. The connection goes to the address that was checked, so a name that resolves differently a
moment later is harmless. Redirects are not followed, proxies are not used, and an answer that never ends is cut off.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from django.conf import settings

from metrics.alerts import message_text
from metrics.alerts.models import Notification

TIMEOUT_SECONDS = 10.0
"""Limit of each wait for the receiver."""
MAX_SECONDS = 30.0
"""Limit of the whole exchange, after the connection."""
MAX_ADDRESSES = 3
"""Limit of the addresses of a host that are tried one after another."""
MAX_ANSWER_BYTES = 400
TIMESTAMP_HEADER = "Signalbox-Timestamp"
SIGNATURE_HEADER = "Signalbox-Signature"
ID_HEADER = "Signalbox-Notification"

Address = IPv4Address | IPv6Address
NAT64 = IPv6Network("64:ff9b::/96")  # the last 32 bits are an address of IPv4
GLOBAL = IPv6Network("2000::/3")  # the public addresses of IPv6; no site-local ones such as fec0::/10


@dataclass(frozen=True)
class Answer:
    """The status of an answer, and the beginning of its text, which may quote the URL."""

    status: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.status}: {self.text}" if self.text else str(self.status)


class NotAcceptedError(Exception):
    """The receiver did not answer with a status from 200 to 299. Its message leaves out the text of the answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"answered {answer.status}")
        self.answer = answer


class PrivateAddressError(OSError):
    """The webhook's host name resolves to a private address, which ALERTS_WEBHOOK_PRIVATE does not allow."""


def send(notification: Notification, url: str, secret: str) -> Answer:
    """POST a signed notification. Raises `NotAcceptedError`, and the errors of `post`."""
    body = json.dumps(notification.news, separators=(",", ":")).encode()
    timestamp = str(int(time.time()))
    headers = {
        ID_HEADER: str(notification.pk),
        TIMESTAMP_HEADER: timestamp,
        SIGNATURE_HEADER: sign(secret, timestamp, body),
    }
    return _accepted(url, body, headers)


def send_to_chat(notification: Notification, url: str) -> Answer:
    """POST a notification as a message of Slack's incoming webhooks, which other chats accept too. Raises as `send`."""
    return _accepted(url, json.dumps({"text": message_text.chat(notification.news)}).encode(), {})


def _accepted(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    headers = {"Content-Type": "application/json", "User-Agent": "Signalbox", **headers}
    answer = post(url, body, headers, TIMEOUT_SECONDS)
    if not 200 <= answer.status < 300:
        raise NotAcceptedError(answer)
    return answer


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return `sha256=` and the HMAC-SHA256 of the timestamp, a dot and the body, in hexadecimal digits."""
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float) -> Answer:
    """POST and return the answer. Raises `OSError` and `http.client.HTTPException` when none comes."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    with _socket(addresses_of(host, port), port, timeout_seconds) as plain, _cut_off_in_time(plain):
        connection = _CLASSES[parts.scheme](host, port, timeout=timeout_seconds)
        connection.sock = _secured(plain, host) if parts.scheme == "https" else plain
        try:
            connection.request("POST", path, body, dict(headers))
            response = connection.getresponse()
            return Answer(response.status, _text(response.read(MAX_ANSWER_BYTES)))
        finally:
            connection.close()


def is_private_literal(url: str) -> bool:
    """Tell whether the host of the URL is a private address that no setting allows. Looks up no name."""
    try:
        address = ip_address((urlsplit(url).hostname or "").partition("%")[0])
    except ValueError:
        return False
    return not settings.ALERTS_WEBHOOK_PRIVATE and not is_public(address)


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


_PORTS = {"http": http.client.HTTP_PORT, "https": http.client.HTTPS_PORT}
_CLASSES: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}


def _secured(plain: socket.socket, host: str) -> ssl.SSLSocket:
    """Encrypt the connection. TLS checks the host name, although the connection was made to an address."""
    return ssl.create_default_context().wrap_socket(plain, server_hostname=host)


@contextmanager
def _cut_off_in_time(plain: socket.socket) -> Iterator[None]:
    """Shut the connection after MAX_SECONDS: its timeout limits each read, not their sum.

    A duplicate of the socket stays valid while TLS takes over the original.
    """
    passed = threading.Event()
    with plain.dup() as guard:
        timer = threading.Timer(MAX_SECONDS, _shut, [guard, passed])
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            if passed.is_set():  # a part of an answer may look like a whole one
                raise TimeoutError(f"no complete answer within {MAX_SECONDS:g} s")


def _shut(guard: socket.socket, passed: threading.Event) -> None:
    passed.set()
    with suppress(OSError):
        guard.shutdown(socket.SHUT_RDWR)


def _text(body: bytes) -> str:
    """Read the beginning of an answer as one line of printable text."""
    words = " ".join(body.decode("utf-8", "replace").split())
    return "".join(character for character in words if character.isprintable())


def _socket(addresses: list[str], port: int, timeout_seconds: float) -> socket.socket:
    """Connect to the first address that answers."""
    tried = addresses[:MAX_ADDRESSES]
    for position, address in enumerate(tried, 1):
        try:
            return socket.create_connection((address, port), timeout_seconds)
        except OSError:
            if position == len(tried):
                raise
    raise OSError("the name has no address")
