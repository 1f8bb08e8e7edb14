"""Encryption of secrets at rest, with a key that is derived from SECRET_KEY for each purpose."""

from __future__ import annotations

import base64
import hashlib
import hmac

from cryptography.fernet import Fernet, MultiFernet
from cryptography.fernet import InvalidToken as InvalidToken
from django.conf import settings


def cipher(purpose: bytes) -> MultiFernet:
    """Return a cipher that encrypts with SECRET_KEY, and also decrypts with the fallback keys."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    derived = [hmac.digest(key.encode(), purpose, hashlib.sha256) for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(one)) for one in derived])
