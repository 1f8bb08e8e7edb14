"""Sessions in the database under hashes of their keys, so that a reader of the table has no usable cookie.

A key has 165 random bits, so a plain hash cannot be reversed, and a new SECRET_KEY ends no session.
"""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

STORED_CHARACTERS = 40  # what the column has room for: 160 bits


def stored_key(session_key: str) -> str:
    """Return the hash under which the table stores a session."""
    return hashlib.sha256(f"signalbox.session:{session_key}".encode()).hexdigest()[:STORED_CHARACTERS]


class SessionStore(db.SessionStore):
    """Django's session store with hashed keys. The class keeps its name, because Django's signature contains it."""

    def _get_session_from_db(self) -> Any:
        found = self._alive().first() if self.session_key else None
        if found is None:
            self._session_key = None
        return found

    async def _aget_session_from_db(self) -> Any:
        found = await self._alive().afirst() if self.session_key else None
        if found is None:
            self._session_key = None
        return found

    def exists(self, session_key: str) -> bool:
        return super().exists(stored_key(session_key))

    async def aexists(self, session_key: str) -> bool:
        return bool(await super().aexists(stored_key(session_key)))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        return self._as_stored(super().create_model_instance(data))

    async def acreate_model_instance(self, data: dict[str, Any]) -> Any:
        return self._as_stored(await super().acreate_model_instance(data))

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            self.model.objects.filter(pk=stored_key(key)).delete()

    async def adelete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            await self.model.objects.filter(pk=stored_key(key)).adelete()

    def _alive(self) -> Any:
        return self.model.objects.filter(pk=stored_key(self.session_key), expire_date__gt=timezone.now())

    def _as_stored(self, row: Any) -> Any:
        row.session_key = stored_key(row.session_key)
        return row


def end_sessions(person: AbstractBaseUser, *, but: str | None = None) -> int:
    """End all sessions of a person except the one with the cookie `but`; return how many ended.

    No column has the person, so every session is decoded: about as many as there were logins in a day.
    """
    kept = stored_key(but) if but else None
    theirs = [
        one.session_key
        for one in Session.objects.filter(expire_date__gt=timezone.now()).iterator()
        if one.get_decoded().get(SESSION_KEY) == str(person.pk) and one.session_key != kept
    ]
    ended, _ = Session.objects.filter(pk__in=theirs).delete()
    return int(ended)
