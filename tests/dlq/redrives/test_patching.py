"""Payloads changed on the way: what the two standards say, what does not apply, and what is kept."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from dlq.jobs.models import Redrive
from dlq.redrives import outcomes, patching, plans, redrives
from dlq.redrives.patching import DoesNotApply
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from queues.errors import InvalidArgument
from tests.dlq.dead_letter_scenes import DeadLetterScene, originals

MERGES = [  # the table in the appendix of RFC 7396
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "result"), MERGES)
def test_a_merge_is_that_of_the_standard(target: Any, patch: Any, result: Any) -> None:
    assert patching.merged(target, patch) == result


def patched(kind: str, document: Any, payload: Any, most_bytes: int = 1_000) -> Any:
    patch = patching.read(kind, document)
    assert patch
    return json.loads(patch.apply(json.dumps(payload), most_bytes))


def test_operations_apply_in_order_or_not_at_all() -> None:
    operations = [
        {"op": "test", "path": "/a", "value": 1},
        {"op": "add", "path": "/list/-", "value": {"n": 1}},
        {"op": "move", "from": "/a", "path": "/b"},
    ]

    assert patched("json", operations, {"a": 1, "list": []}) == {"b": 1, "list": [{"n": 1}]}
    with pytest.raises(DoesNotApply):
        patched("json", operations, {"a": 2, "list": []})
    with pytest.raises(DoesNotApply):
        patched("json", operations, "text")


def test_one_payload_leaves_nothing_behind_for_the_next() -> None:
    patch = patching.read("json", [{"op": "add", "path": "/a", "value": []}, {"op": "add", "path": "/a/-", "value": 1}])
    assert patch

    assert [json.loads(patch.apply("{}")) for _ in range(2)] == [{"a": [1]}, {"a": [1]}]


def test_numbers_stay_exact_or_the_message_stays() -> None:
    patch = patching.read("merge", {"x": 1})
    assert patch

    assert '"id": 12345678901234567890' in patch.apply('{"id": 12345678901234567890, "n": 0.10}')
    with pytest.raises(DoesNotApply, match="would be rounded"):
        patch.apply('{"n": 0.12345678901234567890}')


@pytest.mark.parametrize(
    ("kind", "document", "field"),
    [
        ("merge", [1], "patch"),
        ("merge", None, "patch"),
        ("merge", {"a": "\x00"}, "patch"),
        ("merge", {"a": "\ud800"}, "patch"),
        ("merge", {"a": "x" * 70_000}, "patch"),
        ("json", {}, "patch"),
        ("json", [], "patch"),
        ("json", ["add"], "patch"),
        ("json", [{"op": "add", "path": "a", "value": 1}], "patch"),
        ("json", [{"op": "add", "path": "/a"}], "patch"),
        ("json", [{"op": "move", "path": "/a"}], "patch"),
        ("json", [{"op": "add", "path": "/a", "value": 1}] * 101, "patch"),
        ("xml", {}, "patch_kind"),
        ("", {}, "patch_kind"),
    ],
)
def test_a_patch_that_is_none_names_its_field(kind: str, document: Any, field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        patching.read(kind, document)
    assert refused.value.field == field


def run(scene: DeadLetterScene, kind: str, patch: Any, **options: Any) -> Redrive:
    chosen = Options(patch_kind=kind, patch=patch, **options)
    plan = plans.make(check_filter(scene.filter), actor="ann", reason="", options=chosen)
    return redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk)


def test_the_patched_payload_is_delivered_and_the_original_kept(scene: DeadLetterScene) -> None:
    scene.engine.die({"region": "us", "n": 1})
    [(message_id,)] = scene.engine.rows(
        "select message_id from signalbox.dead_letter where source_queue_id = %s", scene.engine.queue_id
    )

    job = run(scene, "merge", {"region": "eu"})
    (delivered, handle, count, payload, _) = scene.engine.receive_one()

    assert (delivered, count, payload) == (message_id, 1, {"region": "eu", "n": 1})
    [kept] = originals(message_id)
    assert (kept.payload, kept.redrive_id) == ({"region": "us", "n": 1}, job.pk)
    scene.engine.ack(handle)
    outcomes.refresh(job.pk)
    job.refresh_from_db()
    assert (job.succeeded, job.open_outcomes) == (1, 0)


def test_a_patched_message_that_dies_again_stays_patched(
    make_dead_letter_scene: Callable[..., DeadLetterScene],
) -> None:
    home, away = make_dead_letter_scene(), make_dead_letter_scene()
    home.engine.die({"v": 1})
    run(home, "merge", {"v": 2}, target_queue=away.queue)
    row = away.engine.receive_one()
    away.engine.nack(row[1], reason="rejected")

    back = plans.make(check_filter(away.filter), actor="ann", reason="", options=Options(target_queue=home.queue))
    redrives.run_in_foreground(redrives.run(back.pk, actor="ann").pk)

    assert home.engine.receive_one()[3] == {"v": 2}  # not what the log of its first queue has
    assert [one.payload for one in originals(row[0])] == [{"v": 1}]


def test_what_it_does_not_apply_to_stays_and_is_counted(scene: DeadLetterScene) -> None:
    scene.add_dead(2, payload={"region": "us"})
    others = scene.add_dead(3)

    plan_job = run(scene, "json", [{"op": "replace", "path": "/region", "value": "eu"}])

    assert (plan_job.moved, plan_job.skipped, plan_job.skipped_why) == (2, 3, {"patch": 3})
    assert scene.dead() == others
    assert plan_job.plan
    assert plan_job.plan.impact.patch.not_applied == 3


def test_a_payload_that_would_be_too_large_stays(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    scene = make_dead_letter_scene(max_payload_bytes=1_024)
    scene.add_dead(1)

    job = run(scene, "merge", {"text": "x" * 2_000})

    assert (job.moved, job.skipped_why) == (0, {"patch": 1})


def test_a_large_body_is_not_patched(scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    scene.engine.connection.execute(
        "update signalbox.dead_letter set body_sha256 = sha256('x'), body_bytes = 1 where source_queue_id = %s",
        [scene.engine.queue_id],
    )

    assert run(scene, "merge", {"a": 1}).skipped_why == {"large_body": 1}


def test_what_the_patch_does_not_change_goes_as_it_is(scene: DeadLetterScene) -> None:
    message_id = scene.engine.send({"a": 1})
    scene.engine.nack(scene.engine.receive_one()[1], reason="rejected")

    assert run(scene, "merge", {"a": 1}).moved == 1
    assert originals(message_id) == []


def test_a_sender_who_repeats_the_original_is_known_again(
    make_dead_letter_scene: Callable[..., DeadLetterScene],
) -> None:
    """The deduplication id stands for what was sent, whatever became of it since."""
    scene = make_dead_letter_scene(dedup_scope="in_flight")
    engine = scene.engine
    first = engine.send({"v": 1}, deduplication_id="k")
    for version in (2, 3):
        engine.nack(engine.receive_one()[1], reason="rejected")
        run(scene, "merge", {"v": version})

        assert engine.send({"v": 1}, deduplication_id="k") == first
    with pytest.raises(psycopg.DatabaseError, match="another body"):
        engine.send({"v": 3}, deduplication_id="k")


@pytest.mark.parametrize("operations", [18, 99])
def test_a_patch_that_doubles_a_payload_is_stopped_while_it_runs(operations: int) -> None:
    bomb = [{"op": "add", "path": "/zz", "value": [1]}]
    bomb += [{"op": "copy", "from": "/zz", "path": "/zz/-"}] * operations
    patch = patching.read("json", bomb)
    assert patch

    tracemalloc.start()
    try:
        with pytest.raises(DoesNotApply, match="write more than 262,144 bytes"):
            patch.apply("{}")
        assert tracemalloc.get_traced_memory()[1] < 64_000_000
    finally:
        tracemalloc.stop()


def test_what_is_written_and_taken_away_again_counts() -> None:
    wasteful = [
        {"op": "copy", "from": "/text", "path": "/copy"},
        {"op": "remove", "path": "/copy"},
    ] * 3

    with pytest.raises(DoesNotApply, match="write more than"):
        patched("json", wasteful, {"text": "x" * 100_000}, 262_144)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/card", "value": 1},
        {"op": "remove", "path": "/card/number"},
        {"op": "copy", "from": "/card/number", "path": "/b"},
        {"op": "add", "path": "/list/7", "value": 1},
        {"op": "add", "path": "/card/number", "value": 1},
        {"op": "remove", "path": "/card/0/1"},
        {"op": "move", "from": "/list/7", "path": "/b"},
        {"op": "replace", "path": "/none", "value": 1},
    ],
)
def test_why_a_patch_does_not_apply_quotes_nothing_of_the_payload(operation: dict[str, Any]) -> None:
    with pytest.raises(DoesNotApply) as caught:
        patched("json", [operation], {"card": "411122223333", "list": [411122223333]})

    assert "4111" not in str(caught.value)
    assert str(caught.value).startswith(f"operation 1, {operation['op']} ")


def test_long_documents_are_compared_in_little_time() -> None:
    before, after = json.dumps(list(range(60_000))), json.dumps([n * 3 + 1 for n in range(60_000)])
    began = time.process_time()

    lines = patching.difference(before, after)

    assert time.process_time() - began < 10
    assert ("+", "  4,") in lines
    assert ("-", "  2,") in lines
