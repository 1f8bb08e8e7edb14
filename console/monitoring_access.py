"""Access to metrics without a login: by METRICS_TOKEN or, where none is set, from this machine without a proxy."""

from __future__ import annotations

import secrets
from ipaddress import IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest

FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA")
"""Headers of proxies. A request with one of them came from elsewhere, whatever address the server sees."""


def is_allowed(request: HttpRequest) -> bool:
    """Whether the request bears the token; where none is set, whether it comes from this machine by no proxy."""
    return bears_token(request) if settings.METRICS_TOKEN else is_local(request)


def bears_token(request: HttpRequest) -> bool:
    """Whether METRICS_TOKEN is set, and is the bearer token of the request."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    expected = settings.METRICS_TOKEN
    return bool(expected) and scheme.lower() == "bearer" and secrets.compare_digest(token.encode(), expected.encode())


def is_local(request: HttpRequest) -> bool:
    """Whether the request comes from this machine without a proxy."""
    if any(name in request.META for name in FORWARDED):
        return False
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback
