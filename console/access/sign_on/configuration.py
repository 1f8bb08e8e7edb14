"""Parser of the settings of sign-on. It imports no Django, because Django's settings are made with it."""

from __future__ import annotations

from urllib.parse import urlsplit

from console.web.server import is_loopback

ROLES = ("viewer", "operator", "admin")
MAX_ISSUER = 200  # the length of the column that stores the issuer
MAX_TENANTS = 40


def issuer(text: str) -> str:
    """Return the issuer, an https address, or http on this machine. Raises `ValueError`."""
    try:
        parts = urlsplit(text)
        named = bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        parts, named = urlsplit(""), False
    plain = text.isascii() and text.isprintable() and not set(text) & set("?#<>\"' ")
    if not (named and plain and len(text) <= MAX_ISSUER and is_safe(parts.scheme, parts.hostname or "")):
        raise ValueError("an address with https (http on this machine only), at most 200 characters, without a query")
    return text


def is_safe(scheme: str, host: str) -> bool:
    """Return whether no one between can read the traffic."""
    return scheme == "https" or (scheme == "http" and (host == "localhost" or is_loopback(host)))


def roles(items: list[str]) -> dict[str, str]:
    """Parse `ops=operator`: a value of the claim, and its role. Raises `ValueError`."""
    found: dict[str, str] = {}
    for item in items:
        value, equals, role = item.rpartition("=")
        if not equals or not value.strip() or role.strip() not in ROLES or value.strip() in found:
            raise ValueError(f"values with their roles, such as ops=operator,leads=admin, each once, not {item!r}")
        found[value.strip()] = role.strip()
    return found


def tenants(items: list[str]) -> list[tuple[str, str, str]]:
    """Parse `acme-ops=operator@acme`: a value of the claim, its role, and the tenant. Raises `ValueError`."""
    found = []
    for item in items:
        value, equals, granted = item.rpartition("=")
        role, at, tenant = (one.strip() for one in granted.partition("@"))
        if not (equals and value.strip() and at and role in ROLES and 0 < len(tenant) <= 100):
            raise ValueError(f"values with a role and a tenant, such as acme-ops=operator@acme, not {item!r}")
        found.append((value.strip(), role, tenant))
    if len(found) > MAX_TENANTS:
        raise ValueError(f"{MAX_TENANTS} at most, not {len(found)}")
    return found
