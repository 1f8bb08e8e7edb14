"""Every page of the console in a real browser: readable by everybody, in both colours, at any width."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Page

from dlq.erasure import erasures
from dlq.jobs.models import Redrive
from dlq.redrives import plans, redrives
from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions, purges, restore
from metrics.alerts import message_text, receiving, silences
from metrics.alerts.models import Alert, Notification
from pipeline.models import Run
from queues.dead_letters.ids import newest_id
from tests.archive_runs import committed_run, forget
from tests.browser.conftest import RULES, VIOLATIONS_ALONE
from tests.engine import Engine
from tests.metrics.alertmanager import alert, message
from tests.streams import Log, make_log

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900), pytest.mark.proof]

PATHS = [
    "/",
    "/?q=helth:x",
    "/queues/Q",
    "/queues/Q-dlq",
    "/queues/Q/messages",
    "/queues/Q/groups",
    "/queues/Q/consumers",
    "/queues/Q/settings",
    "/queues/Q/audit",
    "/queues/Q/history?range=15m",
    "/queues/Q-dlq/history",
    "/history?range=7d",
    "/tenants/1/history?from=2020-01-01T00:00",
    "/queues/Q/send",
    "/queues/Q/purge",
    "/purges/U",
    "/queues/Q/retire",
    "/queues/Q/rename?new_name=Q-renamed&grace_days=7",
    "/dead-letters?q=queue:Q",
    "/dead-letters/failure-groups?q=queue:Q",
    "/dead-letters/failure-groups/CLUSTER",
    "/dead-letters/compare?id=FIRST&id=SECOND",
    "/dead-letters/compare?id=FIRST",
    "/redrives",
    "/redrives/new?q=queue:Q",
    "/redrives/plans",
    "/purges",
    "/undos",
    "/redrives/plans/P",
    "/redrives/R",
    "/redrives/R/messages?outcome=open",
    "/deletions/new?q=queue:Q",
    "/trash",
    "/undos/new?noun=purge&id=U",
    "/undos/ASKED",
    "/deletions/GONE",
    "/approvals",
    "/saved-filters",
    "/consumers",
    "/old-snapshots",
    "/fleet",
    "/pipeline",
    "/pipeline/RUN",
    "/pipeline/failures",
    "/pipeline/replay",
    "/history?range=90d",
    "/audit",
    "/alerts",
    "/alerts?q=state:maybe",
    "/alerts/silences?queue=Q-dlq",
    "/alerts/notifications",
    "/alerts/channels",
    "/alerts/channels/new/webhook",
    "/runbooks/SignalboxDeadLetters",
    "/streams",
    "/subscriptions",
    "/captures",
    "/streams/LOG",
    "/streams/LOG/messages",
    "/streams/LOG/append",
    "/streams/LOG/new-group",
    "/streams/LOG/new-capture",
    "/streams/LOG/rename?new_name=other",
    "/streams/LOG/delete",
    "/streams/LOG/groups/slow",
    "/streams/LOG/groups/slow/seek?point=beginning",
    "/streams/LOG/groups/slow/settings?filter=payload.n:1",
    "/streams/LOG/groups/slow/drop",
    "/new-stream",
    "/schedules",
    "/approvals/rules",
    "/tenants",
    "/people",
    "/account",
    "/people/WHO/grants",
    "/api-keys",
    "/api-keys/KEY/revoke",
    "/v1/docs",
    "/docs",
    "/docs?page=operate/filters",
    "/problems/lease-lost",
    "/maintenance",
    "/maintenance/plan?reason=upgrade&minutes=60&holds_claims=on",
    "/masking",
    "/erasures",
    "/erasures/new",
    "/erasures/E",
    "/new-queue",
    "/messages/M",
    "/palette?q=Q",
]
RULES_OF_COLOUR = {"runOnly": ["color-contrast", "link-in-text-block"], **VIOLATIONS_ALONE}
THEMES: dict[Literal["light", "dark"], dict[str, list[str]]] = {"light": RULES, "dark": RULES_OF_COLOUR}
WIDTHS = (320, 390, 720, 1100)  # 720 is a window of 1440 at 200 %
READ_WIDTHS = (390, 720)
CUT_WORDS = """() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  const lines = () => new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
  const cut = new Set();
  while (texts.nextNode()) {
    const text = texts.currentNode, part = text.parentElement;
    range.selectNodeContents(text);
    if (lines() < 2 || part.closest("script, pre, code, svg, .sr") || !part.checkVisibility()) continue;
    for (const { 0: word, index } of text.data.matchAll(/[a-z]{3,}/gi)) {
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (lines() > 1) cut.add(`${word} in ${part.outerHTML.slice(0, 200)}`);
    }
  }
  return [...cut];
}"""

OpenConsole = Callable[..., Page]


@pytest.fixture
def archive_run(commits: None) -> Iterator[Run]:
    """Archive run that has finished, with a file."""
    run = committed_run("/srv/archive", ["run-00000001-82ae76d6-00000"], timezone.now())
    yield run
    forget(run)


@pytest.fixture
def paths(commits: None, engine: Engine, settings: LazySettings, archive_run: Run) -> list[str]:
    """Every kind of page, over a queue that has something of everything."""
    engine.value("select signalbox.configure_queue(%s, '{\"group_max_in_flight\": 3}')", engine.queue)
    for number in (1, 2):
        stack = f'  File "/app/orders.py", line {number}, in ship'
        engine.die({"order": {"id": number}}, error_class="TimeoutError", error=f"late by {number} s", details=stack)
    dead = engine.rows(
        "select fingerprint, message_id from signalbox.dead_letter where source_queue_id = %s", engine.queue_id
    )
    message_id = engine.send({"order": {"id": 2, "lines": [1, 2, {"sku": "a"}]}}, attributes={"region": "eu"})
    engine.send(delay_seconds=600)
    engine.receive(consumer="worker-1")
    undoable, asked = _purged_and_asked_back(engine, settings)
    _alerted(engine)
    engine.value("select signalbox.aggregate_counters()")
    engine.value("select signalbox.record_history()")
    plan, job = redriven(engine)
    names = {"CLUSTER": dead[0][0], "FIRST": str(dead[0][1]), "SECOND": str(dead[1][1])}
    names |= {"RUN": str(archive_run.pk), "ASKED": str(asked), "GONE": str(_deleted(engine))}
    names |= {
        "LOG": streamed(engine).name,
        "/erasures/E": f"/erasures/{_erasure(engine)}",
        "KEY": str(_api_key(f"shop-{engine.queue}")),
        "Q": engine.queue,
        "M": str(message_id),
        "P": str(plan.pk),
        "R": str(job.pk),
        "U": str(undoable),
        "WHO": str(_granted(f"granted-{engine.queue}", engine.queue)),
    }
    return [re.sub("|".join(names), lambda name: names[name[0]], path) for path in PATHS]


def _erasure(engine: Engine) -> int:
    """An erasure that is paused before it began."""
    wanted = erasures.ErasureRequest("**.email", "ann@example.org", queues=[engine.queue])
    job = erasures.create(wanted, actor="ann", reason="request 7", confirmation=erasures.WORD, wake=False)
    erasures.pause(job.pk, actor="ann")
    return job.pk


def _granted(name: str, queue: str) -> int:
    """User with a role for this queue only."""
    person = User.objects.create_user(name)
    call_command("grant", "give", name, "operator", "--prefix", queue, stdout=io.StringIO())
    return person.pk


def _api_key(name: str) -> int:
    """A key of a tenant, for some queues, with a limit; returns its number."""
    limits = ["--tenant", "acme", "--prefix", "orders-", "--rate", "2.5", "--expires", "90d"]
    call_command("apikey", "create", name, "--scopes", "send,receive", *limits, stdout=io.StringIO())
    listed = io.StringIO()
    call_command("apikey", "list", "--json", stdout=listed)
    return next(int(key["key_id"]) for key in json.loads(listed.getvalue()) if key["key"] == name)


def streamed(engine: Engine) -> Log:
    """Stream with a lagging group that has a dead member, and a group that feeds a queue."""
    log = make_log(engine.connection, partitions=2, alert_group_lag_seconds=1)
    log.group("slow")
    log.group("mail", queue=engine.queue)
    for n in range(6):
        log.append({"n": n, "text": "<b>" + "long " * 60}, key=f"customer-{n}")
    log.commit(log.read("worker-1", group="slow")[0], "worker-1", "slow")
    log.end_lease("worker-1", "slow")
    log.value("select signalbox.record_group_history()")
    return log


def _alerted(engine: Engine) -> None:
    """Alerts of every kind of line, a silence, and a mail that did not arrive."""
    silences.create(alert="", queue="*silent*", ends_at=timezone.now() + timedelta(hours=1), comment="x", actor="ann")
    names = (f"{engine.queue}-dlq", "silent", "over")
    told = [alert(queue=name, severity="critical", status="resolved" if name == "over" else "firing") for name in names]
    receiving.receive(message(*told))
    rows = list(Alert.objects.filter(queue_name__in=names))
    Notification.objects.create(channel="mail", target="a@b.example", news=message_text.write(rows, timezone.now()))


def redriven(engine: Engine) -> tuple[Plan, Redrive]:
    """A plan with something of everything, and what came of running another."""
    engine.die({"region": "us"}, error_class="TooLate", error="late")
    filter_text, patch = f"queue:{engine.queue}", [{"op": "replace", "path": "/region", "value": "eu"}]
    options = Options(canary_messages=1, patch_kind="json", patch=patch, slow_depth=1_000)
    plan = plans.make(check_filter(filter_text), actor="ann", reason="partner is back", options=options)
    job = redrives.run(plans.make(check_filter(f"{filter_text} class:TooLate"), actor="ann", reason="").pk, actor="ann")
    redrives.run_in_foreground(job.pk)
    return plan, job


def _deleted(engine: Engine) -> int:
    """A deletion of one dead letter, done."""
    engine.die({"region": "us"}, error_class="Obsolete", error="no longer needed")
    job = deletions.create(
        check_filter(f"queue:{engine.queue} class:Obsolete"), newest_id(), actor="ann", reason="<b>old</b>"
    )
    deletions.run_in_foreground(job.pk)
    return int(job.pk)


def _purged_and_asked_back(engine: Engine, settings: LazySettings) -> tuple[int, int]:
    """Purge whose messages are in the trash, and an undo that awaits approval."""
    for n in range(2):
        engine.send(n, delay_seconds=600)
    bounds = purges.preview(engine.queue, ["scheduled"]).bounds
    job = purges.create(engine.queue, ["scheduled"], bounds, engine.queue, actor="ann", reason="wrong <b>queue</b>")
    purges.run_in_foreground(job.pk)
    settings.APPROVAL_UNDO_MESSAGES = 1
    asked = restore.create("purge", job.pk, actor="ann", reason="not those")
    assert asked.is_awaiting
    return int(job.pk), int(asked.pk)


def test_every_page_is_accessible_and_scrolls_no_way_but_down(open_console: OpenConsole, paths: list[str]) -> None:
    """Check the page in both colours; it fits narrow, medium and wide windows, and no word goes on in the next line."""
    page = open_console(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")

    found = {}
    for path in paths:
        page.goto(path)
        for theme, rules in THEMES.items():
            page.emulate_media(color_scheme=theme)
            for one in Axe().run(page, options=rules).response["violations"]:
                found[path, theme, one["id"]] = [node["html"] for node in one["nodes"]]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            if page.evaluate("document.documentElement.scrollWidth") > width:
                found[path, width] = "scrolls sideways"
            if width in READ_WIDTHS and (cut := page.evaluate(CUT_WORDS)):
                found[path, width, "cut words"] = cut
        page.set_viewport_size({"width": 1280, "height": 900})
    assert found == {}
