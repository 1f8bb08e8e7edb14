"""Secrets of keys that sign requests: encrypted in the database with a key that is derived from SECRET_KEY."""

from __future__ import annotations

import logging

from cryptography.fernet import InvalidToken

from queues.encryption import cipher

PURPOSE = b"signalbox: secrets of keys that sign requests"

logger = logging.getLogger(__name__)


def sealed(secret: str) -> str:
    """Return the encrypted form of a secret."""
    return cipher(PURPOSE).encrypt(secret.encode()).decode()


def opened(text: str) -> str | None:
    """Return the secret; None if it was encrypted with a secret key that is not known here."""
    try:
        return cipher(PURPOSE).decrypt(text.encode()).decode()
    except InvalidToken:
        logger.error("A key's secret was encrypted with another SECRET_KEY: see SECRET_KEY_FALLBACKS")
        return None
