"""Refused forms come back with the values that a person typed, and an error page shows them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.console.browsers import Browser, Page
from tests.console.security.scenes import Scene, routes
from tests.engine import Engine

TYPED = "the partner said so " * 30  # longer than a reason, a name or a comment may be
NAMES = ("reason", "comment", "note", "text", "username", "attributes", "name", "filter", "new_name", "typed_name")
# Forms without a field for text; most are a button alone.
NO_TEXT = {
    "queue_resume", "queue_reopen", "queue_free_name", "group_pause", "group_resume",
    "redrive_pause", "redrive_resume", "redrive_cancel",
    "fleet_redrive_run", "fleet_redrive_pause", "fleet_redrive_resume", "fleet_redrive_cancel",
    "deletion_cancel", "purge_cancel", "undo_cancel", "discard_cancel", "saved_filter_delete", "silence_end",
    "alerts_acknowledge",
    "failure_group_delete_comment", "pipeline_cancel", "grant_take", "redrive_rate", "person", "redrive_plan_run",
    "preferences",
}  # fmt: skip
# Refused before the form is read, and why that loses nothing.
ELSEWHERE = {
    "deletion_new": "the page shows no form without a filter",
    "stream_capture": "the page shows no form without tables that may be captured",
    "queue_run_now": "the page shows no form without messages",
    "queue_reschedule": "the page shows no form without messages",
    "message_edit": "the message is not dead, and nothing was edited",
    "alerts_webhook": "for Alertmanager alone",
    "account_password": "passwords are typed again",
    "login": "passwords are typed again",
    "login_code": "no login waits for a code",
    "sign_on": "no provider is set up",
    "sign_on_again": "no provider is set up",
    "logout": "no fields",
    "live": "a stream",
}


@pytest.mark.proof
def test_every_form_brings_back_what_it_refuses(
    scene_of: Callable[[str], Scene], sign_in: Callable[[str], Browser]
) -> None:
    scene, browser = scene_of("plain"), sign_in("superuser")
    browser.raise_request_exception = False
    lost = []

    for route in (one for one in routes() if one.name not in NO_TEXT | ELSEWHERE.keys()):
        answer = browser.post(scene.path(route), {**dict.fromkeys(NAMES, TYPED), "point": "end"})
        if answer.status_code == 302:
            answer = browser.get(answer["Location"].split("#")[0])
        if answer.status_code != 405 and TYPED.strip() not in answer.content.decode():
            lost.append((route.name, answer.status_code))

    assert not lost, lost


def refused(browser: Browser, path: str, **fields: str) -> Page:
    """Send a form that is refused; return the page, which has one summary of errors that can take the focus."""
    page = browser.submit(path, status=422, **fields)
    assert page.one("div", id="form-errors").attributes["tabindex"] == "-1"
    assert page.one("form", action=path.split("?")[0])
    return page


def test_verbs_of_menus_and_rows_show_the_refused_form_as_it_was(admin: Browser, engine: Engine) -> None:
    message_id = engine.send("later", delay_seconds=3600)
    queue, message = f"/queues/{engine.queue}", f"/queues/{engine.queue}/messages/{message_id}"

    pause = refused(admin, f"{queue}/pause", reason=TYPED)
    assert pause.one("input", name="reason").attributes["value"] == TYPED
    assert pause.link("Cancel") == queue

    due = refused(admin, f"{message}/reschedule", due="2199-12-31 00:00", reason="the customer waits")
    assert due.one("input", name="due").attributes["value"] == "2199-12-31 00:00"
    assert due.one("input", name="reason").attributes["value"] == "the customer waits"
    assert "it must be a time within a year from now" in due.text


def test_a_form_without_permission_is_shown_and_can_be_sent_again(viewer: Browser, engine: Engine) -> None:
    path = f"/queues/{engine.queue}/pause"

    page = viewer.submit(path, status=403, reason="<b>down</b>", empty="")

    assert "Pausing and resuming queues requires the operator role" in page.text
    assert "What you entered Reason <b>down</b> Submit again" in page.text
    assert "<b>down" not in page.html
    assert page.one("form", id="kept-form").attributes["action"] == path
    assert page.fields()["reason"] == "<b>down</b>"


@pytest.mark.parametrize(("origin", "is_shown"), [("http://testserver", True), ("http://evil.example", False)])
def test_a_form_older_than_the_login_is_kept_unless_another_site_sent_it(
    sign_in: Callable[[str], Browser], engine: Engine, origin: str, is_shown: bool
) -> None:
    browser = sign_in("admin")
    browser.handler.enforce_csrf_checks = True

    answer = browser.post(
        f"/queues/{engine.queue}/pause",
        {"reason": "partner is down", "csrfmiddlewaretoken": "old", "password": "sesame"},
        headers={"Origin": origin},
    )

    page = Page(answer.content.decode())
    assert (answer.status_code, page.one("h1").text) == (403, "This form has expired")
    assert bool(page.all("form", id="kept-form")) == ("partner is down" in page.text) == is_shown
    assert "sesame" not in page.html
