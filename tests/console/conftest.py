"""Fixtures of the console's tests: a browser for each role, and an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import Group, User
from django.template.base import Template
from whitenoise.middleware import WhiteNoiseMiddleware

from console.access.roles import ROLES
from console.overview import standings
from tests.console.browsers import Browser
from tests.dlq.dead_letter_scenes import make_dead_letter_scene, scene

__all__ = ["make_dead_letter_scene", "scene"]

UNWATCHED_RENDER = Template._render
"""How a template is rendered before Django's test environment keeps a copy of each context."""


@pytest.fixture(scope="session", autouse=True)
def unwatched_templates(django_test_environment: None) -> Iterator[None]:
    """Pages are rendered as in production; tests read what a person reads, and no contexts."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Template, "_render", UNWATCHED_RENDER)
        yield


@pytest.fixture(scope="session", autouse=True)
def static_files_found_once() -> Iterator[None]:
    """Every browser of a test loads the middleware again, which looks through all folders for static files."""
    look, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def recall(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            look(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(WhiteNoiseMiddleware, "add_files_from_finders", recall)
        yield


@pytest.fixture(autouse=True)
def fresh_numbers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every page sees the fleet as it is, not as it was a second ago, and reads it once however long it takes."""
    monkeypatch.setattr(standings, "FRESH_SECONDS", 3600.0)
    standings.forget()
    yield
    standings.forget()


@pytest.fixture
def sign_in(commits: None) -> Callable[[str], Browser]:
    """Browser of a logged-in user of this role; "superuser" and "no role" are roles too."""

    def _sign_in(role: str) -> Browser:
        person, _ = User.objects.get_or_create(username=f"test-{role.replace(' ', '-')}")
        _restore(person, role)
        browser = Browser(role)
        browser.resume(person)
        return browser

    return _sign_in


def _restore(person: User, role: str) -> None:
    """Undo what another test has done to the person, who may be shut out or have another role."""
    expected = role == "superuser", True
    if (person.is_superuser, person.is_active) != expected:
        person.is_superuser, person.is_active = expected
        person.save()
    if list(person.groups.values_list("name", flat=True)) != ([role] if role in ROLES else []):
        person.groups.set(Group.objects.filter(name=role))


@pytest.fixture
def viewer(sign_in: Callable[[str], Browser]) -> Browser:
    return sign_in("viewer")


@pytest.fixture
def operator(sign_in: Callable[[str], Browser]) -> Browser:
    return sign_in("operator")


@pytest.fixture
def admin(sign_in: Callable[[str], Browser]) -> Browser:
    return sign_in("admin")
