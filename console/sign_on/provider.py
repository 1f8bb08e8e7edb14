"""The provider that settings name, as allauth knows it; with what allauth leaves to us.

allauth sends no nonce, takes an identity token unread for its signature, believes whatever issuer the provider's
document names, and never compares the two answers about who it is. Here each of these is checked, or nobody comes in.
"""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from console.sign_on import documents, tokens
from console.sign_on.faults import Fault

LONGEST_SUBJECT = 191  # of the column; the standard has 255, and nobody uses them


def name() -> str:
    """What the button says; empty where there is no sign-on."""
    return settings.OIDC_NAME if settings.OIDC_ISSUER else ""


class Provider(OpenIDConnectProvider):
    """People are known by issuer and subject, and by nothing else: no address of mail leads to an account."""

    def extract_uid(self, data: dict[str, Any]) -> str:
        subject: str = data["id_token"]["sub"]
        return subject

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Nothing of what a provider tells is kept."""
        return {}

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        return {}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[Any]:
        return []


class Exchange(OpenIDConnectOAuth2Adapter):
    """One way there and back."""

    def get_provider(self) -> Provider:
        return provider_of(self.request)

    @property
    def openid_config(self) -> dict[str, Any]:
        return documents.of(settings.OIDC_ISSUER)

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return request.build_absolute_uri(reverse("sign_on_callback"))

    def parse_token(self, data: Any) -> SocialToken:
        """Tokens are not kept: one is used for one question, and forgotten."""
        if not isinstance(data, dict) or not isinstance(data.get("access_token"), str):
            raise Fault("the provider gave no token")
        return SocialToken(token=data["access_token"])

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        """Who it is: what a checked identity token says, and what the provider adds about the same person."""
        identity = kwargs["response"].get("id_token")
        if not isinstance(identity, str):
            raise Fault("the provider gave no identity token")
        said = tokens.checked(identity, self.openid_config)
        subject = said["sub"]
        if not (isinstance(subject, str) and subject.isascii() and subject.isprintable() and subject.strip()):
            raise Fault("the subject is no text of the standard's")
        if len(subject) > LONGEST_SUBJECT:
            raise Fault("the subject is too long")
        login = self.get_provider().sociallogin_from_response(request, {"id_token": said})
        login.said, login.claims = said, {**self._more(token.token, subject), **said}
        return login

    def _more(self, access_token: str, subject: str) -> dict[str, Any]:
        if "userinfo_endpoint" not in self.openid_config:
            return {}
        more = self._fetch_user_info(access_token)
        if not isinstance(more, dict) or more.get("sub") != subject:
            raise Fault("the provider's two answers are about different people")
        return more


def app() -> SocialApp:
    """allauth's row of a provider, which is in no table: the settings are the one place where one is named."""
    return SocialApp(
        provider=Provider.id,
        provider_id=settings.OIDC_ISSUER,
        name=settings.OIDC_NAME,
        client_id=settings.OIDC_CLIENT_ID,
        secret=settings.OIDC_CLIENT_SECRET,
        settings={"server_url": settings.OIDC_ISSUER, "oauth_pkce_enabled": True, "scope": settings.OIDC_SCOPES},
    )


def provider_of(request: HttpRequest) -> Provider:
    provider = Provider(request, app=app())
    provider.oauth2_adapter_class = Exchange
    return provider
