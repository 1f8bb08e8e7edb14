"""Who made the key that did something: whoever hands out keys is not the second person for what they ask."""

from __future__ import annotations

from datetime import datetime

from console.api_keys.key import ACTOR_PREFIX
from console.api_keys.models import ApiKey


def is_behind(person: str, actor: str, at: datetime) -> bool:
    """Whether `actor` is this person, or a key that this person made: names of keys are given anew, so as of then."""
    if not actor.startswith(ACTOR_PREFIX):
        return actor == person
    keys = ApiKey.objects.filter(name=actor.removeprefix(ACTOR_PREFIX), created_at__lte=at)
    key = keys.order_by("-api_key_id").first()
    return key is not None and key.created_by == person
