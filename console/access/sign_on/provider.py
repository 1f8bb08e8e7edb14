"""The provider that settings name, as allauth's provider, with the checks that allauth lacks.

allauth sends no nonce, does not check the signature of an identity token, accepts any issuer in the provider's
document, and never compares the subjects of both answers. Each of these is checked here before a login.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from console.access.sign_on import configuration

MAX_SUBJECT = 191  # length of the column; the standard allows 255, which no provider uses
DOCUMENT_SECONDS = 300
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
OPTIONAL_ENDPOINTS = ("userinfo_endpoint",)
# Asymmetric signatures only: with a shared key, a client who knows the secret could forge tokens.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
LEEWAY_SECONDS = 60  # tolerated difference of the clocks
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]


class Fault(OAuth2Error):  # noqa: N818 - it names what happened
    """The provider's answer is invalid."""


def name() -> str:
    """Return the label of the button; empty without sign-on."""
    return settings.OIDC_NAME if settings.OIDC_ISSUER else ""


class Provider(OpenIDConnectProvider):
    """A provider whose people are known by issuer and subject. No email address leads to an account."""

    def extract_uid(self, data: dict[str, Any]) -> str:
        subject: str = data["id_token"]["sub"]
        return subject

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Store none of the provider's data."""
        return {}

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        return {}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[Any]:
        return []


class Exchange(OpenIDConnectOAuth2Adapter):
    """One login at the provider, from the redirect to the answer."""

    def get_provider(self) -> Provider:
        return provider_of(self.request)

    @property
    def openid_config(self) -> dict[str, Any]:
        """Return the provider's discovery document. Raises `Fault`, or an error of `requests`."""
        issuer = settings.OIDC_ISSUER
        known: dict[str, Any] = cache.get_or_set(f"sign-on:{issuer}", lambda: _document(issuer), DOCUMENT_SECONDS)
        return known

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return request.build_absolute_uri(reverse("sign_on_callback"))

    def parse_token(self, data: Any) -> SocialToken:
        """Make allauth's token object. Tokens are not stored: each is used once."""
        if not isinstance(data, dict) or not isinstance(data.get("access_token"), str):
            raise Fault("the provider gave no token")
        return SocialToken(token=data["access_token"])

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        """Identify the person by a checked identity token and by the provider's user info about the same subject."""
        identity = kwargs["response"].get("id_token")
        if not isinstance(identity, str):
            raise Fault("the provider gave no identity token")
        said = checked_token(identity, self.openid_config)
        subject = said["sub"]
        if not (isinstance(subject, str) and subject.isascii() and subject.isprintable() and subject.strip()):
            raise Fault("the subject is not printable ASCII text")
        if len(subject) > MAX_SUBJECT:
            raise Fault("the subject is too long")
        login = self.get_provider().sociallogin_from_response(request, {"id_token": said})
        login.said, login.claims = said, {**self._more(token.token, subject), **said}
        return login

    def _more(self, access_token: str, subject: str) -> dict[str, Any]:
        if "userinfo_endpoint" not in self.openid_config:
            return {}
        more = self._fetch_user_info(access_token)
        if not isinstance(more, dict) or more.get("sub") != subject:
            raise Fault("the identity token and the user info have different subjects")
        return more


def provider_of(request: HttpRequest) -> Provider:
    """Return the provider. It has no row in a table, because settings alone name it."""
    app = SocialApp(
        provider=Provider.id,
        provider_id=settings.OIDC_ISSUER,
        name=settings.OIDC_NAME,
        client_id=settings.OIDC_CLIENT_ID,
        secret=settings.OIDC_CLIENT_SECRET,
        settings={"server_url": settings.OIDC_ISSUER, "oauth_pkce_enabled": True, "scope": settings.OIDC_SCOPES},
    )
    provider = Provider(request, app=app)
    provider.oauth2_adapter_class = Exchange
    return provider


def _document(issuer: str) -> dict[str, Any]:
    document = _asked(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if not isinstance(document, dict) or document.get("issuer") != issuer:
        raise Fault("the provider's document is of another issuer than OIDC_ISSUER")
    for name in (*ENDPOINTS, *(one for one in OPTIONAL_ENDPOINTS if one in document)):
        parts = urlsplit(document[name]) if isinstance(document.get(name), str) else urlsplit("")
        if not configuration.is_safe(parts.scheme, parts.hostname or ""):
            raise Fault(f"the provider's document has no safe address for {name}")
    return document


def _asked(address: str) -> Any:
    with get_adapter().get_requests_session() as session:
        answer = session.get(address)
        answer.raise_for_status()
        return answer.json()


def checked_token(token: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return the claims of an identity token after checks of signature, audience and time. Raises `Fault`."""
    try:
        key = _key(token, _asked(document["jwks_uri"]))  # the current keys: the provider may have changed them
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
        raise Fault("the identity token was made for another client")
    return said


def answers(said: dict[str, Any], nonce: object) -> bool:
    """Return whether the token answers this login: tokens of other logins have other nonces."""
    given = said.get("nonce")
    return isinstance(given, str) and isinstance(nonce, str) and bool(nonce) and constant_time_compare(given, nonce)


def logged_in_at(said: dict[str, Any]) -> float:
    """Return the time of the login at the provider, in seconds since 1970; 0 if the provider does not say."""
    at = said.get("auth_time")
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) and at > 0 else 0.0


def _key(token: str, known: Any) -> jwt.PyJWK:
    """Return the key that the token names; a token without a name needs a provider with exactly one key."""
    named = jwt.get_unverified_header(token).get("kid")
    keys = [one for one in jwt.PyJWKSet.from_dict(known).keys if one.public_key_use in (None, "sig")]
    found = [one for one in keys if one.key_id == named] if named is not None else keys
    if len(found) != 1:
        raise Fault("the identity token was signed with a key that the provider does not name")
    return found[0]
