"""`make demo`, run for real: it comes up, shows true numbers, fails where it should, and leaves nothing behind."""

from __future__ import annotations

import html
import os
import re
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from console.demo.scenery import HELD
from queues.database.embedded import EmbeddedPostgres
from tests.proof.demo.running import PATIENCE, ROOT, Demo

pytestmark = pytest.mark.timeout(900)

# Time after which delayed, leased and retried messages have settled, since all traffic has stopped.
ALL_AT_REST = 400.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(home: Path) -> Iterator[Demo]:
    running = Demo(home, "--cells", "2")
    try:
        running.wait_until_up()
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


@pytest.fixture
def database(demo: Demo) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(EmbeddedPostgres(demo.home).url(), autocommit=True) as connection:
        yield connection


def eventually(check: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.2)


ROW = re.compile(r"<tr data-tone.*?</tr>", re.DOTALL)


def overview_rows(page: str) -> dict[str, tuple[int, ...]]:
    """Ready, in flight, scheduled and dead of every queue, as the page shows them."""
    rows = {}
    for row in ROW.findall(page):
        (name,) = re.findall(r'class="name"[^>]*>([^<]+)</a>', row)
        cells = [re.search(rf'data-label="{label}">(.*?)</td>', row, re.DOTALL) for label in LABELS]
        rows[name] = tuple(int(ASIDE.sub("", cell[1])) for cell in cells if cell)
    return rows


WALKS = {
    "a FIFO queue": (["Queues", "shipments", "Message groups"], "one message of a group at a time"),
    "a stream that feeds a queue": (["Streams", "order-events", "to-returns"], "payload.event:order.returned"),
    "and another queue": (["Streams", "to-loyalty-points"], "payload.event:order.paid"),
    "a captured table": (["Streams", "Captured tables", "shipment-changes", "Messages"], "&quot;after&quot;"),
    "a deferred message": (["Queues", "shipments", "Messages", r"Scheduled +[1-9]\d*", r"\d+"], "deferred</span>"),
}
"""What the demo shows of streams and deferral: the links to click from the first page, and a text of the last page."""
LINK = re.compile(r'<a\b[^>]*?href="([^"]+)"[^>]*>(.*?)</a>', re.DOTALL)


def follow(page: Callable[[str], str], steps: Sequence[str]) -> str:
    """Click the links with these texts, one after the other; the last page, empty where a link is missing."""
    text = page(address := "/")
    for step in steps:
        links = {" ".join(re.sub(r"<[^>]+>", " ", words).split()): href for href, words in LINK.findall(text)}
        found = [href for words, href in links.items() if re.fullmatch(step, words)]
        if not found:
            return ""
        address = urllib.parse.urljoin(address, html.unescape(found[0]))
        text = page(address)
    return text


LABELS = ("Ready", "In flight", "Scheduled", "Dead")
ASIDE = re.compile(r'<span class="sub">.*?</span>|<[^>]+>|,')
"""What stands in a cell beside its number."""


def recounted_rows(database: psycopg.Connection[Any]) -> dict[str, tuple[int, ...]]:
    """Expected numbers, counted row by row."""
    rows = database.execute(
        "select q.name, r.ready, r.leased, r.scheduled, case when q.is_dead_letter_queue then r.held else r.dead end"
        " from signalbox.queue q join signalbox.tenant t using (tenant_id), lateral signalbox.recount(q.queue_id) r"
        " where not q.is_dead_letter_queue and t.name <> 'system'"
    )
    return {name: tuple(depths) for name, *depths in rows}


def value(database: psycopg.Connection[Any], statement: str) -> Any:
    row = database.execute(statement).fetchone()  # type: ignore[call-overload]
    return row[0] if row else None


class TestDemo:
    """Check the pages in the order of a first visit."""

    def test_every_queue_has_traffic_and_some_of_it_dies(self, demo: Demo, database: psycopg.Connection[Any]) -> None:
        quiet = (
            "select array_agg(q.name) from signalbox.queue q where not q.is_dead_letter_queue"
            " and not exists (select from signalbox.message m where m.queue_id = q.queue_id)"
        )
        eventually(lambda: value(database, "select count(*) from signalbox.dead_letter") > 0, "a dead letter")
        eventually(lambda: value(database, quiet) is None, "a message in every queue")
        tenants = "select count(distinct t.name) from signalbox.queue q join signalbox.tenant t using (tenant_id)"
        assert value(database, f"{tenants} where not q.is_dead_letter_queue and t.name <> 'system'") == 3
        # A lease may expire on a stalled machine; that alone makes no dead letter.
        causes = database.execute(
            "select exists (select from signalbox.failure f where f.message_id = d.message_id"
            " and f.details like '%%Traceback%%'), d.reason, d.error from signalbox.dead_letter d"
        ).fetchall()
        assert [cause for cause in causes if not cause[0]] == [], "every dead letter comes from a handler that raised"

    def test_health_and_metrics_answer(self, demo: Demo) -> None:
        eventually(lambda: demo.get("/healthz")[0] == 200, "good health")
        eventually(lambda: "signalbox_messages_published_total{" in demo.get("/metrics/queues")[1], "numbers")

    def test_the_key_that_it_prints_opens_the_api(self, demo: Demo) -> None:
        (key,) = re.findall(r"API key +(sbx_\S+)", "".join(demo.said))
        address = f"http://127.0.0.1:{demo.port}/v1/queues/orders-created/messages"
        asked = urllib.request.Request(address, headers={"Authorization": f"Bearer {key}"})

        with urllib.request.urlopen(asked, timeout=PATIENCE) as response:
            assert response.status == 200
        assert demo.get("/v1/queues/orders-created/messages")[0] == 401

    def test_counters_equal_a_recount_in_the_midst_of_traffic(
        self, demo: Demo, database: psycopg.Connection[Any]
    ) -> None:
        for _ in range(10):
            with database.transaction():  # one snapshot for both ways of counting
                database.execute("set transaction isolation level repeatable read")
                rows = database.execute(
                    "select q.name, signalbox.depth(t.totals, 'ready'), signalbox.depth(t.totals, 'scheduled'),"
                    " signalbox.depth(t.totals, 'leased'), signalbox.depth(t.totals, 'dead'),"
                    " signalbox.depth(t.totals, 'held'), signalbox.depth(t.totals, 'waiting'),"
                    " r.ready, r.scheduled, r.leased, r.dead, r.held, r.waiting"
                    " from signalbox.queue_totals() t join signalbox.queue q using (queue_id),"
                    " lateral signalbox.recount(q.queue_id) r"
                ).fetchall()
            assert [row[0] for row in rows if row[1:7] != row[7:]] == []
            time.sleep(0.2)

    def test_every_number_on_the_overview_equals_a_recount(self, demo: Demo, database: psycopg.Connection[Any]) -> None:
        """Traffic is held still; the page must come to say what counting row by row says."""
        moving = demo.running("console.demo.producers", "console.demo.workers", "signalbox.worker")
        for part in moving:
            part.suspend()
        try:
            page = demo.log_in("viewer")
            eventually(
                lambda: overview_rows(page("/")) == recounted_rows(database), "the page equals a recount", ALL_AT_REST
            )
        finally:
            for part in moving:
                part.resume()

    def test_nothing_ever_lies_below_a_claim_floor(self, demo: Demo, database: psycopg.Connection[Any]) -> None:
        assert "below its claim floor" not in (demo.home / "logs" / "upkeep.log").read_text()
        eventually(
            lambda: value(database, "select count(*) from signalbox.claim_floor where floor is not null") > 0, "a floor"
        )

    def test_a_second_demo_says_that_the_first_is_running(self, demo: Demo) -> None:
        environment = os.environ | {"SIGNALBOX_HOME": str(demo.home), "PORT": str(demo.port)}
        second = subprocess.run(
            [sys.executable, "manage.py", "demo"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert second.returncode != 0
        assert f"Port {demo.port} is in use" in second.stderr

    def test_a_run_of_the_pipeline_that_is_asked_for_is_done(
        self, demo: Demo, database: psycopg.Connection[Any]
    ) -> None:
        admin = demo.log_in("admin")
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', admin("/pipeline"))
        assert token is not None
        admin("/pipeline/start/archive", csrfmiddlewaretoken=token[1])

        done = "select count(*) from signalbox.pipeline_run where state = 'committed' and rows > 0"
        eventually(lambda: value(database, done) > 0, "an archive run")
        eventually(lambda: "Spark server" in admin("/pipeline"), "the server that it was done in")
        assert demo.running("SparkSubmit")  # to be looked for when all has stopped

    @pytest.mark.parametrize("feature", WALKS)
    def test_what_it_shows_is_found_by_clicking(self, demo: Demo, feature: str) -> None:
        steps, text = WALKS[feature]
        page = demo.log_in("operator")
        eventually(lambda: text in follow(page, steps), f"{feature}: {' → '.join(steps)}")

    def test_a_part_that_is_killed_is_started_again(self, demo: Demo, database: psycopg.Connection[Any]) -> None:
        (victim,) = demo.running("console.demo.producers")
        victim.kill()
        before = value(database, "select last_value from signalbox.message_id")
        eventually(
            lambda: value(database, "select last_value from signalbox.message_id") > before + 50, "traffic again"
        )

    def test_a_cell_that_is_killed_is_silent_and_the_other_goes_on(
        self, demo: Demo, database: psycopg.Connection[Any]
    ) -> None:
        page = demo.log_in("viewer")
        eventually(lambda: "draining" in page("/fleet"), "a move under way")
        (process,) = re.findall(r"cell-2 +`kill (\d+)`", "".join(demo.said))
        os.kill(int(process), signal.SIGTERM)
        eventually(lambda: "cell-2 is silent" in page("/fleet"), "silence")
        taken = "select count(*) from signalbox.message join signalbox.queue using (queue_id) where name = 'page-views'"
        before = value(database, taken)
        eventually(lambda: value(database, taken) > before + 20, "sends to the other cell")

    @pytest.mark.parametrize(
        ("path", "series"),
        [
            ("/metrics/queues", 'publish_rejected_total{[^}]*reason="rate"'),
            ("/metrics/queues", "messages_redriven_total{"),
            ("/metrics", 'tenant_refused_total{[^}]*reason="queues"'),
            ("/metrics", 'api_request_duration_seconds_count{.*status="2xx"'),
            ("/metrics", "sqs_errors_total{"),
        ],
    )
    def test_what_dashboards_show_happens(self, demo: Demo, path: str, series: str) -> None:
        happened = re.compile(rf"signalbox_{series}[^}}]*}} [1-9]")
        eventually(lambda: happened.search(demo.get(path)[1]), series)

    def test_ctrl_c_leaves_no_process_and_no_login(self, demo: Demo, home: Path) -> None:
        assert demo.interrupt() == 0
        # A part that the test before killed was restarted, and the demo said so before Ctrl-C.
        words = [line for line in demo.last_words.splitlines() if "is restarted" not in line]
        assert words == ["Stopped. The data is kept: `make demo` continues with it."]
        assert "is killed" not in "".join(log.read_text() for log in (home / "logs").glob("*.log"))
        eventually(lambda: demo.processes() == [], f"every process of {home} gone")
        # A password that everybody knows must not outlive the demo.
        server = EmbeddedPostgres(home)
        with psycopg.connect(server.ensure_running(), autocommit=True) as database:
            assert value(database, "select count(*) from signalbox.auth_user") == 4
            assert value(database, "select count(*) from signalbox.auth_user where password not like '!%'") == 0
            assert value(database, "select count(*) from signalbox.api_key where revoked_at is null") == 0
        server.leave()

    def test_it_goes_on_with_its_data(self, demo: Demo, home: Path) -> None:
        if demo.process.poll() is None:  # where the test before is done by another process of pytest's
            assert demo.interrupt() == 0
        again = Demo(home)
        try:
            again.wait_until_up()
            with psycopg.connect(EmbeddedPostgres(home).url(), autocommit=True) as database:
                eventually(lambda: value(database, "select count(*) from signalbox.dead_letter") > 0, "a dead letter")
            assert again.interrupt() == 0
            eventually(lambda: again.processes() == [], "every process gone")
        finally:
            if again.process.poll() is None:
                again.process.kill()


def test_history_is_loaded_for_looking_at_scale(tmp_path: Path) -> None:
    demo = Demo(tmp_path, "--messages", "3000", "--load-only")
    output, _ = demo.process.communicate(timeout=PATIENCE)

    assert demo.process.returncode == 0, output
    server = EmbeddedPostgres(tmp_path)
    try:
        with psycopg.connect(server.ensure_running(), autocommit=True) as database:
            assert value(database, "select count(*) from signalbox.message") == 3000 + HELD
            assert value(database, "select count(*) from signalbox.ready") == 750 + HELD
            assert value(database, "select count(*) from signalbox.dead_letter") > 0
            assert value(database, "select count(*) from signalbox.auth_user where password not like '!%'") == 0
            assert value(database, "select count(*) from signalbox.api_key where revoked_at is null") == 0
    finally:
        server.leave()
