"""The check of an address that Signalbox sends to: used by the settings, and by channels that people set up."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_web_address(text: str, schemes: tuple[str, ...]) -> bool:
    """Return whether the text is a URL with one of the schemes and a host, and without a user name."""
    if not text.isascii() or not text.isprintable() or " " in text:
        return False  # it could not be requested, and the error would quote it
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        return False
