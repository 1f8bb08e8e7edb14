"""Fixtures of the security tests: scenes, and queues of tenants with any name."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.cache import cache
from psycopg.types.json import Jsonb

from tests.console.security import oidc_provider
from tests.console.security.scenes import Scene, clear, make_scene
from tests.engine import Engine
from tests.patience import PATIENCE_SECONDS

_numbers = itertools.count(1)
_run = uuid.uuid4().hex[:6]


@pytest.fixture
def scene_of(commits: None, connect: Callable[..., psycopg.Connection[Any]]) -> Iterator[Callable[[str], Scene]]:
    """Make a scene with this text in every field; remove at the end what others would see."""
    made: list[Scene] = []

    def _make(text: str) -> Scene:
        number = next(_numbers)
        connection, name = connect(), f"scene-{_run}-{number}"
        row = connection.execute(
            "select signalbox.create_queue(%s, %s, %s)", [name, Jsonb({"group_max_in_flight": 1}), f"{number}{text}"]
        ).fetchone()
        assert row is not None
        made.append(make_scene(Engine(connection, name, row[0]), text))
        return made[-1]

    yield _make
    for scene in made:
        clear(scene)


@pytest.fixture
def provider(commits: None, settings: LazySettings) -> Iterator[oidc_provider.Provider]:
    """A provider that this console knows: `ops` there are operators here, `leads` admins, `acme` operators of acme."""
    with oidc_provider.running() as made:
        settings.OIDC_ISSUER, settings.OIDC_NAME = made.url, "Acme Sign-On"
        settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = oidc_provider.CLIENT_ID, oidc_provider.CLIENT_SECRET
        settings.OIDC_SCOPES, settings.OIDC_CLAIM = ["openid", "profile"], "groups"
        settings.OIDC_ROLES = {"ops": "operator", "leads": "admin", "all": "viewer"}
        settings.SOCIALACCOUNT_REQUESTS_TIMEOUT = PATIENCE_SECONDS
        settings.OIDC_TENANTS = [("acme", "operator", "acme")]
        cache.clear()  # the limit of sign-ons in a minute
        yield made
        cache.clear()
        User.objects.filter(username__startswith="on-").delete()
