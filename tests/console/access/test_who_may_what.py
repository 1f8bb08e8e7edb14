"""Roles: every address names the permission it needs, and each role gets exactly what it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from console.access.roles import PERMISSIONS, ROLES, requires, role_with
from tests.console.browsers import Browser
from tests.engine import Engine

# Addresses that need no permission, and why.
OPEN = {"login", "logout", "preferences", "live", "healthz", "metrics", "metrics_queues", "alerts_webhook"} | {
    "metrics_settings"
}
OPEN |= {"reference", "problem"}  # how the API works is no secret
OPEN |= {"login_code", "sign_on", "sign_on_callback"}  # part of the login
# One's own, whatever one may do.
OWN = {"account", "account_password", "second_factor", "second_factor_confirm", "second_factor_remove"}
OWN |= {"recovery_codes", "sign_on_again"}

# (method, path, permission); a queue called Q is made for the test.
MATRIX = [
    ("get", "/", "see_metadata"),
    ("get", "/queues/Q", "see_metadata"),
    ("get", "/queues/Q/messages", "see_metadata"),
    ("get", "/queues/Q/consumers", "see_metadata"),
    ("get", "/queues/Q/settings", "see_metadata"),
    ("get", "/queues/Q/audit", "see_metadata"),
    ("get", "/dead-letters", "see_metadata"),
    ("get", "/dead-letters/failure-groups", "see_metadata"),
    ("get", "/dead-letters/compare", "see_metadata"),
    ("post", "/dead-letters/failure-groups/v2:x/care", "redrive"),
    ("post", "/dead-letters/failure-groups/v2:x/state", "redrive"),
    ("post", "/dead-letters/failure-groups/v2:x/merge", "redrive"),
    ("post", "/dead-letters/failure-groups/v2:x/snooze", "redrive"),
    ("post", "/dead-letters/failure-groups/v2:x/end-snooze", "redrive"),
    ("post", "/dead-letters/failure-groups/v2:x/comment", "redrive"),
    ("post", "/dead-letters/failure-groups/v2:x/delete-comment", "redrive"),
    ("get", "/dead-letters/failure-groups/v2:x/merge/preview", "redrive"),
    ("post", "/dead-letters/failure-groups/v2:x/split", "redrive"),
    ("get", "/redrives", "see_metadata"),
    ("get", "/fleet/redrives/1", "see_metadata"),
    ("post", "/fleet/redrives/1/run", "redrive"),
    ("post", "/fleet/redrives/1/cancel", "redrive"),
    ("get", "/consumers", "see_metadata"),
    ("get", "/old-snapshots", "see_metadata"),
    ("get", "/pipeline", "see_metadata"),
    ("get", "/pipeline/1", "see_metadata"),
    ("get", "/pipeline/failures", "see_metadata"),
    ("get", "/pipeline/replay", "redrive"),
    ("post", "/pipeline/start/nothing", "archive"),
    ("post", "/pipeline/1/cancel", "archive"),
    ("get", "/alerts", "see_metadata"),
    ("get", "/alerts/silences", "see_metadata"),
    ("get", "/alerts/notifications", "see_metadata"),
    ("get", "/alerts/channels", "see_metadata"),
    ("get", "/alerts/channels/new/mail", "administer"),
    ("post", "/alerts/channels/1", "administer"),
    ("post", "/alerts/channels/1/test", "administer"),
    ("post", "/alerts/channels/1/remove", "administer"),
    ("post", "/alerts/silences", "silence"),
    ("post", "/alerts/acknowledge", "silence"),
    ("post", "/alerts/silences/1/end", "silence"),
    ("get", "/runbooks/SignalboxDeadLetters", "see_metadata"),
    ("get", "/schedules", "see_metadata"),
    ("get", "/tenants", "see_metadata"),
    ("get", "/tenants/1", "see_metadata"),
    ("get", "/audit", "see_metadata"),
    ("get", "/exports/dead-letters", "see_metadata"),
    ("get", "/exports/messages/Q", "see_metadata"),
    ("get", "/exports/audit", "see_metadata"),
    ("get", "/saved-filters", "see_metadata"),
    ("get", "/filter-suggestions", "see_metadata"),
    ("post", "/saved-filters/new", "see_metadata"),
    ("post", "/saved-filters/1", "see_metadata"),
    ("post", "/saved-filters/1/delete", "see_metadata"),
    ("get", "/queues/Q/messages/1/body", "see_payloads"),
    ("get", "/queues/Q/send", "send"),
    ("post", "/queues/Q/send", "send"),
    ("get", "/redrives/new", "redrive"),
    ("post", "/redrives/new", "redrive"),
    ("get", "/redrives/plans", "see_metadata"),
    ("post", "/redrives/plans/1/run", "redrive"),
    ("post", "/redrives/1/pause", "redrive"),
    ("post", "/redrives/1/resume", "redrive"),
    ("post", "/redrives/1/cancel", "redrive"),
    ("post", "/redrives/1/rate", "redrive"),
    ("get", "/queues/Q/purge", "purge"),
    ("post", "/queues/Q/purge", "purge"),
    ("post", "/purges/1/cancel", "purge"),
    ("get", "/deletions/new", "purge"),
    ("post", "/deletions/new", "purge"),
    ("post", "/deletions/1/cancel", "purge"),
    ("get", "/trash", "see_metadata"),
    ("get", "/undos/1", "see_metadata"),
    ("get", "/undos/new", "purge"),
    ("post", "/undos/new", "purge"),
    ("post", "/undos/1/cancel", "purge"),
    ("get", "/discards/1", "see_metadata"),
    ("post", "/discards/1/cancel", "purge"),
    ("get", "/approvals", "see_metadata"),
    ("get", "/approvals/rules", "see_metadata"),
    ("post", "/approvals/rules", "administer"),
    ("post", "/approvals/purge/1/approve", "approve"),
    ("post", "/approvals/purge/1/refuse", "approve"),
    ("post", "/queues/Q/pause", "pause"),
    ("post", "/queues/Q/resume", "pause"),
    ("post", "/queues/Q/settings", "configure"),
    ("post", "/tenants/1", "configure"),
    ("get", "/new-queue", "configure"),
    ("post", "/new-queue", "configure"),
    ("post", "/queues/Q/messages/1/reveal", "reveal"),
    ("get", "/queues/Q/messages/1/edit", "redrive"),
    ("post", "/queues/Q/messages/1/edit", "redrive"),
    ("post", "/queues/Q/messages/1/run-now", "redrive"),
    ("get", "/queues/Q/run-now", "redrive"),
    ("post", "/queues/Q/reschedule", "redrive"),
    ("post", "/queues/Q/messages/1/reschedule", "redrive"),
    ("get", "/maintenance", "maintain"),
    ("get", "/maintenance/plan", "maintain"),
    ("post", "/maintenance/begin", "maintain"),
    ("post", "/maintenance/end", "maintain"),
    ("get", "/masking", "mask"),
    ("post", "/masking", "mask"),
    ("post", "/masking/1/remove", "mask"),
    ("get", "/erasures", "erase"),
    ("get", "/erasures/new", "erase"),
    ("post", "/erasures/new", "erase"),
    ("get", "/erasures/1", "erase"),
    ("get", "/erasures/1/report", "erase"),
    ("post", "/erasures/1/cancel", "erase"),
    ("get", "/people", "administer"),
    ("post", "/people", "administer"),
    ("post", "/people/1", "administer"),
    ("get", "/people/1/grants", "administer"),
    ("post", "/people/1/grants", "administer"),
    ("post", "/grants/1/take", "administer"),
    ("get", "/api-keys", "administer"),
    ("post", "/api-keys", "administer"),
    ("get", "/api-keys/1/revoke", "administer"),
    ("post", "/api-keys/1/revoke", "administer"),
]


def patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from patterns(entry)
        else:
            yield entry


def test_every_address_names_its_permission() -> None:
    unnamed = {one.name for one in patterns(get_resolver()) if not hasattr(one.callback, "permission")}

    assert unnamed <= OPEN | OWN


@pytest.mark.parametrize("role", ["no role", *ROLES, "superuser"])
def test_a_role_may_what_it_was_given_and_nothing_else(
    sign_in: Callable[[str], Browser], engine: Engine, role: str
) -> None:
    given = set(PERMISSIONS) if role == "superuser" else set(ROLES.get(role, ()))
    browser = sign_in(role)
    denied = set()

    for method, path, permission in MATRIX:
        answer = getattr(browser, method)(path.replace("Q", engine.queue))
        assert (answer.status_code == 403) == (permission not in given), (
            f"{method} {path} answered {answer.status_code}"
        )
        if answer.status_code == 403:
            denied.add(permission)
            assert any(words in answer.content.decode() for words in refusals(permission, given)), path

    assert denied | {"purge_any"} >= set(PERMISSIONS) - given


def refusals(permission: str, given: set[str]) -> list[str]:
    """Sentences of which a denial has one: without a look at queues, that may be what is missing."""
    needed = [permission] if "see_metadata" in given else [permission, "see_metadata"]
    return [f"{PERMISSIONS[one]} requires the {role_with(one)} role." for one in needed]


def test_strangers_are_asked_to_log_in(engine: Engine, commits: None) -> None:
    for method, path, _ in MATRIX:
        answer = getattr(Browser(), method)(path.replace("Q", engine.queue))
        assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/login")


def test_a_disabled_action_names_the_action_and_the_role(viewer: Browser, engine: Engine) -> None:
    disabled = {
        one.text.split(",")[0].strip(): one.attributes["title"]
        for one in viewer.see(f"/queues/{engine.queue}").all("span", aria_disabled="true")
    }

    assert disabled["Send"] == "Sending requires the operator role."
    assert disabled["Pause"] == "Pausing and resuming queues requires the operator role."
    assert disabled["Purge"] == "Purging, deleting and restoring messages requires the operator role."


def test_a_user_without_a_role_gets_an_explanation(sign_in: Callable[[str], Browser]) -> None:
    page = sign_in("no role").see("/", status=403)

    assert "Viewing queues and metrics requires the viewer role." in page.text
    assert "An administrator assigns roles" in page.text


def test_a_permission_that_does_not_exist_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="unknown permission 'fly'"):
        requires("fly")
