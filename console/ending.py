"""Ends the sessions of one person: nobody comes back in by one that was open somewhere, or that somebody stole."""

from __future__ import annotations

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.models import Session
from django.utils import timezone

from console.session_store import stored_key


def end_sessions(person: AbstractBaseUser, *, but: str | None = None) -> int:
    """End all sessions of a person, except (`but`) the one with this cookie; returns how many were ended.

    The person is encoded within the session, so each session is decoded: there are about as many as logins of a day.
    """
    kept = stored_key(but) if but else None
    theirs = [
        one.session_key
        for one in Session.objects.filter(expire_date__gt=timezone.now()).iterator()
        if one.get_decoded().get(SESSION_KEY) == str(person.pk) and one.session_key != kept
    ]
    ended, _ = Session.objects.filter(pk__in=theirs).delete()
    return int(ended)
