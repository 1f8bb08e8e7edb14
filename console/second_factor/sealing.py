"""Secrets of second factors are encrypted before they are written: who reads the database alone can reckon no codes."""

from __future__ import annotations

import base64
import hashlib
import hmac

from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser

PURPOSE = b"signalbox: secrets of second factors"


class Unreadable(Exception):  # noqa: N818 - it names what happened
    """A secret that was encrypted with another SECRET_KEY."""


class SealingAdapter(DefaultMFAAdapter):
    """What allauth asks of us: how secrets are kept, and how people are called in their app."""

    def encrypt(self, text: str) -> str:
        return _box().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return _box().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            raise Unreadable(Unreadable.__doc__) from None

    def get_totp_label(self, user: AbstractBaseUser) -> str:
        return f"{self.get_totp_issuer()}:{user.get_username()}"


def _box() -> MultiFernet:
    """Encrypts with SECRET_KEY, opens also what those before it encrypted."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    derived = [hmac.digest(key.encode(), PURPOSE, hashlib.sha256) for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(one)) for one in derived])
