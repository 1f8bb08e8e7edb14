"""Every GET leaves the database as it was: a link, a prefetch or a crawler can do no harm.

The console looks through a connection that may not write, and whatever it tries all the same is noted, also when
the view swallows the refusal. As all pages are there, they are also read for what every page must have or not have: it
stays out of frames and of what browsers keep, and shows no word that the glossary replaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.http import HttpResponse
from psycopg.errors import ReadOnlySqlTransaction

from tests.console.browsers import Browser, Page
from tests.console.security.scenes import Scene, routes
from tests.engine import Engine
from tests.house.english import anything_allowed, check_piece
from tests.house.prose import Piece

ONLY_POST = 405
# Where an address leads on, and why.
ELSEWHERE = {
    "message_find": "it only finds the queue of a message",
    "message_edit": "only a dead letter can be edited; the page of the message says so",
    "login_code": "logged-in users are not asked for a code",
}
# Nothing to see with what the scene has, and why.
NOT_THERE = {
    "message_body": "its payload is in the message itself",
    "stream_body": "its payload is in the message itself",
    "alert_channel": "there is none",
    "alert_channel_new": "an address names one of the kinds",
    "alert_channel_remove": "there is none",
    "capture_end": "there is none",
    "subscription_end": "there is none",
    "sign_on_callback": "no provider is set up; with one it is the login itself, and writes for its own state",
}
# Its status is that of the installation: on a slow machine, messages of the scene have waited too long for a consumer.
HEALTH = {"healthz"}
# The stream of hints never ends, and has tests of its own.
ENDLESS = {"live"}
# What is written all the same, the statement it begins with, and why that is no harm.
NOTED = {
    "redrive": ("SELECT", "records outcomes of its messages: they happened before, and count once"),
    "export_dead_letters": ("select", "the audit has who took what away"),
    "export_messages": ("select", "the audit has who took what away"),
    "export_audit": ("select", "the audit has who took what away"),
}

# The reference of the API lists the names of its fields.
NOT_READ = {"reference"}
CODE = re.compile(r"<(code|pre)\b.*?</\1>", re.DOTALL)  # the words of programs


@contextmanager
def only_looking() -> Iterator[list[str]]:
    """Let Django's connection read and nothing else; yields the statements that were refused."""
    refused: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        try:
            return execute(sql, params, many, context)
        except Exception as error:
            if isinstance(error.__cause__, ReadOnlySqlTransaction):
                refused.append(sql)
            raise

    with connection.cursor() as cursor:
        cursor.execute("set default_transaction_read_only = on")
    try:
        with connection.execute_wrapper(note):
            yield refused
    finally:
        with connection.cursor() as cursor:
            cursor.execute("set default_transaction_read_only = off")


def framed(answers: dict[str, HttpResponse]) -> list[str]:
    return [
        name
        for name, answer in answers.items()
        if answer.get("X-Frame-Options") != "DENY" or "frame-ancestors 'none'" not in answer["Content-Security-Policy"]
    ]


def kept(answers: dict[str, HttpResponse]) -> list[str]:
    return [name for name, answer in answers.items() if "no-store" not in answer.get("Cache-Control", "")]


def forbidden_words(answers: dict[str, HttpResponse]) -> dict[str, list[str]]:
    """Words on each page that the glossary replaces: rendered text is checked like templates and documents."""
    pages = {name: answer for name, answer in answers.items() if name not in NOT_READ}
    html = {name: one for name, one in pages.items() if one.headers.get("Content-Type", "").startswith("text/html")}
    texts = {name: Page(CODE.sub(" ", answer.content.decode())).text for name, answer in html.items()}
    found = {
        name: check_piece("templates/page.html", Piece(1, "text", text), anything_allowed())
        for name, text in texts.items()
    }
    mistakes = {name: [one.message for one in mistakes] for name, mistakes in found.items()}
    return {name: messages for name, messages in mistakes.items() if messages}


def test_every_page_is_looked_at_without_writing(
    scene_of: Callable[[str], Scene], sign_in: Callable[[str], Browser]
) -> None:
    scene, browser = scene_of("plain"), sign_in("superuser")
    browser.raise_request_exception = False
    statuses, wrote, pages = {}, {}, {}

    for route in (one for one in routes() if one.name not in ENDLESS):
        with only_looking() as refused:
            for headers in ({"HX-Request": "true"}, {}):
                answer = browser.get(scene.path(route), headers=headers)
                if answer.streaming:
                    b"".join(answer.streaming_content)
                statuses[route.name] = answer.status_code
        pages[route.name] = answer
        if refused:
            wrote[route.name] = {statement.split()[0] for statement in refused}

    assert framed(pages) == []
    assert kept(pages) == []
    assert forbidden_words(pages) == {}
    assert wrote == {name: {verb} for name, (verb, _) in NOTED.items()}
    usual = {200, ONLY_POST}
    odd = {name: one for name, one in statuses.items() if one not in usual and name not in {*wrote, *HEALTH}}
    assert odd == dict.fromkeys(ELSEWHERE, 302) | dict.fromkeys(NOT_THERE, 404)


def test_what_writes_is_seen(engine: Engine, admin: Browser) -> None:
    admin.raise_request_exception = False
    with only_looking() as refused:
        answer = admin.post(f"/queues/{engine.queue}/pause", {"reason": "no"})

    assert refused
    assert answer.status_code != 200
    assert not engine.value("select paused from signalbox.queue where queue_id = %s", engine.queue_id)
