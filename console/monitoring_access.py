"""Access to metrics without a login: by METRICS_TOKEN or, where none is set, from this machine without a proxy."""

from __future__ import annotations

import secrets
from ipaddress import IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port

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
    if any(name in request.META for name in FORWARDED) or _has_public_host(request):
        return False
    return _is_loopback(request.META.get("REMOTE_ADDR", ""))


def _has_public_host(request: HttpRequest) -> bool:
    """Whether the request names a host that others reach: some proxies and tunnels add no header, and keep this one."""
    host = split_domain_port(request.META.get("HTTP_HOST", ""))[0].strip("[]").removesuffix(".")
    return ("." in host or ":" in host) and not _is_loopback(host)


def _is_loopback(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback
