"""The bugs that really hit consoles of queues: each is tried, and each is tried again without its defence.

Where the second try does not succeed, the first proves nothing: the test would pass over a hole.
docs/run/security.md has the table of classes, defences and tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpResponse
from django.test import Client
from kombu.exceptions import ContentDisallowed
from kombu.serialization import dumps, loads

from console.celery import app
from console.filters import views as saved_filter_views
from console.web import preferences
from tests.console.access.test_who_may_what import OPEN
from tests.console.browsers import Browser
from tests.console.security.scenes import Route, Scene, routes
from tests.console.security.test_looking_changes_nothing import framed, kept
from tests.engine import Engine

EVIL = "https://evil.example/"
RIGHT = "correct horse battery"
LARGE = {"reason": "x" * 20_000}
# Doors for machines, which bear a token and no cookie.
WITHOUT_A_FORM = {"alerts_webhook"}


@pytest.fixture
def scene(scene_of: Callable[[str], Scene]) -> Scene:
    return scene_of("plain")


def without(settings: LazySettings, middleware: str) -> None:
    """Switch a defence off."""
    assert middleware in settings.MIDDLEWARE
    settings.MIDDLEWARE = [one for one in settings.MIDDLEWARE if one != middleware]


def every(scene: Scene, ask: Callable[[str], HttpResponse]) -> dict[str, HttpResponse]:
    """Answer of each route; `live` never ends."""
    return {route.name: ask(scene.path(route)) for route in routes() if route.name != "live"}


def takes_forms(route: Route) -> bool:
    return route.name not in WITHOUT_A_FORM and route.name != "live"


@pytest.fixture
def strict(admin: Browser, settings: LazySettings) -> Client:
    """Client of an administrator's browser that sends forms without the token, as another site makes it do."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.cookies = admin.cookies
    client.cookies[settings.CSRF_COOKIE_NAME] = "a" * 32  # without it a form is refused before it is read
    return client


def test_csrf_every_post_proves_its_origin(scene: Scene, strict: Client, settings: LazySettings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
    answers = {route.name: strict.post(scene.path(route), LARGE) for route in routes() if takes_forms(route)}

    refused = {name: b"This form has expired" in answer.content for name, answer in answers.items() if answer.content}
    assert [name for name, recognised in refused.items() if not recognised] == []
    assert len(refused) > 90
    assert {answer.status_code for answer in answers.values()} == {403}

    del strict.cookies[settings.CSRF_COOKIE_NAME]
    assert b"This form has expired" in strict.post("/preferences").content


def test_csrf_without_the_defence_is_noticed(scene: Scene, admin: Browser, settings: LazySettings) -> None:
    without(settings, "django.middleware.csrf.CsrfViewMiddleware")
    settings.CONFIRM_PASSWORD_MINUTES = 1440
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = admin.cookies

    assert strict.post("/preferences", {"theme": "dark"}).status_code == 302


def test_strangers_reach_nothing_that_is_not_listed(scene: Scene) -> None:
    stranger = Client()
    for ask in (stranger.get, stranger.post):
        answers = every(scene, ask)
        led_away = {n for n, a in answers.items() if a.status_code == 302 and a["Location"].startswith("/login?next=")}
        assert set(answers) - led_away <= OPEN


def test_strangers_without_the_defence_are_noticed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(User, "is_authenticated", True, raising=False)
    monkeypatch.setattr("django.contrib.auth.models.AnonymousUser.is_authenticated", True)
    held = {"console.see_metadata"}
    monkeypatch.setattr("django.contrib.auth.models.AnonymousUser.get_all_permissions", lambda _: held)

    assert Client().get("/queues/" + scene.engine.queue).status_code == 200


def test_bodies_are_bounded_everywhere(scene: Scene, strict: Client, settings: LazySettings) -> None:
    """Try each route; the test of CSRF sends the same without the bound, which all routes answer with 403."""
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10_000

    assert {strict.post(scene.path(route), LARGE).status_code for route in routes() if takes_forms(route)} == {400}


def test_the_number_of_fields_is_bounded(admin: Browser, settings: LazySettings) -> None:
    many = {f"f{n}": "x" for n in range(1_001)}

    assert admin.post("/preferences", many).status_code == 400
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = None
    assert admin.post("/preferences", many).status_code == 302


def test_a_task_of_another_format_than_json_is_not_read() -> None:
    content_type, encoding, pickled = dumps({"redrive_id": 1}, serializer="pickle")

    with pytest.raises(ContentDisallowed):
        loads(pickled, content_type, encoding, accept=app.conf.accept_content)
    assert loads(pickled, content_type, encoding, accept=frozenset({content_type})) == {"redrive_id": 1}
    assert (app.conf.task_serializer, app.conf.result_serializer) == ("json", "json")


@pytest.mark.parametrize("where", ["login", "preferences", "saved-filters/new"])
def test_redirects_stay_on_this_site(where: str, admin: Browser, engine: Engine, monkeypatch: Any) -> None:
    form = {"next": EVIL, "username": admin.name, "password": RIGHT}
    form |= {"page": "dead-letters", "name": "first", "text": "class:KeyError"}
    person = User.objects.get(username=admin.name)
    person.set_password(RIGHT)
    person.save()
    admin.force_login(person)

    assert not admin.post(f"/{where}", form)["Location"].startswith(EVIL)

    admin.force_login(person)
    for view in (preferences, saved_filter_views):
        monkeypatch.setattr(view, "url_has_allowed_host_and_scheme", lambda *_: True)
    assert admin.post(f"/{where}", form | {"name": "second"})["Location"].startswith(EVIL)


def test_another_host_is_refused(commits: None, settings: LazySettings) -> None:
    assert Client().get("/login", headers={"Host": "evil.example"}).status_code == 400

    settings.ALLOWED_HOSTS = ["*"]
    assert Client().get("/login", headers={"Host": "evil.example"}).status_code == 200


def test_a_login_changes_the_session(commits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "test-fixation"
    User.objects.filter(username=name).delete()
    User.objects.create_user(name, password=RIGHT)

    def log_in_over_a_planted_session() -> bool:
        victim = Browser()
        planted = victim.session
        planted["planted"] = True
        planted.save()
        before = planted.session_key
        victim.cookies["signalbox-session"] = before
        assert victim.post("/login", {"username": name, "password": RIGHT}).status_code == 302
        attacker = Browser()
        attacker.cookies["signalbox-session"] = before
        return attacker.get("/preferences").status_code == 405 and attacker.get("/").status_code == 403

    assert not log_in_over_a_planted_session()
    monkeypatch.setattr(SessionBase, "cycle_key", lambda self: None)
    assert log_in_over_a_planted_session()


@pytest.mark.parametrize(
    ("defence", "hole"),
    [
        ("django.middleware.clickjacking.XFrameOptionsMiddleware", framed),
        ("console.web.caching.NoStoreMiddleware", kept),
    ],
)
def test_a_page_without_the_defence_is_noticed(
    defence: str,
    hole: Callable[[dict[str, HttpResponse]], list[str]],
    scene: Scene,
    admin: Browser,
    settings: LazySettings,
) -> None:
    forms = {route.name: scene.path(route) for route in routes() if route.name in {"queue_new", "queue_purge"}}
    without(settings, defence)
    admin.handler.load_middleware()

    assert set(hole({name: admin.get(path) for name, path in forms.items()})) == {"queue_new", "queue_purge"}
