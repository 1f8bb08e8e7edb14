"""Codes of apps that are surely wrong: any six digits may be the right ones of some key."""

from __future__ import annotations

from allauth.mfa.totp.internal import auth as totp


def wrong(secret: str) -> str:
    """Six digits that this key does not show now."""
    right = {totp.format_hotp_value(totp.hotp_value(secret, step)) for step in totp.yield_hotp_counters_from_time()}
    return next(text for number in range(len(right) + 1) if (text := f"{number:06}") not in right)
