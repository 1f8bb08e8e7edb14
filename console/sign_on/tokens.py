"""An identity token, checked: who signed it, for whom, until when, and that it answers our own question."""

from __future__ import annotations

from typing import Any

import jwt
from django.conf import settings
from django.utils.crypto import constant_time_compare

from console.sign_on import documents
from console.sign_on.faults import Fault

# Signatures by a key that we cannot have: with a shared one whoever knows the secret could write tokens.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
LEEWAY_SECONDS = 60  # clocks differ
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]


def checked(token: str, document: dict[str, Any]) -> dict[str, Any]:
    """What it says. Raises `Fault` for whatever is not as it has to be."""
    try:
        key = _key(token, documents.keys(document["jwks_uri"]))
        said: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            audience=settings.OIDC_CLIENT_ID,
            issuer=settings.OIDC_ISSUER,
            leeway=LEEWAY_SECONDS,
            options={"require": REQUIRED},
        )
    except jwt.PyJWTError as error:
        raise Fault(f"the identity token is not right ({type(error).__name__})") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Fault("the identity token or the provider's keys cannot be read") from error
    audience = said["aud"]
    if said.get("azp", settings.OIDC_CLIENT_ID) != settings.OIDC_CLIENT_ID or (
        isinstance(audience, list) and len(audience) > 1 and "azp" not in said
    ):
        raise Fault("the identity token was made for somebody else")
    return said


def answers(said: dict[str, Any], nonce: object) -> bool:
    """Whether it was made for this very question: tokens of other logins have other nonces."""
    given = said.get("nonce")
    return isinstance(given, str) and isinstance(nonce, str) and bool(nonce) and constant_time_compare(given, nonce)


def logged_in_at(said: dict[str, Any]) -> float:
    """When the person logged in at the provider, in seconds since 1970; 0 when it does not say."""
    at = said.get("auth_time")
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) and at > 0 else 0.0


def _key(token: str, known: Any) -> jwt.PyJWK:
    """The key that the token names; where it names none there has to be one alone."""
    named = jwt.get_unverified_header(token).get("kid")
    keys = [one for one in jwt.PyJWKSet.from_dict(known).keys if one.public_key_use in (None, "sig")]
    found = [one for one in keys if one.key_id == named] if named is not None else keys
    if len(found) != 1:
        raise Fault("the identity token was signed with a key that the provider does not name")
    return found[0]
