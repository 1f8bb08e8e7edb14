"""Who made the key that did something: what a key asks for was asked for by whoever made the key."""

from __future__ import annotations

from datetime import datetime

from console.api_keys.key import ACTOR_PREFIX
from console.api_keys.models import ApiKey


def person_behind(actor: str, at: datetime) -> str:
    """The person who acted, or who made the key that did: names of keys are given anew, so as of then."""
    if not actor.startswith(ACTOR_PREFIX):
        return actor
    keys = ApiKey.objects.filter(name=actor.removeprefix(ACTOR_PREFIX), created_at__lte=at)
    key = keys.order_by("-api_key_id").first()
    return key.created_by if key is not None else actor
