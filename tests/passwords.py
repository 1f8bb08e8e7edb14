"""Passwords of made-up people need not be hard to guess; other processes of a test check them as usual."""

from __future__ import annotations

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class QuickHasher(PBKDF2PasswordHasher):
    iterations = 1_000
