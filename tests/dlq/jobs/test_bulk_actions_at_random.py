"""Every bulk action after every other, drawn by a seed: nothing is lost, doubled or miscounted."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings

from dlq.failure_groups.notes import merge, split
from dlq.jobs.models import Deletion, Job, Purge, Redrive
from dlq.redrives import outcomes, plans, redrives
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions, purges, restore, trash
from queues import audit
from queues.dead_letters.ids import newest_id
from queues.errors import InvalidArgument
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.queues.dead_letters.clusters import counted, died, fold, recounted

STEPS = 70
CAUSES = ("TimeoutError", "KeyError", "ValueError")
PLACES = """
select message_id from signalbox.ready where queue_id = %(queue)s
union all select message_id from signalbox.waiting where queue_id = %(queue)s
union all select message_id from signalbox.scheduled where queue_id = %(queue)s
union all select message_id from signalbox.lease where queue_id = %(queue)s
union all select message_id from signalbox.dead_letter where source_queue_id = %(queue)s
union all select message_id from signalbox.trash where queue_id = %(queue)s
union all select unnest(message_ids) from signalbox.settled where queue_id = %(queue)s
"""


@dataclass
class Walk:
    """One person and one consumer, who do whatever comes to their minds."""

    scene: DeadLetterScene
    settings: LazySettings
    draw: random.Random
    sent: set[int] = field(default_factory=set)
    deaths: Counter[str] = field(default_factory=Counter)
    handles: list[str] = field(default_factory=list)
    removals: list[Purge | Deletion] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)

    def step(self) -> None:
        self.settings.TRASH_HOURS = self.draw.choice([0, 24, 24, 24])
        verbs: Sequence[tuple[int, Callable[[], None]]] = (
            (5, self.send),
            (8, self.die),
            (2, self.succeed),
            (3, self.redrive),
            (2, self.redrive_carefully),
            (3, self.delete),
            (2, self.purge),
            (6, self.undo),
            (1, self.expire),
            (1, self.empty_trash),
            (2, self.merge_or_split),
            (1, self.fold),
        )
        self.draw.choices([verb for _, verb in verbs], [weight for weight, _ in verbs])[0]()

    def send(self) -> None:
        for _ in range(self.draw.randint(2, 9)):
            options: dict[str, Any] = {"group_id": self.draw.choice("abcdef"), "priority": self.draw.choice([0, 5])}
            if self.draw.random() < 0.5:
                options["deduplication_id"] = str(self.draw.randint(1, 9))
            with suppress(psycopg.DatabaseError):  # another message holds the id, with another body
                payload = self.draw.choice([None, {"v": 1}, {"n": {"deep": [1.10, None]}}])
                self.sent.add(self.scene.engine.send(payload, **options))

    def receive(self) -> list[str]:
        return [row[1] for row in self.scene.engine.receive(self.draw.randint(1, 8))]

    def die(self) -> None:
        for handle in self.receive():
            cause = self.draw.choice(CAUSES)
            if self.scene.engine.nack(handle, reason="rejected", error_class=cause) == "dead":
                self.deaths[cause] += 1

    def succeed(self) -> None:
        self.scene.engine.ack(*self.receive())

    def filter(self) -> str:
        narrower = self.draw.choice(["", *(f" class:{cause}" for cause in CAUSES), " redrives:>0"])
        return f"{self.scene.filter}{narrower}"

    def plan(self, options: Options) -> Redrive:
        plan = plans.make(check_filter(self.filter()), actor="ann", reason="", options=options)
        return self.note(redrives.run(plan.pk, actor="ann"))

    def redrive(self) -> None:
        patch = self.draw.choice([None, {"v": 2}, {"v": None, "w": [1]}])
        options = Options(patch_kind="merge" if patch else "", patch=patch, max_redrives=None)
        redrives.run_in_foreground(self.plan(options).pk)

    def redrive_carefully(self) -> None:
        """Finish the canary, and then cancel or send all."""
        job = self.plan(Options(canary_messages=self.draw.randint(1, 2), canary_per_group=self.draw.random() < 0.5))
        for _ in range(2):
            redrives.run_slice(job.pk, seconds=0)
        redrives.cancel(job.pk, actor="ann")

    def delete(self) -> None:
        job = self.note(deletions.create(check_filter(self.filter()), newest_id(), actor="ann", reason=""))
        self.removals.append(deletions.run_in_foreground(job.pk))

    def purge(self) -> None:
        queue = self.draw.choice([self.scene.queue, f"{self.scene.queue}-dlq"])
        states = ["dead"] if queue.endswith("-dlq") else ["ready", "leased"]
        if queue.endswith("-dlq") and not self.deaths:
            return
        job = purges.create(queue, states, purges.preview(queue, states).bounds, queue, actor="ann", reason="")
        self.removals.append(purges.run_in_foreground(self.note(job).pk))

    def undo(self) -> None:
        if full := [one for one in self.removals if trash.heap_of(one)]:
            removal = self.draw.choice(full)
            restore.run_in_foreground(self.note(restore.create(removal.NOUN, removal.pk, actor="ann", reason="")).pk)

    def expire(self) -> None:
        engine = self.scene.engine
        engine.connection.execute(
            "update signalbox.dead_letter set died_at = died_at - interval '9 years' where dead_letter_id = any(array("
            "select dead_letter_id from signalbox.dead_letter where source_queue_id = %s order by 1 limit 2))",
            [engine.queue_id],
        )
        engine.value("select signalbox.expire_messages()")

    def empty_trash(self) -> None:
        for removal in self.removals[-3:]:
            self.scene.engine.connection.execute(
                "update signalbox.trash_batch set expires_at = now() - interval '1 hour' where trash_batch_id = %s",
                [removal.trash_batch_id],
            )
        self.scene.engine.value("select signalbox.empty_trash(%s)", self.draw.choice([1, 3, 1_000]))

    def merge_or_split(self) -> None:
        known = sorted(died(self.scene.engine))
        if len(known) > 1:
            one, other = self.draw.sample(known, 2)
            with suppress(InvalidArgument):  # they are one already, or it is part of another
                merge(one, other, actor="ann") if self.draw.random() < 0.6 else split(one, actor="ann")

    def fold(self) -> None:
        fold(self.scene.engine)

    def bring_back(self) -> None:
        """Restore something at the end of each walk."""
        self.settings.TRASH_HOURS = 24
        engine = self.scene.engine
        message_id = engine.send({"v": 1})
        self.sent.add(message_id)
        while (row := engine.receive_one())[0] != message_id:
            engine.ack(row[1])
        assert engine.nack(row[1], reason="rejected", error_class=CAUSES[0]) == "dead"
        self.deaths[CAUSES[0]] += 1
        dead = self.scene.dead()
        job = self.note(deletions.create(check_filter(f"id:{message_id}"), newest_id(), actor="ann", reason=""))
        assert deletions.run_in_foreground(job.pk).deleted == 1
        restore.run_in_foreground(self.note(restore.create("deletion", job.pk, actor="ann", reason="")).pk)
        assert self.scene.dead() == dead

    def note(self, job: Any) -> Any:
        self.jobs.append(job)
        return job

    def check(self) -> None:
        engine = self.scene.engine
        places = Counter(row[0] for row in engine.connection.execute(PLACES, {"queue": engine.queue_id}))
        assert {one: number for one, number in places.items() if number != 1} == {}
        assert set(places) == self.sent
        with engine.connection.transaction():
            engine.connection.execute("set transaction isolation level repeatable read")
            for name in (engine.queue, f"{engine.queue}-dlq"):
                drift = engine.rows(
                    "select d.* from signalbox.queue q, signalbox.counter_drift(q.queue_id) d where q.name = %s", name
                )
                assert [one for one in drift if one[2] != one[3]] == []
        assert counted(engine) == recounted(engine)
        assert sum(died(engine).values()) == self.deaths.total()
        self.check_jobs()
        assert audit.verify().complaint == ""

    def check_jobs(self) -> None:
        for job in self.jobs:
            if isinstance(job, Redrive):
                outcomes.refresh(job.pk)
            job.refresh_from_db()
            assert (job.state in ("done", "cancelled"), job.error) == (True, "")
            if isinstance(job, Redrive):
                self.check_outcomes(job)
            elif isinstance(job, Purge | Deletion) and job.trash_batch_id:
                self.check_trash(job.trash_batch_id)

    def check_outcomes(self, job: Redrive) -> None:
        noted = dict(
            self.scene.engine.rows(
                "select coalesce(outcome::text, ''), count(*) from signalbox.redriven where redrive_id = %s group by 1",
                job.pk,
            )
        )
        said = {"a": job.succeeded, "s": job.failed_same, "n": job.failed_new, "g": job.gone, "": job.open_outcomes}
        assert noted == {letter: number for letter, number in said.items() if number}
        assert sum(noted.values()) == job.moved

    def check_trash(self, trash_batch_id: int) -> None:
        [(counts, rows)] = self.scene.engine.rows(
            "select trashed - restored - emptied,"
            " (select count(*) from signalbox.trash t where t.trash_batch_id = r.trash_batch_id)"
            " from signalbox.trash_batch r where trash_batch_id = %s",
            trash_batch_id,
        )
        assert counts == rows


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.proof)])
@pytest.mark.parametrize(
    "kind",
    [{}, {"dedup_scope": "in_flight"}, {"mode": "fifo"}, {"mode": "fifo", "fifo_block_on_dead_letter": True}],
    ids=["plain", "in_flight", "fifo", "blocking"],
)
def test_any_order_of_bulk_actions(
    make_dead_letter_scene: Callable[..., DeadLetterScene], settings: LazySettings, kind: dict[str, Any], seed: int
) -> None:
    settings.APPROVAL_REDRIVE_MESSAGES = settings.APPROVAL_DELETE_MESSAGES = settings.APPROVAL_UNDO_MESSAGES = 0
    walk = Walk(make_dead_letter_scene(**kind), settings, random.Random(seed))

    for _ in range(STEPS):
        walk.step()

    walk.bring_back()
    walk.check()
