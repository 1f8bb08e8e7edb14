"""A masked value leaves by no door, and no door answers a question about it, whatever the rule looks like."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from dlq.masking import rules
from dlq.masking.rules import MaskingRule
from dlq.redrives import plans
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from metrics.alerts.evaluating import findings
from queues.counters.queue_numbers import read_numbers
from queues.models import Queue
from tests.console.api.callers import Caller
from tests.console.browsers import Browser
from tests.console.masking.masks import no_rules_left as no_rules_left
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("no_rules_left")

EXAMPLES = settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Shape:
    """A rule, a message of which it masks a value, and the key by which a filter would ask for that."""

    part: str
    path: str
    put: Callable[[str], dict[str, Any]]
    key: str


SHAPES = [
    Shape("payload", "card.number", lambda value: {"card": {"number": value}}, "payload.card.number"),
    Shape("payload", "CARD", lambda value: {"card": {"number": value}}, "payload.card.number"),
    Shape("payload", "items.sku", lambda value: {"items": [{"sku": value}]}, "payload.items[].sku"),
    Shape("payload", "items.0.sku", lambda value: {"items": [{"sku": value}]}, "payload.items[].sku"),
    Shape("payload", "items.*.a.b", lambda value: {"items": [{"a": {"b": value}}]}, "payload.items[].a.b"),
    Shape("payload", "*.email", lambda value: {"to": {"email": value}}, "payload.to.email"),
    Shape("payload", "**.iban", lambda value: {"to": [{"iban": value}]}, "payload.to[].iban"),
    Shape("payload", "**.1", lambda value: {"pair": [1, value]}, "payload.pair[]"),
    Shape("payload", '"a.b".c', lambda value: {"a.b": {"c": value}}, 'payload."a.b".c'),
    Shape("attributes", "email", lambda value: {"email": value}, "attr.email"),
    Shape("attributes", "to.0", lambda value: {"to": [value]}, "attr.to[]"),
]
SCOPES = ["queue", "tenant", "everywhere", "dead-letter queue"]


@dataclass
class Scene:
    """A queue in which messages stand in every state, and all of them hold one secret."""

    engine: Engine
    shape: Shape
    scope: str
    secret: str
    core: str
    dead_only: bool
    ids: dict[str, int] = field(default_factory=dict)

    @property
    def queue(self) -> str:
        return self.engine.queue

    @property
    def holder(self) -> str:
        return f"{self.engine.queue}-dlq"

    def send(self) -> int:
        document = self.shape.put(self.secret)
        other = {"order": 7}
        payload, attributes = (document, other) if self.shape.part == "payload" else (other, document)
        return int(
            self.engine.value(
                "select signalbox.send(%s, %s, attributes => %s)", self.queue, Jsonb(payload), Jsonb(attributes)
            )
        )

    def fail(self, message_id: int, **how: Any) -> None:
        (handle,) = [row[1] for row in self.engine.receive(100) if row[0] == message_id]
        self.engine.nack(
            handle,
            error_class="Declined",
            error=f"saw {self.secret} here",
            details=f"stack of {json.dumps(self.secret)}",
            **how,
        )


def scene_of(engine: Engine, shape: Shape, scope: str) -> Scene:
    """World made for each example; those of earlier examples stay, with other secrets."""
    MaskingRule.objects.all().delete()
    core = f"hidden{next(_numbers)}value"
    made = Scene(engine, shape, scope, f'{core} "x"', core, dead_only=scope == "dead-letter queue")
    first = made.send()
    made.fail(first, reason="rejected")  # its queue has a dead-letter queue from now on
    where = {
        "queue": {"queue": made.queue},
        "tenant": {"tenant": "default"},
        "everywhere": {},
        "dead-letter queue": {"queue": made.holder},
    }[scope]
    rules.add(part=shape.part, path=shape.path, actor="ann", **where)
    engine.value("select count(*) from signalbox.receive(%s, 100)", made.holder)
    for name in ("dead", "other"):
        made.ids[name] = made.send()
        made.fail(made.ids[name], reason="rejected")
    made.ids["retried"] = made.send()
    made.fail(made.ids["retried"], delay_seconds=3_000)
    made.ids["done"] = made.send()
    (handle,) = [row[1] for row in engine.receive(100) if row[0] == made.ids["done"]]
    engine.value("select acked from signalbox.ack(%s, %s)", [handle], [Jsonb({"seen": made.secret})])
    made.ids["ready"] = made.send()
    made.ids["received"] = engine.value(
        "select max(message_id) from signalbox.lease where queue_id = (select dead_letter_queue_id from signalbox.queue"
        " where name = %s)",
        made.queue,
    )
    return made


scenes = st.tuples(st.sampled_from(SHAPES), st.sampled_from(SCOPES))


@dataclass(frozen=True)
class People:
    operator: Browser
    admin: Browser
    caller: Caller

    def read(self, address: str) -> str:
        """All answers to a user who may read payloads, but not reveal."""
        if address.startswith("/v1/"):
            answer = self.caller.get(address)
            assert answer.status == 200, (address, answer.content)
            return answer.content.decode()
        page = (self.admin if address.startswith("/deletions") else self.operator).get(address)
        assert page.status_code == 200, address
        if page.streaming:
            return b"".join(page.streaming_content).decode()  # type: ignore[attr-defined]
        return page.content.decode()

    def refuses(self, address: str) -> bool:
        """Return whether the only answer to the filter in this address is that the field is masked."""
        if address.startswith("/v1/"):
            answer = self.caller.get(address)
            return answer.status == 422 and "masked" in answer.document["detail"]
        page = self.operator.get(address)
        if address.startswith("/exports/"):
            return page.status_code == 302
        if address.startswith("/redrives/new"):
            return page.status_code == 422 and "masked" in page.content.decode()
        return 'id="q-mistake"' in page.content.decode() and "masked" in page.content.decode()


@pytest.fixture
def people(operator: Browser, admin: Browser, caller: Caller) -> People:
    return People(operator, admin, caller)


DEAD_DOORS: dict[str, Callable[[Scene], str]] = {
    "page of the dead-letter queue": lambda s: f"/queues/{s.holder}",
    "its messages in flight": lambda s: f"/queues/{s.holder}/messages?state=leased",
    "a message in flight there": lambda s: f"/queues/{s.holder}/messages/{s.ids['received']}",
    "page of a dead message": lambda s: f"/queues/{s.queue}/messages/{s.ids['dead']}",
    "dead letters of the queue": lambda s: f"/dead-letters?q=queue:{s.queue}",
    "dead letters that are kept": lambda s: f"/dead-letters?q=queue:{s.holder}",
    "review of a redrive": lambda s: f"/redrives/new?q=queue:{s.queue}",
    "plan of a redrive": lambda s: f"/redrives/plans/{plan_of(s)}",
    "review of a deletion": lambda s: f"/deletions/new?q=queue:{s.queue}",
    "failure groups": lambda s: f"/dead-letters/failure-groups?q=queue:{s.queue}",
    "one failure group": lambda s: f"/dead-letters/failure-groups/{fingerprint(s)}",
    "two dead letters": lambda s: f"/dead-letters/compare?id={s.ids['dead']}&id={s.ids['other']}",
    "a dead letter beside a success": lambda s: f"/dead-letters/compare?id={s.ids['dead']}&with=success",
    "suggestions for dead letters": lambda s: f"/filter-suggestions?q={quote(s.shape.key)}:",
    "suggested paths": lambda s: f"/filter-suggestions?q={s.shape.key.partition('.')[0]}.",
    "suggestions for what is in flight": lambda s: (
        f"/filter-suggestions?queue={s.holder}&state=leased&q={quote(s.shape.key)}:"
    ),
    "suggested attributes of what is in flight": lambda s: f"/filter-suggestions?queue={s.holder}&state=leased&q=attr.",
    "suggested errors of what is in flight": lambda s: (
        f"/filter-suggestions?queue={s.holder}&state=leased&q=attr.dead_letter.error:"
    ),
    "export of dead letters": lambda s: f"/exports/dead-letters?q=queue:{s.queue}",
    "table of dead letters": lambda s: f"/exports/dead-letters?q=queue:{s.holder}&format=csv",
    "export of what is in flight": lambda s: f"/exports/messages/{s.holder}?state=leased",
    "API: dead": lambda s: f"/v1/queues/{s.holder}/messages",
    "API: in flight": lambda s: f"/v1/queues/{s.holder}/messages?state=leased",
}
DOORS: dict[str, Callable[[Scene], str]] = {
    "page of the queue": lambda s: f"/queues/{s.queue}",
    "ready": lambda s: f"/queues/{s.queue}/messages",
    "scheduled": lambda s: f"/queues/{s.queue}/messages?state=scheduled",
    "completed": lambda s: f"/queues/{s.queue}/messages?state=completed",
    "page of a message that is tried again": lambda s: f"/queues/{s.queue}/messages/{s.ids['retried']}",
    "page of a message that is done": lambda s: f"/queues/{s.queue}/messages/{s.ids['done']}",
    "suggestions for messages": lambda s: f"/filter-suggestions?queue={s.queue}&q={quote(s.shape.key)}:",
    "export of messages": lambda s: f"/exports/messages/{s.queue}?state=ready",
    "API: ready": lambda s: f"/v1/queues/{s.queue}/messages",
    "API: completed": lambda s: f"/v1/queues/{s.queue}/messages?state=completed",
}


def plan_of(scene: Scene) -> int:
    """Plan of a user who may reveal, and so may patch with a masked value."""
    pointer = scene.shape.key.partition(".")[2].replace("[]", "/0").replace(".", "/")
    patch = [
        {"op": "copy", "from": "", "path": "/copied"},
        {"op": "add", "path": "/card", "value": {"number": scene.secret}},
        {"op": "test", "path": f"/{pointer}", "value": "another"},
    ]
    options = Options(patch_kind="json", patch=patch[: 1 + 2 * (scene.shape.path == "card.number")])
    return plans.make(check_filter(f"queue:{scene.queue}"), actor="ann", reason="", options=options, may_reveal=True).pk


def fingerprint(scene: Scene) -> str:
    return str(
        scene.engine.value("select fingerprint from signalbox.dead_letter where message_id = %s", scene.ids["dead"])
    )


def check(scene: Scene, people: People, address: Callable[[Scene], str]) -> None:
    got = people.read(address(scene))
    assert scene.core not in got, got[max(0, got.find(scene.core) - 300) :][:600]


@pytest.mark.parametrize("door", DEAD_DOORS)
@EXAMPLES
@given(chosen=scenes)
def test_a_masked_value_of_a_dead_letter_leaves_by_no_door(
    engine: Engine, people: People, door: str, chosen: tuple[Shape, str]
) -> None:
    check(scene_of(engine, *chosen), people, DEAD_DOORS[door])


@pytest.mark.parametrize("door", DOORS)
@EXAMPLES
@given(shape=st.sampled_from(SHAPES), scope=st.sampled_from(SCOPES[:3]))
def test_a_masked_value_of_a_message_leaves_by_no_door(
    engine: Engine, people: People, door: str, shape: Shape, scope: str
) -> None:
    check(scene_of(engine, shape, scope), people, DOORS[door])


@EXAMPLES
@given(chosen=scenes)
def test_a_masked_value_leaves_by_no_mail_nor_webhook(
    engine: Engine, people: People, chosen: tuple[Shape, str]
) -> None:
    """Check that both carry the text of an alert, and nothing else of a queue."""
    scene = scene_of(engine, *chosen)
    queues = Queue.objects.filter(name__in=[scene.queue, scene.holder])

    said = [one.description for one in findings(read_numbers([queue.queue_id for queue in queues]))]

    assert said
    assert not [one for one in said if scene.core in one]


ASKED_OF_DEAD_LETTERS = [
    "/dead-letters?q={q}",
    "/redrives/new?q={q}",
    "/exports/dead-letters?q={q}",
]
ASKED_OF_A_QUEUE = [
    "/queues/{queue}/messages?{state}&q={q}",
    "/exports/messages/{queue}?{state}&q={q}",
    "/v1/queues/{queue}/messages?{state}&filter={q}",
]


def questions(scene: Scene) -> Iterator[str]:
    """About the value itself, right and wrong, and about texts that quote it."""
    key = scene.shape.key
    yield f"{key}:{json.dumps(scene.secret)}"
    yield f'-{key}:"wrong"'
    yield f"{key}:*"
    yield f"-{key}:wrong,/^{scene.core}/i"


@settings(EXAMPLES, max_examples=2)
@given(chosen=scenes)
def test_no_question_about_a_masked_value_of_a_dead_letter_is_answered(
    engine: Engine, people: People, chosen: tuple[Shape, str]
) -> None:
    scene = scene_of(engine, *chosen)
    quoting = [f"-error:/{scene.core}/i"]
    for question in (*questions(scene), *quoting):
        for named, address in zip(
            ("", f"queue:{scene.queue}", f"queue:{scene.holder}"), ASKED_OF_DEAD_LETTERS, strict=True
        ):
            assert people.refuses(address.format(q=quote(f"{named} {question}".strip()))), (address, named, question)
        assert people.refuses(f"/dead-letters?q=queue:{scene.holder},{scene.queue} {quote(question)}"), question
        given = f"/v1/queues/{scene.holder}/messages?filter={quote(question)}"
        assert people.refuses(given), question
        redrive = people.caller.post(f"/v1/queues/{scene.holder}:redrive", {"filter": question})
        assert redrive.status == 422, question
        assert "masked" in redrive.document["detail"]
    for question in (*questions(scene), f"attr.dead_letter.error:/{scene.core}/"):
        for address in ASKED_OF_A_QUEUE:
            asked = address.format(queue=scene.holder, state="state=leased", q=quote(question))
            assert people.refuses(asked), asked


@settings(EXAMPLES, max_examples=2)
@given(chosen=scenes)
def test_a_word_does_not_find_a_masked_value(engine: Engine, people: People, chosen: tuple[Shape, str]) -> None:
    """Check that pages look for a word in names only, and that the API refuses it."""
    scene = scene_of(engine, *chosen)
    for word in (scene.core, f"/{scene.core}/i"):
        for named in (f"queue:{scene.queue}", f"queue:{scene.holder}"):
            assert "No dead letter matches" in people.read(f"/dead-letters?q={quote(f'{named} {word}')}")
        assert people.refuses(f"/v1/queues/{scene.holder}/messages?filter={quote(word)}")
        redrive = people.caller.post(f"/v1/queues/{scene.holder}:redrive", {"filter": word})
        assert (redrive.status, "masked" in redrive.document["detail"]) == (422, True)


@EXAMPLES
@given(shape=st.sampled_from(SHAPES), scope=st.sampled_from(SCOPES[:3]))
def test_no_question_about_a_masked_value_of_a_message_is_answered(
    engine: Engine, people: People, shape: Shape, scope: str
) -> None:
    scene = scene_of(engine, shape, scope)
    for question in questions(scene):
        for address in ASKED_OF_A_QUEUE:
            asked = address.format(queue=scene.queue, state="state=ready", q=quote(question))
            assert people.refuses(asked), asked


def test_a_redrive_to_where_it_would_be_seen_is_refused(engine: Engine, caller: Caller, operator: Browser) -> None:
    scene = scene_of(engine, SHAPES[0], "queue")
    target = f"{engine.queue}-open"
    engine.value("select signalbox.create_queue(%s)", target)
    wanted = {"filter": "id:>0", "targetQueue": target}

    refused = caller.post(f"/v1/queues/{scene.holder}:redrive", wanted)

    assert (refused.status, refused.kind, refused.fields) == (422, "invalid-argument", ["targetQueue"])
    assert "would show fields that are masked in the source queues" in refused.document["detail"]
    rules.add(part="payload", path="card", queue=target, actor="ann")  # masks as much, and more
    assert caller.post(f"/v1/queues/{scene.holder}:redrive", wanted).status == 202
