"""Benchmark of the engine and a textbook queue, in a temporary PostgreSQL."""

import argparse
import sys
from pathlib import Path

from bench.archive.measuring import MILLIONS, measure_pipeline
from bench.celery_brokers.comparison import measure_brokers
from bench.client.senders import measure_senders
from bench.client.workers import LEAST_MESSAGES, MESSAGES, measure_workers
from bench.comparison import Arena, compare
from bench.console.dead_letter_pages import measure_dead_letter_pages
from bench.console.exporter import measure_exporter
from bench.console.redrives import measure_redrives
from bench.fairness import measure_fairness
from bench.grouped import measure_grouped
from bench.growth import DRAIN, WAITING, measure_growth
from bench.held_snapshot import measure_held_snapshot
from bench.over_http.measuring import measure_http
from bench.peers.comparison import measure_peers
from bench.peers.installing import missing_tools
from bench.pgmq import PGMQ
from bench.pgmq import install as install_pgmq
from bench.report import Report
from bench.scenarios import SCENARIOS
from bench.server import ScratchServer
from bench.sqs.comparison import measure_sqs
from bench.streams import measure_streams


def main() -> None:
    options = parse_arguments()
    wanted = [scenario.scaled(options.scale) for scenario in SCENARIOS if scenario.name in options.only]
    with ScratchServer() as server, server.connect() as connection, server.upkeep():
        arena = Arena(connection, server.url, options.settle, options.full_pages)
        arena.measure_rest()
        sections = {}
        if wanted:
            others = []
            if options.pgmq:
                say("installing pgmq")
                install_pgmq(connection)
                others.append(PGMQ)
            sections["Cost of a message"] = compare(arena, wanted, options.rounds, say, others)
        if options.growth:
            waiting = [int(number * options.scale) for number in WAITING]
            messages = int(DRAIN.messages * options.scale)
            sections["Growth: drain 1"] = measure_growth(arena, waiting, messages, say)
        if options.snapshot:
            title = f"An old snapshot held for {options.snapshot} s under steady load"
            sections[title] = measure_held_snapshot(server, arena, options.snapshot, say)
        workers = {}
        if options.worker:
            workers = measure_workers(arena, max(LEAST_MESSAGES, int(MESSAGES * options.scale)), options.rounds, say)
        senders = measure_senders(arena, options.scale, options.rounds, say) if options.sender else {}
        peers = measure_peers(arena, options.scale, options.rounds, say) if options.peers else None
        fairness = measure_fairness(arena, options.scale, say) if options.fairness else []
        grouped = measure_grouped(arena, options.scale, options.rounds, say) if options.groups else {}
        redrives = measure_redrives(arena, options.scale, options.rounds, say) if options.redrive else []
        dead_letter_pages = (
            measure_dead_letter_pages(connection, server, options.scale, say) if options.dead_letters else []
        )
        exporter = measure_exporter(connection, server, options.scale, say) if options.exporter else []
        http = measure_http(server, arena, options.scale, options.rounds, say) if options.http else None
        sqs = measure_sqs(server, arena, options.scale, options.rounds, say) if options.sqs else None
        brokers = measure_brokers(arena, options.scale, options.rounds, say) if options.celery else {}
        streams = measure_streams(server, arena, options.scale, options.rounds, say) if options.streams else []
        pipeline = None
        if options.pipeline is not None:
            millions = options.pipeline or MILLIONS
            pipeline = measure_pipeline(server, arena, millions, options.scale, options.rounds, say)
        report = Report(
            sections=sections,
            server_version=server_version(connection.info.server_version),
            rounds=options.rounds,
            rest=arena.rest,
            workers=workers,
            senders=senders,
            peers=peers,
            fairness=fairness,
            grouped=grouped,
            redrives=redrives,
            dead_letter_pages=dead_letter_pages,
            exporter=exporter,
            http=http,
            sqs=sqs,
            brokers=brokers,
            streams=streams,
            pipeline=pipeline,
        )
    print(report.text())
    if options.json:
        options.json.write_text(report.json())


def parse_arguments() -> argparse.Namespace:
    names = [scenario.name for scenario in SCENARIOS]
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each scenario is measured (5)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of messages (1.0)")
    parser.add_argument("--only", nargs="*", choices=names, default=names, help="some of the scenarios, or none")
    parser.add_argument(
        "--full-pages", action="store_true", help="let the stock be older than the last checkpoint, as a backlog is"
    )
    parser.add_argument("--growth", action="store_true", help="also drain with 10,000, 1 and 5 million waiting")
    parser.add_argument("--snapshot", type=int, default=0, metavar="SECONDS", help="also hold an old snapshot")
    parser.add_argument("--fairness", action="store_true", help="also let a large group and small ones share a queue")
    parser.add_argument("--groups", action="store_true", help="also send messages with group ids, shared and not")
    parser.add_argument("--redrive", action="store_true", help="also redrive dead letters, without a rate limit")
    parser.add_argument(
        "--dead-letters",
        action="store_true",
        help="also time pages of 5 million dead letters in 500 failure groups",
    )
    parser.add_argument("--exporter", action="store_true", help="also time scrapes at up to 10,000 queues")
    parser.add_argument("--http", action="store_true", help="also measure HTTP beside a bare endpoint, and long polls")
    parser.add_argument("--sqs", action="store_true", help="also measure the SQS endpoint beside /v1")
    parser.add_argument("--streams", action="store_true", help="also append to a stream and read it in a group")
    parser.add_argument(
        "--pipeline",
        type=float,
        nargs="*",
        metavar="MILLIONS",
        help="also archive these millions of completed messages (1 4 16) beside plain tools, and beside a live queue",
    )
    parser.add_argument("--worker", action="store_true", help="also run the worker, with single and batched acks")
    parser.add_argument(
        "--celery", action="store_true", help="also run Celery over this and kombu's pgmq and sqla, fetched from PyPI"
    )
    parser.add_argument("--sender", action="store_true", help="also send from Python, a call each and gathered")
    parser.add_argument("--pgmq", action="store_true", help="compare pgmq too, whose SQL is fetched from PyPI")
    parser.add_argument("--peers", action="store_true", help="also run other queues, installed from PyPI and npm")
    parser.add_argument(
        "--settle", type=float, default=1.5, metavar="SECONDS", help="rest before each measurement (1.5)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement there too")
    options = parser.parse_args()
    if options.peers and (missing := missing_tools()):
        parser.error(f"--peers needs {' and '.join(missing)}: install Node.js 20 or newer")
    return options


def server_version(number: int) -> str:
    return f"{number // 10000}.{number % 10000}"


def say(step: str) -> None:
    print(step, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
