"""The person behind an API key: a request of a key counts as a request of the person who made the key."""

from __future__ import annotations

from datetime import datetime

from console.api_keys.key import ACTOR_PREFIX
from console.api_keys.models import ApiKey


def person_behind(actor: str, at: datetime) -> str:
    """The person who acted, or who made the key that acted. A key's name can be used again, so `at` selects the key."""
    if not actor.startswith(ACTOR_PREFIX):
        return actor
    keys = ApiKey.objects.filter(name=actor.removeprefix(ACTOR_PREFIX), created_at__lte=at)
    key = keys.order_by("-api_key_id").first()
    return key.created_by if key is not None else actor
