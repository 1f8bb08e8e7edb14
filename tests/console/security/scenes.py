"""Console with one object of every kind, and a given text wherever people and programs may write one.

From it follow the addresses of all pages: the URLconf names the routes, the scene fills in what they ask for. A page of
something that the scene has not is not found, and that fails the tests that ask for all of them.
"""

from __future__ import annotations

import itertools
import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import override_settings
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from django.utils.http import urlencode
from psycopg.types.json import Jsonb

from console.access.api_keys import keys
from console.access.grants import grants as grants
from dlq.discards import discards
from dlq.discards.models import Discard
from dlq.erasure import erasures
from dlq.failure_groups.notes import describe
from dlq.filters import Filter
from dlq.jobs.models import Job
from dlq.masking import rules
from dlq.redrives import plans, redrives
from dlq.redrives.fleet.models import FleetRedrive
from dlq.redrives.plan_options import Options
from dlq.search import saved_filters
from dlq.search.checked_filter import check_filter
from dlq.search.saved_filters import SavedFilter
from dlq.trash import deletions, purges, restore
from metrics.alerts import message_text, receiving, silences
from metrics.alerts.models import Alert, Notification
from pipeline.models import Run
from tests.console.security.corpus import DOCUMENTS
from tests.engine import Engine
from tests.metrics.alertmanager import alert, message
from tests.streams import Log, make_log

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Route:
    """One entry of the URLconf."""

    name: str
    takes: frozenset[str]
    view: Any


@dataclass(frozen=True)
class Scene:
    """Objects of the scene. `text` stands in every free text field."""

    text: str
    engine: Engine
    log: Log
    ids: dict[str, Any]

    def path(self, route: Route) -> str:
        """Address of a route, with a query where the page shows nothing without one."""
        named = {"stream": self.log.name, "group": self.log.name, "runbook": "SignalboxDeadLetters"}
        noun = route.name.split("_")[0]
        name = named.get(noun, self.engine.queue)
        values = {
            **self.ids,
            "name": name,
            "group": self.log.name,
            "job_id": self.ids["undo_id"],
            "noun": "undo",
            "kind": "nothing",
        }
        query = self.queries().get(route.name, {})
        address = reverse(route.name, kwargs={one: values.get(one, 1) for one in route.takes})
        return f"{address}?{urlencode(query, doseq=True)}" if query else address

    def queries(self) -> dict[str, dict[str, Any]]:
        mine = f"queue:{self.engine.queue}"
        return {
            "compare": {"id": self.ids["pair"]},
            "deletion_new": {"q": mine},
            "redrive_new": {"q": mine},
            "dead_letters": {"q": mine},
            "failure_groups": {"q": mine},
            "undo_new": {"noun": "purge", "id": self.ids["purge_id"]},
            "group_seek": {"point": "beginning"},
            "maintenance_plan": {"reason": self.text, "minutes": "60"},
            "filter_suggestions": {"q": "class:", "at": 6},
            "audit": {"q": f"queue:{self.engine.queue}"},
        }


def routes() -> list[Route]:
    """Every address of the console, by name."""
    return [
        Route(str(entry.name), frozenset(entry.pattern.converters) | above, entry.callback)
        for entry, above in _patterns(get_resolver(), frozenset())
    ]


def _patterns(resolver: URLResolver, above: frozenset[str]) -> Iterator[tuple[URLPattern, frozenset[str]]]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from _patterns(entry, above | frozenset(entry.pattern.converters))
        else:
            yield entry, above


def make_scene(engine: Engine, text: str) -> Scene:
    """Write `text` wherever it is taken, and make one of everything."""
    number = next(_numbers)
    ids = _messages(engine, text) | _jobs(engine, text) | _configured(engine, text, number)
    log = _streamed(engine, text)
    _alerted(engine, text)
    engine.value("select signalbox.aggregate_counters()")
    engine.value("select signalbox.record_history()")
    asked = {"state": Job.State.AWAITING, "needs_approval": True, "approval_expires_at": timezone.now()}
    discard = Discard.objects.create(
        action="skip", stream_id=log.stream_id, stream_name=log.name, created_by=text[:150], reason=text[:500], **asked
    )
    return Scene(text, engine, log, ids | {"discard_id": discard.pk})


def _printable(text: str) -> str:
    """A trace id has no control characters."""
    return "".join(one for one in text if unicodedata.category(one) != "Cc")


def _messages(engine: Engine, text: str) -> dict[str, Any]:
    failure = {"error_class": text, "error": text, "details": f'  File "{text}", line 3, in {text}'}
    document = {text: [text, {"deeper": DOCUMENTS}], "region": "us"}
    for _ in range(2):
        engine.die(document, **failure)
    letters = engine.rows(
        "select message_id, fingerprint from signalbox.dead_letter where source_queue_id = %s order by 1",
        engine.queue_id,
    )
    described = {"attributes": {text: text}, "group_id": text, "deduplication_id": text, "trace_id": _printable(text)}
    message_id = engine.send(document, **described)
    engine.receive(consumer=text)
    engine.rows("select 1 from signalbox.announce_consumer(%s, %s, %s)", engine.queue, text, Jsonb({"host": text}))
    engine.value("select signalbox.limit_lane(%s, %s, 1)", engine.queue, text)
    engine.send(document, delay_seconds=600)
    describe(
        letters[0][1], note=text, owner=text, runbook_url=f"https://wiki.example/{''.join(text.split())}", actor=text
    )
    return {"message_id": message_id, "pair": [one[0] for one in letters], "fingerprint": letters[0][1]}


def _jobs(engine: Engine, text: str) -> dict[str, Any]:
    mine = f"queue:{engine.queue}"
    options = Options(canary_messages=1, patch_kind="json", patch=[{"op": "add", "path": "/new", "value": text}])
    plan = plans.make(check_filter(mine), actor=text, reason=text, options=options)
    job = redrives.run(plan.pk, actor=text, reason=text, wake=False)
    redrives.cancel(job.pk, actor=text, reason=text)
    over_cells = FleetRedrive.objects.create(
        filter_text=text, plans={text: plan.pk}, left_out={text: text}, created_by=text[:150], reason=text[:500]
    )
    deletion = deletions.create(check_filter(f"{mine} id:0"), plan.upper_bound, actor=text, reason=text)
    bounds = purges.preview(engine.queue, ["scheduled"]).bounds
    removed = purges.create(engine.queue, ["scheduled"], bounds, engine.queue, actor=text, reason=text)
    purges.run_in_foreground(removed.pk)
    with override_settings(APPROVAL_UNDO_MESSAGES=1):
        asked = restore.create("purge", removed.pk, actor=text, reason=text)
    wanted = erasures.ErasureRequest(json.dumps(f"not {text}"), text, queues=[engine.queue])
    erasure = erasures.create(wanted, actor=text, reason=text, confirmation=erasures.WORD, wake=False)
    erasures.cancel(erasure.pk, actor=text, reason=text)
    return {
        "erasure_id": erasure.pk,
        "plan_id": plan.pk,
        "redrive_id": job.pk,
        "fleet_redrive_id": over_cells.pk,
        "deletion_id": deletion.pk,
        "purge_id": removed.pk,
        "undo_id": asked.pk,
    }


def _configured(engine: Engine, text: str, number: int) -> dict[str, Any]:
    """Users, and the objects that they own."""
    ends_at = timezone.now() + timedelta(hours=1)
    silence = silences.create(alert="", queue=engine.queue, ends_at=ends_at, comment=text, actor=text)
    path, word = json.dumps(f"not {text}"), "".join(one for one in text if one.isprintable())
    rule = rules.add(part="payload", path=path, queue=engine.queue, actor=text, reason=text)
    chosen = str(Filter().with_term("class", text))
    kept = saved_filters.save("dead-letters", f"{number} {word}"[:80], chosen, owner=f"scene {number}", shared=True)
    key = keys.create(f"{number} {word}"[:100].strip(), "send", actor=text, tenant=word, reason=text)
    person = User.objects.create(username=f"{number} {text}"[:150], is_active=False)
    granted = grants.give(person, "viewer", tenant=word, prefix="", actor=text, reason=text)
    run = Run.objects.create(
        token="t", url=text, parts=[], state=Run.State.FAILED, started_by=text, error=text, finished_at=timezone.now()
    )
    return {
        "silence_id": silence.pk,
        "rule_id": rule.pk,
        "saved_filter_id": kept.pk,
        "key_id": key.row.pk,
        "person_id": person.pk,
        "grant_id": granted.pk,
        "run_id": run.pk,
        "tenant_id": engine.value("select tenant_id from signalbox.queue where queue_id = %s", engine.queue_id),
        "slug": "lease-lost",
    }


def _streamed(engine: Engine, text: str) -> Log:
    """A stream with a group of the same name as itself, and a member who died."""
    log = make_log(engine.connection, partitions=1, alert_group_lag_seconds=1)
    log.group(log.name)
    for _ in range(2):
        log.append({text: text}, key=text)
    log.read(text, group=log.name)
    log.end_lease(text, log.name)
    log.value("select signalbox.record_group_history()")
    return log


def _alerted(engine: Engine, text: str) -> None:
    """Alert with hostile labels, and an undelivered notification."""
    labels = {"queue": engine.queue, "severity": text, "reason": text, "tenant": text}
    told = [alert(name, **labels) for name in ("SignalboxDeadLetters", text)]
    for one in told:
        one["annotations"] = {"summary": text, "description": text, "runbook_url": f"javascript:alert('{text}')"}
        one["generatorURL"] = f"javascript:alert('{text}')"
    receiving.receive(message(*told))
    rows = list(Alert.objects.filter(queue_name=engine.queue))
    assert len(rows) == 2
    Notification.objects.create(
        channel="mail", target=text, news=message_text.write(rows, timezone.now()), last_error=text
    )


def clear(scene: Scene) -> None:
    """Take back what others would see: what is of the whole installation, and not of the scene's queue."""
    restore.cancel(scene.ids["undo_id"], actor="scene")
    discards.cancel(scene.ids["discard_id"], actor="scene")
    silences.end(scene.ids["silence_id"], actor="scene")
    rules.remove(scene.ids["rule_id"], actor="scene")
    keys.revoke(scene.ids["key_id"], actor="scene")
    User.objects.filter(pk=scene.ids["person_id"]).delete()
    Run.objects.filter(pk=scene.ids["run_id"]).delete()
    SavedFilter.objects.filter(pk=scene.ids["saved_filter_id"]).delete()
    Alert.objects.filter(queue_name=scene.engine.queue).delete()
    Notification.objects.filter(target=scene.text).delete()
