"""The document in which a provider says where it is asked, and its keys: read by https, believed for a while."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from allauth.socialaccount.adapter import get_adapter
from django.core.cache import cache

from console.sign_on import configuring
from console.sign_on.faults import Fault

KEPT_SECONDS = 300
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")
OPTIONAL = ("userinfo_endpoint",)


def of(issuer: str) -> dict[str, Any]:
    """What the issuer's document says. Raises `Fault`, or what `requests` raises."""
    key = f"sign-on:{issuer}"
    known: dict[str, Any] | None = cache.get(key)
    if known is None:
        known = _checked(_asked(f"{issuer.rstrip('/')}/.well-known/openid-configuration"), issuer)
        cache.set(key, known, KEPT_SECONDS)
    return known


def keys(address: str) -> Any:
    """The keys that it signs with, as they are now: it may have changed them."""
    return _asked(address)


def _asked(address: str) -> Any:
    with get_adapter().get_requests_session() as session:
        answer = session.get(address)
        answer.raise_for_status()
        return answer.json()


def _checked(document: Any, issuer: str) -> dict[str, Any]:
    if not isinstance(document, dict) or document.get("issuer") != issuer:
        raise Fault("the provider's document is of another issuer than OIDC_ISSUER")
    for name in (*NEEDED, *(one for one in OPTIONAL if one in document)):
        parts = urlsplit(document[name]) if isinstance(document.get(name), str) else urlsplit("")
        if not configuring.is_safe(parts.scheme, parts.hostname or ""):
            raise Fault(f"the provider's document has no safe address for {name}")
    return document
