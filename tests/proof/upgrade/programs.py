"""Programs of an application, each with the client that it was installed with: what is sent, and what a worker handles.

A sender sends on command, one message for each line; a worker is `python -m signalbox.worker`. Neither
imports anything of this project but the client that its path names.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
TODAY = PROJECT
OPTIONS = ("--concurrency=2", "--poll-interval=0.1", "--visibility-timeout=600", "--tasks-per-process=1000")

SENDER = """
import sys
from signalbox import Client

client = Client(sys.argv[1])
for number, _ in enumerate(sys.stdin):
    options = {"priority": number % 3, "group_id": str(number % 4), "deduplication_id": f"{sys.argv[3]}-{number}"}
    print(client.send(sys.argv[2], {"from": sys.argv[3], "n": number}, **options), flush=True)
"""

# Every fifth fails at first, so that retries are part of the test.
HANDLER = """
import os

def handle(message):
    descriptor = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    failing = message.payload["n"] % 5 == 0 and message.receive_count == 1
    line = f"{'failed' if failing else 'handled'} {message.id} {os.environ['LABEL']}\\n"
    os.write(descriptor, line.encode())
    os.close(descriptor)
    if failing:
        raise RuntimeError("not yet")
"""


def environment(url: str, client: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SIGNALBOX_", "DJANGO_"))}
    return {**kept, "DATABASE_URL": url, "PYTHONPATH": str(client), "PYTHONSAFEPATH": "1", **more}


@dataclass
class Sender:
    """One process that sends; `sent` are the ids that it was given."""

    url: str
    client: Path
    queue: str
    label: str
    folder: Path
    sent: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SENDER, self.url, self.queue, self.label],
            env=environment(self.url, self.client),
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self) -> None:
        """Send one and wait for its id; fails when the process has ended, as it does at the first error."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the sender {self.label} has ended"
        self.sent.append(int(answer))

    def end(self) -> int:
        """Close it; 0 when nothing went wrong."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(60)


@dataclass
class Worker:
    """One worker process, with its log and the notes of its handler in the folder."""

    url: str
    client: Path
    queue: str
    label: str
    folder: Path

    def __post_init__(self) -> None:
        handler = self.folder / "handlers.py"
        handler.write_text(HANDLER)
        self.log = self.folder / f"{self.label}.log"
        with self.log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "signalbox.worker", self.queue, f"{handler}:handle", *OPTIONS],
                env=environment(self.url, self.client, NOTES=str(self.notes), LABEL=self.label),
                cwd=self.folder,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(120)


@dataclass(frozen=True)
class Notes:
    """Records of the handlers of all workers."""

    path: Path

    def lines(self, word: str) -> list[tuple[int, str]]:
        rows = [line.split() for line in self.path.read_text().splitlines()] if self.path.exists() else []
        return [(int(number), label) for said, number, label in rows if said == word]

    def handled(self) -> list[int]:
        return [number for number, _ in self.lines("handled")]

    def handled_by(self, label: str) -> int:
        return sum(said == label for _, said in self.lines("handled"))
