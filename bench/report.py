"""Report of the measurements: a table for people and JSON for programs."""

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from bench.archive.results import PipelineResults, pipeline_lines, pipeline_measurements
from bench.celery_brokers.comparison import BrokerResults, broker_lines, broker_measurements
from bench.client.senders import SenderResults, sender_lines, sender_measurements
from bench.client.worker_table import worker_lines, worker_measurements
from bench.client.workers import WorkerResults
from bench.comparison import Results, Sample
from bench.console.dead_letter_pages import PageTime, dead_letter_page_lines
from bench.console.exporter import ExporterTime, exporter_lines
from bench.console.redrives import RedriveSample, redrive_lines, redrive_measurements
from bench.fairness import Waits
from bench.grouped import grouped_lines
from bench.measuring import Cost
from bench.over_http.measuring import HttpResults, http_lines, http_measurements
from bench.peers.comparison import PeerResults, peer_lines, peer_measurements
from bench.scenarios import TEXTBOOK
from bench.sqs.comparison import SqsResults, sqs_lines, sqs_measurements
from bench.streams import StreamSample, stream_lines, stream_measurements
from bench.tables import ratio, table_line

HEADINGS = ("", "", "messages/s", "x", "CPU us", "x", "WAL bytes", "x")
WIDTHS = (18, 26, 11, 6, 9, 6, 10, 6)


@dataclass(frozen=True)
class Report:
    """Write `sections` by title with the requested extras; any may be empty. `rest` is idle upkeep."""

    sections: dict[str, Results]
    server_version: str
    rounds: int
    rest: Cost
    workers: WorkerResults
    senders: SenderResults
    peers: PeerResults | None
    fairness: list[Waits]
    grouped: Results
    redrives: list[RedriveSample]
    dead_letter_pages: list[PageTime]
    exporter: list[ExporterTime]
    http: HttpResults | None
    sqs: SqsResults | None
    brokers: BrokerResults
    streams: list[StreamSample]
    pipeline: PipelineResults | None

    def text(self) -> str:
        lines = [self._circumstances(), self._rest()]
        for title, results in self.sections.items():
            lines += ["", title, table_line(HEADINGS, WIDTHS, names=2)]
            lines += [table_line(cells, WIDTHS, names=2) for cells in _rows(results)]
        if self.workers:
            lines += ["", *worker_lines(self.workers)]
        if self.senders:
            lines += ["", *sender_lines(self.senders)]
        if self.peers:
            lines += ["", *peer_lines(self.peers)]
        if self.fairness:
            lines += ["", *_fairness_lines(self.fairness)]
        if self.grouped:
            lines += ["", *grouped_lines(self.grouped)]
        return "\n".join([*lines, *self._pages()])

    def _pages(self) -> Iterator[str]:
        if self.redrives:
            yield from ("", *redrive_lines(self.redrives))
        if self.dead_letter_pages:
            yield from ("", *dead_letter_page_lines(self.dead_letter_pages))
        if self.brokers:
            yield from ("", *broker_lines(self.brokers))
        if self.exporter:
            yield from ("", *exporter_lines(self.exporter))
        yield from self._doors()
        if self.streams:
            yield from ("", *stream_lines(self.streams))
        if self.pipeline:
            yield from ("", *pipeline_lines(self.pipeline))

    def _doors(self) -> Iterator[str]:
        if self.http:
            yield from ("", *http_lines(self.http))
        if self.sqs:
            yield from ("", *sqs_lines(self.sqs))

    def json(self) -> str:
        document = {
            "server_version": self.server_version,
            "cores": os.cpu_count(),
            "upkeep_at_rest": asdict(self.rest),
            "sections": {title: list(_measurements(results)) for title, results in self.sections.items()},
            "worker": list(worker_measurements(self.workers)),
            "sender": list(sender_measurements(self.senders)),
            "peers": list(peer_measurements(self.peers)) if self.peers else [],
            "fairness": [asdict(waits) for waits in self.fairness],
            "grouped": list(_measurements(self.grouped)),
            "redrives": list(redrive_measurements(self.redrives)),
            "dead_letters": [asdict(page) for page in self.dead_letter_pages],
            "exporter": [asdict(times) for times in self.exporter],
            "http": http_measurements(self.http) if self.http else None,
            "sqs": sqs_measurements(self.sqs) if self.sqs else None,
            "celery": list(broker_measurements(self.brokers)),
            "streams": list(stream_measurements(self.streams)),
            "pipeline": pipeline_measurements(self.pipeline) if self.pipeline else None,
        }
        return json.dumps(document, indent=2)

    def _circumstances(self) -> str:
        machine = f"PostgreSQL {self.server_version}, {os.cpu_count()} cores, {platform.machine()}"
        return f"{machine}; medians of {self.rounds} rounds; x is the ratio to the textbook"

    def _rest(self) -> str:
        cpu_ms = self.rest.cpu_seconds / self.rest.seconds * 1000
        wal_bytes = self.rest.wal_bytes / self.rest.seconds
        return f"upkeep at rest: {cpu_ms:.0f} ms CPU/s, {wal_bytes:.0f} WAL bytes/s"


def _measurements(results: Results) -> Iterator[dict[str, object]]:
    for scenario, sides in results.items():
        for side, samples in sides.items():
            yield {
                "scenario": scenario.name,
                "side": side.name,
                **asdict(Sample.median(samples)),
                "every_round": [asdict(sample) for sample in samples],
            }


def _rows(results: Results) -> Iterator[tuple[str, ...]]:
    for scenario, sides in results.items():
        textbook = Sample.median(sides[TEXTBOOK])
        for side, samples in sides.items():
            sample = Sample.median(samples)
            yield (
                scenario.name if side is TEXTBOOK else "",
                side.name,
                f"{sample.messages_per_second:,.0f}",
                ratio(sample.messages_per_second, textbook.messages_per_second),
                f"{sample.cpu_us:,.1f}",
                ratio(sample.cpu_us, textbook.cpu_us),
                f"{sample.wal_bytes:,.0f}",
                ratio(sample.wal_bytes, textbook.wal_bytes),
            )


def _fairness_lines(fairness: list[Waits]) -> Iterator[str]:
    yield "Small groups beside a large one: from send to ack"
    yield f"{'':<50}{'messages':>10}{'median ms':>11}{'p99 ms':>10}"
    for waits in fairness:
        yield f"{waits.system:<50}{waits.messages:>10,}{waits.median_ms:>11,.1f}{waits.p99_ms:>10,.1f}"
