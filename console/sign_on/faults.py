"""What is wrong with a provider's answer, in words of ours: these may be logged, those of others may quote anything."""

from __future__ import annotations

from allauth.socialaccount.providers.oauth2.client import OAuth2Error


class Fault(OAuth2Error):  # noqa: N818 - it names what happened
    """The provider's answer is not as it has to be."""
