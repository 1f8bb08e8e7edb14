"""Settings: one form made from the one list of settings; changes are checked, reviewed, and then saved."""

from __future__ import annotations

import pytest

from queues.control.queues import configure_queue, get_queue
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from queues.settings import SETTINGS
from tests.console.browsers import Browser, Page
from tests.engine import Engine


def settings_path(engine: Engine) -> str:
    return f"/queues/{engine.queue}/settings"


def save(browser: Browser, engine: Engine, **values: str) -> Page:
    """Change settings as a person does: edit the form, read the review, and confirm it."""
    return browser.change(settings_path(engine), **values)


def last_event(engine: Engine) -> AuditEvent:
    return AuditEvent.objects.filter(queue_id=engine.queue_id).latest("audit_event_id")


def test_every_setting_has_a_field_with_its_unit_and_default(admin: Browser, engine: Engine) -> None:
    configure_queue(engine.queue, {"max_receives": 9}, actor="ana")

    page = admin.see(settings_path(engine))

    names = {one.attributes.get("name") for one in page.all("input")}
    assert set(SETTINGS) - names == {"paused", "mode", "dedup_scope", "wait_target_seconds"}
    assert {one.attributes["name"] for one in page.all("select")} >= {"mode", "dedup_scope", "wait_target_seconds"}
    assert "Retention (seconds, 4 d)" in page.text
    assert f"{SETTINGS['jitter'].help} Default: 0.2." in page.text
    assert "Max delivery attempts (deliveries) changed" in page.text
    assert page.text.count(" changed ") == 1


def test_changes_are_saved_after_a_review(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()
    configure_queue(engine.queue, {"max_receives": 9}, actor="another person")

    reviewed = admin.submit(settings_path(engine), status=200, **{**form, "visibility_timeout_seconds": "45"})

    assert "Review 1 change not saved yet" in reviewed.text
    [row] = reviewed.rows()
    assert row.startswith("Visibility timeout 30 seconds 45 seconds 30 seconds Applies to new deliveries.")
    assert get_queue(engine.queue).visibility_timeout_seconds == 30.0
    reviewed = admin.submit(settings_path(engine), status=200, **{**reviewed.fields(), "reason": "slow partner"})
    page = admin.confirm(settings_path(engine), reviewed)

    queue = get_queue(engine.queue)
    assert f"Changed 1 setting of {engine.queue}." in page.text
    assert (queue.visibility_timeout_seconds, queue.max_receives) == (45.0, 9)
    assert last_event(engine).reason == "slow partner"
    assert last_event(engine).details["changes"] == {"visibility_timeout_seconds": {"before": 30.0, "after": 45.0}}


def test_a_change_by_another_person_is_shown_and_not_overwritten(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()
    path, typed = settings_path(engine), {"max_receives": "9", "backoff_cap_seconds": "90"}
    reviewed = admin.submit(path, status=200, **{**form, **typed})
    configure_queue(engine.queue, {"max_receives": 8}, actor="ana")

    conflict = admin.confirm(path, reviewed, status=200)
    undecided = admin.confirm(path, conflict, status=422)

    assert "ana changed it from 5 deliveries to 8 deliveries, " in conflict.text
    assert "Keep 8 deliveries as Max delivery attempts Save 9 deliveries as Max delivery attempts" in conflict.text
    assert "Nothing was saved. Choose the value to keep: Max delivery attempts." in undecided.text
    assert undecided.fields()["max_receives"] == "9"
    assert (get_queue(engine.queue).max_receives, get_queue(engine.queue).backoff_cap_seconds) == (8, 3600)

    admin.confirm(path, undecided, **{"choose-max_receives": "theirs"})
    assert (get_queue(engine.queue).max_receives, get_queue(engine.queue).backoff_cap_seconds) == (8, 90)
    configure_queue(engine.queue, {"max_receives": 7}, actor="ana")
    admin.confirm(path, admin.confirm(path, conflict, status=200), **{"choose-max_receives": "mine"})
    assert get_queue(engine.queue).max_receives == 9


def test_other_values_than_those_reviewed_need_another_review(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()
    reviewed = admin.submit(settings_path(engine), status=200, **{**form, "max_receives": "9"})
    digest = reviewed.one("button", name="reviewed").attributes["value"]

    again = admin.submit(
        settings_path(engine), status=200, **{**reviewed.fields(), "max_receives": "900", "reviewed": digest}
    )

    assert "9 deliveries" not in again.rows()[0]
    assert get_queue(engine.queue).max_receives == 5


def test_nothing_changed_is_said(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()

    assert "Nothing was changed." in admin.submit(settings_path(engine), **form).text


def test_all_errors_are_said_at_once_and_linked(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()
    wrong = {
        "max_receives": "0",
        "jitter": "x",
        "backoff_base_seconds": "100",
        "backoff_cap_seconds": "1",
        "dead_letter_queue": engine.queue,
        "fifo_block_on_dead_letter": "on",
        "closed": "on",
    }

    page = admin.submit(settings_path(engine), status=422, **{**form, **wrong})

    summary = page.one("div", id="form-errors")
    assert "autofocus" in summary.attributes
    for sentence in (
        "0 is out of range. Allowed: 1 to 1,000 deliveries.",
        "Enter a number. Allowed: 0 to 1.",
        "The backoff base (100 seconds) is above the backoff cap (1 second). Lower the base or raise the cap.",
        "A queue cannot be its own dead-letter queue.",
        "needs a FIFO queue",
        "Give a reason: a closed queue refuses all sends.",
    ):
        assert sentence in summary.text
    assert "backoff_" not in summary.text  # one message for each mistake, with labels
    assert page.link("Max delivery attempts") == "#id_max_receives"
    folded = page.all("details", class_="group")
    assert folded, "what is not to be corrected is out of the way"
    assert not any("Max delivery attempts" in group.text for group in folded)
    assert page.one("input", id="id_max_receives").attributes["aria-invalid"] == "true"
    assert page.fields()["backoff_base_seconds"] == "100"
    assert get_queue(engine.queue).max_receives == 5


def test_a_rule_of_two_settings_holds_for_every_caller(commits: None, engine: Engine) -> None:
    with pytest.raises(InvalidArgument, match="backoff_cap_seconds is 1: it must be at least") as refused:
        configure_queue(engine.queue, {"backoff_cap_seconds": 1}, actor="ann")
    assert refused.value.field == "backoff_cap_seconds"

    configure_queue(engine.queue, {"backoff_cap_seconds": 1, "backoff_base_seconds": 1}, actor="ann")
    with pytest.raises(InvalidArgument, match="backoff_base_seconds is 2: it must be at most") as refused:
        configure_queue(engine.queue, {"backoff_base_seconds": 2}, actor="ann")
    assert refused.value.field == "backoff_base_seconds"


def test_the_review_warns_of_settings_that_do_not_fit(admin: Browser, engine: Engine) -> None:
    engine.send()
    engine.send()
    form = admin.see(settings_path(engine)).fields()
    values = {"alert_oldest_age_seconds": "500000", "max_backlog_messages": "1"}

    page = admin.submit(settings_path(engine), status=200, **{**form, **values})

    assert "(500,000 seconds) is above the retention (345,600 seconds). Messages expire before this" in page.text
    assert "Max backlog messages: usage is 2, above 1. Existing messages are kept" in page.text


def test_a_queue_is_closed_with_a_reason(admin: Browser, engine: Engine) -> None:
    page = save(admin, engine, closed="on", reason="moved to another system")

    assert get_queue(engine.queue).closed
    assert "closed" in page.text


def test_a_viewer_may_look_but_not_save(viewer: Browser, engine: Engine) -> None:
    page = viewer.see(settings_path(engine))

    assert page.all("fieldset", disabled="")
    assert "Changing queues, streams and quotas requires the admin role." in page.text
    assert viewer.post(settings_path(engine), {"max_receives": "9"}).status_code == 403
    assert get_queue(engine.queue).max_receives == 5


def test_a_new_queue_has_the_settings_one_chose(admin: Browser, engine: Engine) -> None:
    form = admin.see("/new-queue").fields()
    name = f"{engine.queue}-new"

    page = admin.submit("/new-queue", **{**form, "name": name, "tenant": "acme", "max_receives": "3"})

    queue = get_queue(name)
    assert f"Created {name}." in page.text
    assert (queue.tenant.name, queue.max_receives, queue.visibility_timeout_seconds) == ("acme", 3, 30.0)


def test_a_name_that_is_taken_or_impossible_is_refused(admin: Browser, engine: Engine) -> None:
    form = admin.see("/new-queue").fields()

    taken = admin.submit("/new-queue", status=422, **{**form, "name": engine.queue})
    impossible = admin.submit("/new-queue", status=422, **{**form, "name": "<b>no</b>"})

    assert f"The queue {engine.queue} exists already." in taken.text
    assert "Use letters, digits, dots, dashes and underscores" in impossible.text
    assert "<b>no" not in impossible.html


def test_a_service_level_is_chosen_from_the_bounds_that_waits_are_counted_by(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()
    assert (form["wait_target_seconds"], form["wait_target_ratio"]) == ("60", "0.99")

    save(admin, engine, wait_target_seconds="0.5", wait_target_ratio="0.999")

    queue = get_queue(engine.queue)
    assert (queue.wait_target_seconds, queue.wait_target_ratio) == (0.5, 0.999)
    assert last_event(engine).details["changes"] == {
        "wait_target_seconds": {"before": 60.0, "after": 0.5},
        "wait_target_ratio": {"before": 0.99, "after": 0.999},
    }


def test_a_wait_target_between_the_bounds_is_refused_at_its_field(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()

    page = admin.submit(settings_path(engine), status=422, **{**form, "wait_target_seconds": "45"})

    assert "45 is not one of the available choices" in page.text
    with pytest.raises(InvalidArgument, match=r"it must be one of 0\.005, 0\.025") as refused:
        configure_queue(engine.queue, {"wait_target_seconds": 45}, actor="ann")
    assert refused.value.field == "wait_target_seconds"
    assert get_queue(engine.queue).wait_target_seconds == 60
