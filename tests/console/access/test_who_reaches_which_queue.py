"""Grants: every address, requested by people of every role with and without a grant for its queue.

An address that is not in `ROWS` is for roles over all queues, and that is tried as well: one that shows or does what
one in reach of a grant must be in the table.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.urls import URLPattern, get_resolver, reverse

from console.access.roles import ROLES
from tests.console.access.reaches import GRANTS, World, sign_in, world
from tests.console.access.test_who_may_what import OPEN, patterns
from tests.console.access.test_who_may_what import OWN as ABOUT_ONESELF
from tests.console.browsers import Browser

__all__ = ["world"]

OWN = {"own tenant", "own prefix"}
ANYTHING = {"reason": "x", "kind": "archive", "noun": "purge", "slug": "queue-not-found"}
"""What addresses name that is not of a queue."""


@dataclass(frozen=True)
class Row:
    """`method` of an address and the permission that it takes.

    `about` is whether it names a queue or something of one, so that it is not there for others; without, it is a list
    or a form that everybody with the permission somewhere gets, cut to what they reach. A list has what is in `shows`,
    as the world names it, for those who reach it, and not for others. `query` is filled in from the world.
    """

    name: str
    permission: str
    method: str = "get"
    about: bool = True
    shows: str = ""
    query: str = ""
    whatever: bool = False
    """A user without the permission anywhere is refused whatever the address names."""
    of_tenant: bool = False
    """Object of users who reach all queues of the tenant."""
    only: int = 0
    """The one answer there is."""

    @property
    def own(self) -> set[str]:
        """Owner of the object in the address."""
        return {"own tenant"} if self.of_tenant else OWN


def of_queue(permission: str, *names: str, method: str = "get") -> list[Row]:
    return [Row(name, permission, method) for name in names]


def of_several(permission: str, *names: str, method: str = "get") -> list[Row]:
    """Object of several queues, of which some are in reach."""
    return [Row(name, permission, method, whatever=True) for name in names]


def lists(permission: str, *names: str, shows: str = "name", query: str = "") -> list[Row]:
    return [Row(name, permission, about=False, shows=shows, query=query) for name in names]


def forms(permission: str, *names: str) -> list[Row]:
    """Address for all users with the permission for any queue; an empty form changes nothing."""
    return [Row(name, permission, "post", about=False) for name in names]


ROWS = [
    *lists("see_metadata", "overview", "dead_letters", "failure_groups"),
    *of_several("see_metadata", "failure_group"),
    *of_several(
        "redrive",
        "failure_group_note",
        "failure_group_state",
        "failure_group_merge",
        "failure_group_split",
        "failure_group_snooze",
        "failure_group_end_snooze",
        "failure_group_comment",
        "failure_group_delete_comment",
        method="post",
    ),
    *of_several("redrive", "failure_group_merge_preview"),
    *of_queue("see_metadata", "queue", "queue_messages", "message", "queue_groups", "queue_consumers"),
    *of_queue("see_metadata", "queue_settings", "queue_audit", "queue_history", "export_messages"),
    *of_queue("pause", "queue_pause", "queue_resume", method="post"),
    *of_queue("configure", "queue_settings", "queue_group_limit", method="post"),
    *of_queue("configure", "queue_retire", "queue_rename"),
    *of_queue("configure", "queue_close", "queue_reopen", "queue_retire", method="post"),
    *of_queue("configure", "queue_rename", "queue_free_name", method="post"),
    *of_queue("send", "queue_send"),
    *of_queue("send", "queue_send", method="post"),
    *of_queue("redrive", "message_edit", "queue_run_now", "queue_reschedule"),
    *of_queue("redrive", "message_edit", "message_run_now", "message_reschedule", method="post"),
    *of_queue("redrive", "queue_run_now", "queue_reschedule", method="post"),
    *of_queue("purge", "queue_purge"),
    *of_queue("purge", "queue_purge", method="post"),
    *of_queue("reveal", "message_reveal", method="post"),
    *of_queue("see_payloads", "message_body"),
    # jobs
    *of_queue("see_metadata", "redrive_plan", "redrive", "redrive_messages", "deletion", "purge", "undo", "discard"),
    *of_queue("redrive", "redrive_plan_run", "redrive_pause", "redrive_resume", method="post"),
    *of_queue("redrive", "redrive_cancel", "redrive_rate", method="post"),
    *of_queue("purge", "deletion_cancel", "purge_cancel", "undo_cancel", "discard_cancel", method="post"),
    *of_queue("approve", "approve", "refuse", method="post"),
    *lists("see_metadata", "redrive_plans", "redrives", shows="name"),
    *lists("redrive", "redrive_new"),
    *forms("redrive", "redrive_new"),
    *lists("purge", "deletion_new", query="q=class:{class}"),
    *forms("purge", "deletion_new"),
    *lists("see_metadata", "trash", "removals", "approvals"),
    *lists("see_metadata", "undos", shows="undo_page"),
    Row("undo_new", "purge", about=True, whatever=True, query="noun=purge&id={purge_id}"),
    Row("undo_new", "purge", "post", about=True, whatever=True, query="noun=purge&id={purge_id}"),
    # around them
    *lists("see_metadata", "audit", "alerts", "export_dead_letters", "export_audit", "consumers"),
    *lists("see_metadata", "silences", "saved_filters"),
    *lists("see_metadata", "filter_suggestions", query="q=queue:r&at=7"),
    *lists("see_metadata", "compare", query="id={dead_id}"),
    *lists("see_metadata", "palette", query="q=in-orders"),
    *lists("see_metadata", "palette", query="q={message_id}"),
    *lists("see_metadata", "palette", query="q=in-stream", shows="stream"),
    *lists("see_metadata", "palette", query="q=boom", shows="class"),
    *of_several("see_metadata", "message_find"),
    *forms("silence", "silences", "alerts_acknowledge"),
    *of_queue("silence", "silence_end", method="post"),
    Row("tenants", "see_metadata", about=False, shows="tenant_page", of_tenant=True),
    Row("tenant", "see_metadata", of_tenant=True),
    Row("tenant_history", "see_metadata", of_tenant=True),
    *lists("see_metadata", "streams", shows="stream"),
    *of_queue("see_metadata", "stream", "group"),
    *of_queue("see_payloads", "stream_messages", "stream_body"),
    *of_queue("send", "stream_append"),
    *of_queue("send", "stream_append", method="post"),
    *of_queue("configure", "stream_settings", "group_new", "group_settings", "group_seek", "group_drop"),
    *of_queue("configure", "stream_settings", "group_new", "group_settings", "group_seek", "group_drop", method="post"),
    *of_queue("configure", "group_pause", "group_resume", method="post"),
    *lists("see_metadata", "captures", "subscriptions", shows=""),
    *of_queue("configure", "stream_capture", "stream_rename", "stream_delete"),
    *of_queue("configure", "stream_capture", "stream_rename", "stream_delete", method="post"),
    Row("capture_end", "configure", only=404),  # there is none
    Row("capture_end", "configure", "post", only=404),
    *of_queue("configure", "subscription_new", "subscription_end"),
    *of_queue("configure", "subscription_new", "subscription_pause", "subscription_resume", method="post"),
    *of_queue("configure", "subscription_end", method="post"),
    *lists("configure", "queue_new", "stream_new", shows=""),
    *forms("configure", "queue_new", "stream_new"),
    # one's own, or ownerless
    *lists("see_metadata", "runbook", "docs", "approvals_rules", "schedules", shows=""),
    *forms("see_metadata", "saved_filter_new"),
    Row("saved_filter", "see_metadata", "post", about=False, only=404),  # it is Ana's
    Row("saved_filter_delete", "see_metadata", "post", about=False, only=404),
    Row("approvals_rules", "nobody", "post", about=False),  # rules apply to all queues
    Row("tenant", "nobody", "post", of_tenant=True),  # users cannot raise their own limits
]
FAST = {("viewer", "own tenant"), ("operator", "own prefix"), ("admin", "other tenant"), ("viewer", "other prefix")}
"""Each kind of grant for one role; the other roles are in the proof."""
NO_BODY = {"message_body", "stream_body"}
"""Not there for those who reach it either: the message has none."""


def cut() -> set[str]:
    """Addresses whose views declare how they are limited to a user's reach."""
    return {one.name for one in patterns(get_resolver()) if getattr(one.callback, "is_cut_to_reach", False)}


def address(pattern_name: str, world: World) -> str:
    return reverse(pattern_name, kwargs=named(pattern_name, world))


@cache
def parts(pattern_name: str) -> tuple[str, list[str]]:
    """Route of the address as the files of addresses write it, and the names of its parts."""
    pattern = next(one for one in patterns(get_resolver()) if one.name == pattern_name)
    return _route(get_resolver(), pattern).removeprefix("^/"), _converters(get_resolver(), pattern)


def named(pattern_name: str, world: World) -> dict[str, Any]:
    """Value for each part of the address; streams have names of their own."""
    prefix, wanted = parts(pattern_name)
    known = {**ANYTHING, "job_id": world.numbers["purge_id"], **world.known()}
    if prefix.startswith("streams/"):
        known["name"] = world.names["stream"]
    if prefix.startswith("runbooks/"):
        known["name"] = "SignalboxDeadLetters"
    return {one: known.get(one, 1) for one in wanted}


def _holds(entry: Any, pattern: URLPattern) -> bool:
    return entry is pattern or any(_holds(one, pattern) for one in getattr(entry, "url_patterns", ()))


def _route(entry: Any, pattern: URLPattern) -> str:
    """Address as the files of addresses write it, from the first to the last."""
    inner = next((one for one in getattr(entry, "url_patterns", ()) if _holds(one, pattern)), None)
    return str(entry.pattern) + (_route(inner, pattern) if inner else "")


def _converters(entry: Any, pattern: URLPattern) -> list[str]:
    inner = next((one for one in getattr(entry, "url_patterns", ()) if _holds(one, pattern)), None)
    return [*entry.pattern.converters, *(_converters(inner, pattern) if inner else [])]


def ask(browser: Browser, row: Row, world: World) -> Any:
    path = address(row.name, world)
    browser.raise_request_exception = False
    return getattr(browser, row.method)(path, dict(parse_qsl(row.query.format(**world.known()))))


def wrong(row: Row, role: str, kind: str, answer: Any, world: World) -> str:
    """Mistake in the answer; empty when it is right."""
    said = f"{row.method} {row.name} for {role}, {kind}: {answer.status_code}"
    if row.about and kind not in row.own and (row.permission in ROLES[role] or not row.whatever):
        return "" if answer.status_code == 404 else f"{said}, not 404"
    if row.permission not in ROLES[role]:
        return "" if answer.status_code == 403 else f"{said}, not 403"
    if row.only:
        return "" if answer.status_code == row.only else f"{said}, not {row.only}"
    if answer.status_code not in (200, 302, 422) and not (row.name in NO_BODY and answer.status_code == 404):
        return said
    if row.shows:
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        if (str(world.known()[row.shows]).encode() in content) != (kind in row.own):
            return f"{said}, and {'does not show' if kind in row.own else 'shows'} {row.shows}"
    return ""


def test_every_address_that_is_cut_to_a_reach_has_a_row() -> None:
    assert cut() == {row.name for row in ROWS}


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        pytest.param(role, kind, marks=() if (role, kind) in FAST else pytest.mark.proof)
        for role, kind in itertools.product(ROLES, GRANTS)
    ],
)
def test_a_grant_opens_what_it_holds_and_nothing_else(world: World, role: str, kind: str) -> None:
    browser = sign_in(role, kind)

    mistakes = [wrong(row, role, kind, ask(browser, row, world), world) for row in ROWS]

    assert "\n".join(one for one in mistakes if one) == ""


def test_every_other_address_is_for_roles_over_all_queues(world: World) -> None:
    others = {one.name for one in patterns(get_resolver())} - cut() - OPEN - ABOUT_ONESELF
    browser = sign_in("admin", "own tenant")

    answers = {
        (method, name): ask(browser, Row(name, "", method), world).status_code
        for name in others
        for method in ("get", "post")
    }

    assert len(answers) > 20
    assert {one: status for one, status in answers.items() if status not in (403, 405)} == {}


def test_what_is_of_others_is_refused_in_the_same_words_as_what_never_was(world: World) -> None:
    browser = sign_in("viewer", "other tenant")

    theirs = browser.see(f"/queues/{world.queue}", status=404).text
    none = browser.see(f"/queues/{world.queue}-none", status=404).text

    assert theirs == none.replace(f"{world.queue}-none", world.queue)
