"""The page as a fortress: policy, forms, caches, and nothing inline anywhere."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from console.overview import standings
from tests.console.browsers import Browser, Page
from tests.engine import Engine

PATHS = [
    "/",
    "/queues/Q",
    "/queues/Q/messages",
    "/queues/Q/consumers",
    "/queues/Q/settings",
    "/queues/Q/audit",
    "/queues/Q/history",
    "/history",
    "/tenants/1/history",
    "/queues/Q/send",
    "/queues/Q/purge",
    "/queues/Q/rename?new_name=Q.new&grace_days=7",
    "/dead-letters",
    "/dead-letters/failure-groups",
    "/dead-letters/failure-groups/CLUSTER",
    "/dead-letters/compare?id=1&with=success",
    "/redrives",
    "/redrives/new",
    "/redrives/plans",
    "/purges",
    "/undos",
    "/deletions/new?q=queue:Q",
    "/saved-filters",
    "/consumers",
    "/old-snapshots",
    "/pipeline",
    "/pipeline/failures",
    "/pipeline/replay",
    "/tenants",
    "/tenants/1",
    "/audit",
    "/people",
    "/account",
    "/alerts",
    "/streams",
    "/new-queue",
    "/login",
]


FEATURES = {
    "a page for each message": "/queues/Q/messages/N",
    "dead letters grouped by cause": "/dead-letters/failure-groups/CLUSTER",
    "a filter language": "/saved-filters",
    "redrive": "/redrives/new",
    "approvals": "/approvals",
    "pause": "/queues/Q/pause",
    "purge with preview": "/queues/Q/purge",
    "undo": "/trash",
    "settings": "/queues/Q/settings",
    "audit": "/audit",
    "streams": "/streams",
    "subscriptions": "/subscriptions",
    "exact numbers": "/queues/Q/history",
    "two weeks of history": "/history",
    "causes": "/queues/Q",
    "alerts": "/alerts",
    "mail and webhooks": "/alerts/channels",
    "the archive": "/pipeline",
    "replay": "/pipeline/replay",
    "workers": "/consumers",
    "the HTTP API": "/v1/docs",
    "the documentation": "/docs",
}
"""Each feature of the README, and its page."""

SEEN: dict[str, Page] = {}
"""The pages, once they have been fetched: all tests only read them."""


@pytest.fixture
def pages(admin: Browser, engine: Engine) -> dict[str, Page]:
    if not SEEN:
        letter = engine.die({"n": 1}, error_class="Boom", error="x", details="y")
        statement = "select fingerprint from signalbox.dead_letter where dead_letter_id = %s"
        cluster = engine.value(statement, letter)
        engine.send({"n": 2})
        SEEN.update({path: admin.see(path.replace("Q", engine.queue).replace("CLUSTER", cluster)) for path in PATHS})
    return SEEN


def test_nothing_is_inline(pages: dict[str, Page]) -> None:
    for path, page in pages.items():
        for element in page.elements:
            assert "style" not in element.attributes, (path, element)
            assert not [name for name in element.attributes if name.startswith("on")], (path, element)
            assert element.tag != "style", path
            if element.tag == "script":
                assert element.attributes["src"].startswith("/static/"), path
                assert not element.text, path


def test_the_policy_allows_this_origin_only(admin: Browser) -> None:
    policy = admin.get("/")["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_every_form_that_changes_something_proves_its_origin(pages: dict[str, Page]) -> None:
    for path, page in pages.items():
        for html in page.html.split("<form")[1:]:
            form = html.split("</form>")[0]
            if 'method="post"' in form.split(">")[0]:
                assert "csrfmiddlewaretoken" in form, path


def test_a_post_without_the_proof_changes_nothing(engine: Engine, admin: Browser) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = admin.cookies

    answer = strict.post(f"/queues/{engine.queue}/pause", {"reason": "forged"})

    assert answer.status_code == 403
    assert not engine.value("select paused from signalbox.queue where queue_id = %s", engine.queue_id)


def test_answers_are_not_stored(admin: Browser, engine: Engine) -> None:
    message_id = engine.send({"secret": 1})

    for path in ("/", f"/queues/{engine.queue}/messages", f"/queues/{engine.queue}/messages/{message_id}"):
        answer = admin.get(path)
        assert answer["Cache-Control"] == "no-store"
        assert "HX-Request" in answer["Vary"]


def test_ids_are_unique_and_labels_lead_somewhere(pages: dict[str, Page]) -> None:
    for path, page in pages.items():
        ids = [one.attributes["id"] for one in page.elements if "id" in one.attributes]
        assert len(ids) == len(set(ids)), path
        for label in page.all("label"):
            if "for" in label.attributes:
                assert label.attributes["for"] in ids, (path, label)


def test_every_page_says_what_it_is(pages: dict[str, Page]) -> None:
    for path, page in pages.items():
        assert len(page.all("h1")) == 1, path
        assert len(page.all("main", id="main")) == 1, path
        assert page.title.endswith("· Signalbox"), path
        assert page.one("html").attributes["lang"] == "en", path


def test_what_htmx_fetches_is_also_a_link_a_form_or_the_page_itself(pages: dict[str, Page]) -> None:
    for path, page in pages.items():
        for element in page.elements:
            if "hx-get" in element.attributes:
                plain = element.attributes.get("href") or element.attributes.get("action")
                assert (plain == element.attributes["hx-get"]) or element.attributes.get("id") == "results", path


def test_the_page_includes_the_very_fragment_that_htmx_swaps(
    admin: Browser, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.send({"n": 1})
    monkeypatch.setattr(standings, "forget", lambda: None)  # numbers of one moment: other queues may begin to breach

    for path in ("/queues/Q/messages", "/queues/Q/consumers", "/audit"):
        whole = admin.see(path.replace("Q", engine.queue))
        fragment = admin.fetch(path.replace("Q", engine.queue))
        assert [one.tag for one in fragment.elements if one.tag in ("html", "body", "main")] == []
        assert len(fragment.rows()) == len(whole.rows())
        assert [one.attributes for one in fragment.all("th")] == [one.attributes for one in whole.all("th")]
        assert fragment.title == whole.title
        assert fragment.one("span", id="badge-overview").attributes["hx-swap-oob"] == "true"


def test_going_back_in_history_gets_the_whole_page(admin: Browser) -> None:
    answer = admin.get("/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})

    assert b"<html" in answer.content


def test_every_feature_of_the_readme_is_reached_by_clicks(pages: dict[str, Page]) -> None:
    reached, ahead = set[str](), ["/"]
    while ahead:
        path = ahead.pop()
        if path not in reached and path in pages:
            attributes = [one.attributes for one in pages[path].elements if one.tag in ("a", "form", "button")]
            ahead += [
                _place(one[name]) for one in attributes for name in ("href", "action", "formaction") if name in one
            ]
        reached.add(path)

    assert {feature: path for feature, path in FEATURES.items() if path not in reached} == {}


def _place(address: str) -> str:
    """The address of a kind of page: without its query, its queue and its number."""
    path = re.sub(r"[?#].*", "", address)
    path = re.sub(r"^/queues/[^/]+", "/queues/Q", path)
    return re.sub(r"/\d+$", "/N", re.sub(r"(failure-groups)/[^/]+$", r"\1/CLUSTER", path))
