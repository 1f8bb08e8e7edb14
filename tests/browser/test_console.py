"""The console in a real browser: readable by everybody, live, quiet while one reads, usable without a mouse."""

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
from playwright.sync_api import Page, expect

from dlq import deletions, plans, purge, redrives, undo
from dlq.erasing import erasures
from dlq.models import Plan, Redrive
from dlq.plan_options import Options
from dlq.selecting import newest_id
from metrics.alerts import news, receiving, silences
from metrics.alerts.models import Alert, Notification
from pipeline.models import ArchiveFile, Run
from tests.browser.conftest import PASSWORD
from tests.dlq.graveyards import Graveyard
from tests.engine import Engine
from tests.metrics.alertmanager import alert, message
from tests.streams import Log, make_log

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

PATHS = [
    "/",
    "/?q=helth:x",
    "/queues/Q",
    "/queues/Q-dlq",
    "/queues/Q/messages",
    "/queues/Q/lanes",
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
    "/dead-letters/clusters?q=queue:Q",
    "/dead-letters/clusters/CLUSTER",
    "/dead-letters/compare?id=FIRST&id=SECOND",
    "/dead-letters/compare?id=FIRST",
    "/redrives",
    "/redrives/new?q=queue:Q",
    "/redrives/plans",
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
    "/runbooks/SignalboxDeadLetters",
    "/streams",
    "/streams/LOG",
    "/streams/LOG/messages",
    "/streams/LOG/new-group",
    "/streams/LOG/groups/slow",
    "/streams/LOG/groups/slow/rewind?point=beginning",
    "/streams/LOG/groups/slow/drop",
    "/new-stream",
    "/tenants",
    "/people",
    "/account",
    "/people/WHO/grants",
    "/api-keys",
    "/api-keys/KEY/revoke",
    "/v1/docs",
    "/problems/lease-lost",
    "/maintenance",
    "/maintenance/plan?reason=upgrade&minutes=60&holds_claims=on",
    "/masking",
    "/erasures",
    "/erasures/new",
    "/erasures/E",
    "/new-queue",
    "/messages/M",
]
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
RULES_OF_COLOUR = {"runOnly": ["color-contrast", "link-in-text-block"]}
THEMES: dict[Literal["light", "dark"], dict[str, list[str]]] = {"light": RULES, "dark": RULES_OF_COLOUR}
WIDTHS = (320, 700, 1100)

OpenConsole = Callable[..., Page]


@pytest.fixture
def archive_run(commits: None) -> Iterator[Run]:
    """One that has ended, with a file."""
    now = timezone.now()
    run = Run.objects.create(
        token="t",
        url="/srv/archive",
        low=861,
        high=2989,
        parts=[{"kind": "settled", "number": 0, "low": 861, "high": 2989, "rows": 70}],
        parts_done=1,
        rows=70,
        bytes=2048,
        state=Run.State.COMMITTED,
        started_by="ann",
        finished_at=now,
    )
    file = ArchiveFile.objects.create(
        run=run,
        kind="settled",
        day=now.date(),
        part=0,
        path=f"settled/day={now.date()}/run-00000001-82ae76d6-00000.parquet",
        rows=70,
        bytes=2048,
        first_at=now,
        last_at=now,
    )
    yield run
    file.delete()
    run.delete()


@pytest.fixture
def paths(commits: None, engine: Engine, settings: LazySettings, archive_run: Run) -> list[str]:
    """Every kind of page, over a queue that has something of everything."""
    engine.value("select signalbox.configure_queue(%s, '{\"lane_max_in_flight\": 3}')", engine.queue)
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
    engine.value("select signalbox.fold()")
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
    wanted = erasures.Wanted("**.email", "ann@example.org", queues=[engine.queue])
    job = erasures.create(wanted, actor="ann", reason="request 7", confirmation=erasures.WORD, kicked=False)
    erasures.pause(job.pk, actor="ann")
    return job.pk


def _granted(name: str, queue: str) -> int:
    """Somebody with a role for this queue."""
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
    """A stream with a group that is behind and has a dead member, and one that feeds a queue."""
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
    Notification.objects.create(channel="mail", target="a@b.example", news=news.write(rows, timezone.now()))


def redriven(engine: Engine) -> tuple[Plan, Redrive]:
    """A plan with something of everything, and what came of running another."""
    engine.die({"region": "us"}, error_class="TooLate", error="late")
    filter_text, patch = f"queue:{engine.queue}", [{"op": "replace", "path": "/region", "value": "eu"}]
    options = Options(canary_messages=1, patch_kind="json", patch=patch, slow_depth=1_000)
    plan = plans.make(filter_text, actor="ann", reason="partner is back", options=options)
    job = redrives.run(plans.make(f"{filter_text} class:TooLate", actor="ann", reason="").pk, actor="ann")
    redrives.run_in_foreground(job.pk)
    return plan, job


def _deleted(engine: Engine) -> int:
    """A deletion of one dead letter, done."""
    engine.die({"region": "us"}, error_class="Obsolete", error="nobody wants it")
    job = deletions.create(f"queue:{engine.queue} class:Obsolete", newest_id(), actor="ann", reason="<b>old</b>")
    deletions.run_in_foreground(job.pk)
    return int(job.pk)


def _purged_and_asked_back(engine: Engine, settings: LazySettings) -> tuple[int, int]:
    """A purge whose messages are in the trash, and an undo of it that waits for a second person."""
    for n in range(2):
        engine.send(n, delay_seconds=600)
    bounds = purge.preview(engine.queue, ["scheduled"]).bounds
    job = purge.create(engine.queue, ["scheduled"], bounds, engine.queue, actor="ann", reason="wrong <b>queue</b>")
    purge.run_in_foreground(job.pk)
    settings.APPROVAL_UNDO_MESSAGES = 1
    asked = undo.create("purge", job.pk, actor="ann", reason="not those")
    assert asked.is_awaiting
    return int(job.pk), int(asked.pk)


def test_every_page_is_accessible_and_scrolls_no_way_but_down(open_console: OpenConsole, paths: list[str]) -> None:
    """In both colours, and narrow, middling and wide."""
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
        page.set_viewport_size({"width": 1280, "height": 900})
    assert found == {}


def test_numbers_follow_the_queue_without_a_reload(open_console: OpenConsole, engine: Engine) -> None:
    page = open_console()
    page.goto(f"/queues/{engine.queue}")
    expect(page.locator(".legend").first).to_contain_text("ready 0")
    expect(page.locator("#live-status")).to_contain_text("live")

    engine.send()
    engine.value("select signalbox.fold()")

    expect(page.locator(".legend").first).to_contain_text("ready 1")


def test_selecting_rows_holds_updates_and_says_so(open_console: OpenConsole, graveyard: Graveyard) -> None:
    graveyard.bury(3)
    page = open_console()
    page.goto(f"/dead-letters?q={graveyard.filter}")

    page.locator("tbody input[data-pick]").first.check()
    graveyard.bury(1)
    graveyard.engine.value("select signalbox.fold()")

    expect(page.locator("#live-status")).to_have_text("held while rows are selected")
    expect(page.locator(".verb-bar")).to_contain_text("Redrive 1 selected…")
    page.wait_for_timeout(4_000)  # longer than the page waits between two looks
    expect(page.locator("table tbody tr")).to_have_count(3)
    page.locator("[data-unpick]").click()
    expect(page.locator("table tbody tr")).to_have_count(4)


def test_updates_can_be_paused(open_console: OpenConsole, engine: Engine) -> None:
    page = open_console()
    page.goto(f"/queues/{engine.queue}")

    page.get_by_role("button", name="Pause updates").click()

    expect(page.locator("#live-status")).to_contain_text("paused")
    expect(page.get_by_role("button", name="Resume updates")).to_be_visible()


def test_what_was_unfolded_stays_unfolded(open_console: OpenConsole, engine: Engine) -> None:
    message_id = engine.send({"a": {"b": {"c": {"d": 1}}}})
    page = open_console()
    page.goto(f"/queues/{engine.queue}/messages/{message_id}")
    page.get_by_text("As text", exact=True).click()

    with page.expect_response(lambda answer: "hx-request" in answer.request.headers):
        engine.send()
        engine.value("select signalbox.fold()")

    expect(page.locator("details.fold pre").first).to_be_visible()


def press_until_focused(page: Page, selector: str) -> None:
    """Tab on until the focus is there, as somebody without a mouse does."""
    for _ in range(120):
        if page.locator(selector).evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not come to {selector}")


def test_plan_run_and_outcome_by_keyboard_alone(open_console: OpenConsole, graveyard: Graveyard) -> None:
    graveyard.bury(2)
    page = open_console("operator")
    page.keyboard.press("d")
    page.wait_for_url("**/dead-letters")
    page.keyboard.press("/")
    page.keyboard.type(f"queue:{graveyard.queue}")
    page.keyboard.press("Enter")
    page.wait_for_url("**/dead-letters?q=**")
    expect(page.locator("form.filter.edited")).to_have_count(0)  # the answer is there
    expect(page.locator("table tbody tr")).to_have_count(2)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator(".verb-bar")).to_contain_text("Redrive 1 selected…")

    press_until_focused(page, ".verb-bar button.primary")
    page.keyboard.press("Enter")
    page.wait_for_url("**/redrives/new?**")
    press_until_focused(page, "#id_reason")
    page.keyboard.type("fixed")
    page.keyboard.press("Enter")

    page.wait_for_url("**/redrives/plans/*")
    expect(page.locator("main")).to_contain_text("Redrive 1 message")
    press_until_focused(page, "#run")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/redrives/\d+$"))
    expect(page.locator(".notice").first).to_contain_text("is on its way.")

    job = redrives.run_in_foreground(Redrive.objects.latest("redrive_id").pk)
    (_, handle, *_), *_ = graveyard.engine.receive(1)
    graveyard.engine.ack(handle)
    succeeded = page.locator(".bar", has_text="succeeded").locator("b")
    expect(succeeded).to_have_text("1", timeout=60_000)
    press_until_focused(page, f"a[href='/redrives/{job.pk}/messages?outcome=succeeded']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/messages?outcome=succeeded")
    expect(page.locator("table tbody tr")).to_have_count(1)


def test_a_filter_underlines_its_mistake_until_it_is_edited(open_console: OpenConsole, engine: Engine) -> None:
    page = open_console()

    page.keyboard.press("/")
    page.keyboard.type("health:poorly")
    page.keyboard.press("Enter")

    expect(page.locator(".mirror mark")).to_have_text("poorly")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("health:healthy")
    page.keyboard.press("Enter")
    expect(page.locator(".mirror")).to_have_count(0)
    page.go_back()
    expect(page.locator("#q")).to_have_value("health:poorly")


def test_a_chart_is_read_with_the_arrow_keys(open_console: OpenConsole, engine: Engine) -> None:
    engine.rows(
        "insert into signalbox.queue_history (queue_id, bucket_at, seconds, ready, scheduled, leased, dead, published,"
        " delivered, acked, nacked, dead_lettered, removed)"
        " select %s, date_bin('10 s', now(), '2000-01-01') - n * interval '10 s', 10, n, 0, 0, 0, 0, 0, 0, 0, 0, 0"
        " from generate_series(0, 20) n returning 1",
        engine.queue_id,
    )
    page = open_console()
    page.goto(f"/queues/{engine.queue}")

    page.locator(".plot svg").first.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")

    expect(page.locator(".readout").first).to_contain_text("ready 19")
    expect(page.locator("#live-status")).to_have_text("held while a chart is read")


def test_the_theme_turns_at_once_and_stays(open_console: OpenConsole) -> None:
    page = open_console(color_scheme="light")
    page.get_by_text("Display").click()

    with page.expect_response("**/preferences"):
        page.get_by_role("button", name="Dark").click()

    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark == "rgb(17, 19, 21)"


def test_shortcuts_can_be_turned_off(open_console: OpenConsole) -> None:
    page = open_console()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    with page.expect_response("**/preferences"):
        page.get_by_role("button", name="Off").click()
    page.get_by_role("button", name="Close").click()

    page.keyboard.press("?")

    expect(page.get_by_role("dialog")).to_be_hidden()


def test_everything_works_without_javascript(open_console: OpenConsole, engine: Engine) -> None:
    engine.send()
    page = open_console(java_script_enabled=False)

    page.fill("#q", engine.queue)
    page.press("#q", "Enter")
    page.locator(f"text={engine.queue}").first.click()
    page.get_by_text("Pause…").click()
    page.fill("#pause-reason", "by hand")
    page.press("#pause-reason", "Enter")

    expect(page.locator(".notice")).to_contain_text(f"Paused {engine.queue}.")
    expect(page.locator(".verdict")).to_contain_text("“by hand”")


def test_a_session_that_ends_under_an_open_page_leads_to_the_door(open_console: OpenConsole, engine: Engine) -> None:
    page = open_console()
    page.goto(f"/queues/{engine.queue}")
    page.context.clear_cookies()

    engine.send()
    engine.value("select signalbox.fold()")

    page.wait_for_url("**/login?next=**")

    page.fill("#id_username", "browser-admin")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")

    expect(page.locator("h1")).to_contain_text(engine.queue)
