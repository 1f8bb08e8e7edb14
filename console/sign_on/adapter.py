"""What allauth asks us: which provider there is, who comes in, and what people are told when something is wrong."""

from __future__ import annotations

import logging
from typing import Any

import requests
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from django.conf import settings
from django.http import HttpRequest

from console.sign_on import arriving, provider
from console.sign_on.faults import Fault

logger = logging.getLogger(__name__)


class SignOnAdapter(DefaultSocialAccountAdapter):
    """Every way of allauth's that could let somebody in leads to `arriving`, and nowhere else."""

    def list_apps(self, request: HttpRequest, provider: Any = None, client_id: Any = None) -> list[SocialApp]:
        return []  # whatever stands in allauth's table lets nobody in

    def get_provider(self, request: HttpRequest, provider: Any, client_id: Any = None) -> provider.Provider:
        return _only_one(request, provider)

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False

    def get_requests_session(self) -> requests.Session:
        """The provider is asked where it said, and nobody leads us elsewhere with what is told to it."""
        session: requests.Session = super().get_requests_session()
        session.max_redirects = 0
        return session

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        raise ImmediateHttpResponse(arriving.arrive(request, sociallogin))

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: str | None = None,
        exception: Exception | None = None,
        extra_context: Any = None,
    ) -> None:
        if error == AuthError.CANCELLED:
            raise ImmediateHttpResponse(arriving.refuse(request, "You did not sign in there."))
        why = str(exception) if isinstance(exception, Fault) else type(exception).__name__
        logger.warning("A sign-on failed: %s", why if exception else "there is no such question")
        raise ImmediateHttpResponse(arriving.fail(request, exception))


def _only_one(request: HttpRequest, name: Any) -> provider.Provider:
    if name not in (settings.OIDC_ISSUER, provider.Provider.id):
        raise SocialApp.DoesNotExist
    return provider.provider_of(request)
