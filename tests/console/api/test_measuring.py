"""Durations of API requests are on /metrics, by declared routes."""

from __future__ import annotations

from dataclasses import replace

from console.api.asgi import Measured
from metrics.exposition.text import samples
from metrics.names import API_METRICS
from metrics.reading import api_requests
from metrics.reading.api_requests import ApiRequests
from tests.console.api.callers import Caller
from tests.engine import Engine
from tests.metrics.exposition import Exposition

COUNT = "api_request_duration_seconds_count"


def counted(caller: Caller, route: str, status: str) -> float:
    page = Exposition.parse(caller.get("/metrics").content)
    labels = frozenset({"route": route, "status": status}.items())
    return page.samples.get((f"signalbox_{COUNT}", labels), 0.0)


def test_requests_are_counted_by_route_and_status_class(caller: Caller, stranger: Caller, engine: Engine) -> None:
    sends, receives, waits = (
        f"POST /v1/queues/{{queue}}/messages{verb}" for verb in ("", ":receive", ":receive waiting")
    )
    asked = ((sends, "2xx"), (sends, "4xx"), (receives, "2xx"), (waits, "2xx"), ("none", "4xx"))
    before = {each: counted(stranger, *each) for each in asked}
    path = f"/v1/queues/{engine.queue}/messages"
    caller.post(path, {"body": 1})
    caller.post(path, {"nobody": 1})
    caller.post(f"{path}:receive")
    caller.post(f"{path}:receive", {"waitSeconds": 0.01})
    stranger.post(path, {"body": 1})
    caller.get("/v1/no-such-place")

    found = {each: counted(stranger, *each) - before[each] for each in asked}
    assert found == dict.fromkeys(asked, 1.0) | {("none", "4xx"): 2.0}


def written(measured: ApiRequests) -> str:
    metric = API_METRICS[0]
    return "".join(samples([replace(metric, read=lambda _: measured.read())], None))


def test_strangers_make_no_series(monkeypatch) -> None:
    """Unknown addresses and unknown methods make no series."""
    measured = ApiRequests()
    monkeypatch.setattr("console.api.asgi.API_REQUESTS", measured)
    for number in range(10):
        one = Measured(f"METHOD{number}")
        one.ends(404)
        one = Measured(f"METHOD{number}")
        one.goes_to("queues/<segment:queue>")
        one.ends(405)
    lines = [line for line in written(measured).splitlines() if "_count" in line]
    assert len(lines) == 2
    assert any('route="none",status="4xx"} 10' in line for line in lines)
    assert any('route="other /v1/queues/{queue}",status="4xx"} 10' in line for line in lines)


def test_what_is_kept_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(api_requests, "MAX_ROUTES", 3)
    measured = ApiRequests()
    for number in range(10):
        measured.observe(f"route {number}", "2xx", 0.5)
    assert len(measured.read()) == 3


def test_a_histogram_counts_up_to_each_bound() -> None:
    measured = ApiRequests()
    for seconds in (0.0005, 0.002, 30.0):
        measured.observe("GET /v1/x", "2xx", seconds)
    head = "# TYPE signalbox_api_request_duration_seconds histogram\n"
    page = Exposition.parse((head + written(measured)).encode())
    buckets = [(dict(labels)["le"], value) for (name, labels), value in page.samples.items() if "_bucket" in name]
    found = dict(buckets)
    assert (found["0.001"], found["0.0025"], found["25"], found["+Inf"]) == (1, 2, 2, 3)
