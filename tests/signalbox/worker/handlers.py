"""Handlers that the workers under test run in their child processes; each writes what it does to files."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

from signalbox import Message
from signalbox.worker import Defer, Reject, Retry


def note(message: Message, word: str) -> None:
    """Append a line to the message's file, whole even when processes write together."""
    line = f"{word} {message.id} {message.receive_count} {os.getpid()}\n"
    descriptor = os.open(message.payload["notes"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def record(message):
    note(message, "ran")


def spin(message):
    note(message, "began")
    while True:
        pass


def spin_with_child(message):
    program = subprocess.Popen(["sleep", "600"])
    Path(message.payload["notes"]).with_suffix(".program").write_text(str(program.pid))
    spin(message)


def wait_for_gate(message):
    """Run until the test opens the gate."""
    note(message, "began")
    while not Path(message.payload["gate"]).exists():
        time.sleep(0.01)
    note(message, "ended")


def record_or_fail(message):
    if message.payload.get("poisonous"):
        poison(message)
    record(message)


def record_or_spin(message):
    if message.payload.get("poisonous"):
        spin(message)
    record(message)


def record_or_kill_worker(message):
    record(message)
    if message.payload.get("deadly") and message.receive_count == 1:
        os.kill(os.getppid(), signal.SIGKILL)
        spin(message)


def poison(message):
    note(message, "ran")
    cause = {"customer": message.payload.get("customer")}
    raise KeyError(f"no such customer: {cause}")


def reject(message):
    try:
        poison(message)
    except KeyError as error:
        raise Reject("cannot ever succeed") from error


def retry_once(message):
    note(message, "ran")
    if message.receive_count == 1:
        raise Retry("not yet", delay=0)


def defer_twice(message):
    note(message, "ran")
    if message.receive_count < 3:
        raise Defer(0, state={"seen": message.receive_count})


def go_step_by_step(message):
    note(message, "ran")
    steps = [*(message.state or []), message.receive_count]
    if len(steps) < message.payload["steps"]:
        raise Retry("there is more to do", delay=0, state=steps)
    return {"steps": steps}


def answer(message):
    note(message, "ran")
    return message.payload["answer"]


async def answer_async(message):
    return answer(message)


def leave(message):
    note(message, "ran")
    os._exit(3)


def die(message):
    note(message, "ran")
    os.kill(os.getpid(), signal.SIGKILL)


def coroutine_by_mistake(message):
    return wait_async(message)


async def record_async(message):
    note(message, "ran")


async def wait_async(message):
    """Run until the test opens the gate, or until cancelled."""
    note(message, "began")
    try:
        while not Path(message.payload["gate"]).exists():
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        note(message, "cancelled")
        raise
    note(message, "ended")


async def stubborn_or_not(message):
    """Refuse to be cancelled, block the loop, or wait to be cancelled: as the message says."""
    note(message, "began")
    if message.payload["mood"] == "blocking":
        while True:
            pass
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            if message.payload["mood"] == "obedient":
                raise


def tell_the_canary(message):
    """Fail in every way there is, with a word of the payload in whatever is raised or returned."""
    canary = message.payload["canary"]
    match message.payload["kind"]:
        case "fail":
            raise ValueError(canary)
        case "reject":
            raise Reject(canary) from KeyError(canary)
        case "retry":
            raise Retry(canary, delay=0, state={"canary": canary})
        case "exit":
            os._exit(3)
    return {"canary": canary * 10_000}


def book(message, connection):
    """Do work in the transaction of `--once`."""
    connection.execute("insert into booked (message_id) values (%s)", [message.id])
    note(message, "booked")


def record_from_stream(message):
    """Note a message of a stream by its position."""
    with Path(message.payload["notes"]).open("a") as notes:
        notes.write(f"read {message.position} {message.epoch} {os.getpid()}\n")


def shipped(message):
    note(message, "shipped")


def mailed(message):
    note(message, "mailed")


BY_TYPE = {"order": shipped, "mail": mailed}
MIXED = {"order": shipped, "*": wait_async}
