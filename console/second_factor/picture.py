"""The key of an app as a picture to be photographed, within the page: our policy allows no address of data."""

from __future__ import annotations

from allauth.mfa.adapter import get_adapter
from django.utils.safestring import SafeString, mark_safe


def of(address: str) -> SafeString:
    """The element. The address is drawn as squares: nothing of it is text in the page."""
    _, _, element = get_adapter().build_totp_svg(address).partition("?>")
    named = element.strip().replace(
        "<svg ", '<svg class="key-picture" role="img" aria-label="The key as a picture" ', 1
    )
    return mark_safe(named)  # noqa: S308 # nosec B308 B703 - it holds numbers of ours alone
