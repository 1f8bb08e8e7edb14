"""Settings: one form made from the one list of settings, checked there and by the engine."""

from __future__ import annotations

import pytest

from queues.control.queues import configure_queue, get_queue
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from queues.settings import SETTINGS
from tests.console.browsers import Browser
from tests.engine import Engine


def settings_path(engine: Engine) -> str:
    return f"/queues/{engine.queue}/settings"


def test_every_setting_has_a_field_with_its_unit(admin: Browser, engine: Engine) -> None:
    page = admin.see(settings_path(engine))

    names = {one.attributes.get("name") for one in page.all("input")}
    assert set(SETTINGS) - names == {"paused", "mode", "dedup_scope", "wait_target_seconds"}
    assert {one.attributes["name"] for one in page.all("select")} >= {"mode", "dedup_scope", "wait_target_seconds"}
    assert "Retention in seconds, 4 d" in page.text
    assert SETTINGS["jitter"].help in page.text


def test_only_what_was_changed_is_written(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()
    configure_queue(engine.queue, {"max_receives": 9}, actor="another person")

    page = admin.submit(settings_path(engine), **{**form, "visibility_timeout_seconds": "45", "reason": "slow partner"})

    queue = get_queue(engine.queue)
    assert f"Changed 1 setting of {engine.queue}." in page.text
    assert (queue.visibility_timeout_seconds, queue.max_receives) == (45.0, 9)
    event = AuditEvent.objects.filter(queue_id=engine.queue_id).latest("audit_event_id")
    assert event.reason == "slow partner"
    assert event.details["changes"] == {"visibility_timeout_seconds": {"before": 30.0, "after": 45.0}}


def test_nothing_changed_is_said(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()

    assert "Nothing was changed." in admin.submit(settings_path(engine), **form).text


def test_out_of_range_is_refused_at_its_field(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()

    page = admin.submit(settings_path(engine), status=422, **{**form, "max_receives": "0"})

    assert "Ensure this value is greater than or equal to 1." in page.text
    assert page.one("input", id="id_max_receives").attributes["aria-invalid"] == "true"
    assert get_queue(engine.queue).max_receives == 5


def test_what_only_the_engine_knows_is_refused_at_its_field(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()

    page = admin.submit(settings_path(engine), status=422, **{**form, "dead_letter_queue": engine.queue})

    assert "is the queue itself" in page.text
    assert page.one("input", id="id_dead_letter_queue").attributes["aria-invalid"] == "true"


def test_a_queue_can_be_closed(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()

    page = admin.submit(settings_path(engine), **{**form, "closed": "on"})

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

    assert "There is a queue of this name." in taken.text
    assert "Letters, digits, dots, dashes and underscores" in impossible.text
    assert "<b>no" not in impossible.html


def test_a_service_level_is_chosen_from_the_bounds_that_waits_are_counted_by(admin: Browser, engine: Engine) -> None:
    form = admin.see(settings_path(engine)).fields()
    assert (form["wait_target_seconds"], form["wait_target_ratio"]) == ("60", "0.99")

    admin.submit(settings_path(engine), **{**form, "wait_target_seconds": "0.5", "wait_target_ratio": "0.999"})

    queue = get_queue(engine.queue)
    assert (queue.wait_target_seconds, queue.wait_target_ratio) == (0.5, 0.999)
    event = AuditEvent.objects.filter(queue_id=engine.queue_id).latest("audit_event_id")
    assert event.details["changes"] == {
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
