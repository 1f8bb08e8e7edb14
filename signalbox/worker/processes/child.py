"""A child process: it runs the handler and nothing else, so that it can be killed without harm to the rest.

The worker holds the leases, talks to the database and decides; a child only receives messages over its
socket and answers how each run ended. A thread of its own listens to the worker. When the worker
is gone, that thread kills the child's process group, even while a handler blocks: no process would use the results.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from signalbox.errors import InvalidArgument
from signalbox.logs import log_to_standard_error
from signalbox.messages import Message
from signalbox.payloads.bodies import BodyStore, FileBodies, with_body
from signalbox.worker.handlers.naming import Handler, is_async, load, wants_results_kept
from signalbox.worker.handlers.once import once
from signalbox.worker.handlers.table import load_handler
from signalbox.worker.processes.frames import pack, read_frame
from signalbox.worker.processes.runners import Answer, AsyncRunner, Runner, ThreadRunner


def main(descriptor: int) -> None:
    """Run as a child, with the socket of this file descriptor, until the worker sends the order to leave."""
    for number in (signal.SIGTERM, signal.SIGINT):
        # The worker decides when a child ends; a handler, unlike SIG_IGN, is not inherited by programs we start.
        signal.signal(number, lambda *_: None)
    link = socket.socket(fileno=descriptor)
    link.set_inheritable(False)  # no program that the handler starts may keep it open
    orders = link.makefile("rb")
    if (order := read_frame(orders)) is None:
        return
    log_to_standard_error(order["log_format"], order["log_level"])
    try:
        handler = _prepare(order)
        bodies = store_of(order["bodies"])
    except BaseException as error:
        link.sendall(pack({"unable": "".join(traceback.format_exception(error))}))
        sys.exit(1)
    runner = _runner(handler, order, _sender(link))
    threading.Thread(target=_obey, args=(orders, runner, bodies), name="signalbox-orders", daemon=True).start()
    link.sendall(pack({"ready": True, "is_async": is_async(handler)}))
    runner.run()


def store_of(name: str | None) -> BodyStore | None:
    """Open the body store of this name: a path, a file:// URL, or module:function that returns one; None for None."""
    if name is None:
        return None
    if name.startswith("file:"):
        return FileBodies(Path(unquote(urlsplit(name).path)))
    if _FUNCTION.fullmatch(name):
        store: BodyStore = load(name)()
        return store
    if "://" in name:
        raise InvalidArgument(
            f"bodies must be a folder, a file:// URL or module:function, not {name[:200]!r}", field="bodies"
        )
    return FileBodies(Path(name).expanduser())


def _prepare(order: Mapping[str, Any]) -> Handler:
    if order["environment"]:
        handler: Handler = load(order["environment"])(lambda: load_handler(order["handler"]))
    else:
        handler = load_handler(order["handler"])
    if not callable(handler):
        raise TypeError(f"{order['handler']} is not callable")
    return once(handler, order["once"]) if order["once"] and not order["environment"] else handler


def _runner(handler: Handler, order: Mapping[str, Any], answer: Answer) -> Runner:
    keep_results, queue = order["keep_results"] or wants_results_kept(handler), order["queue"]
    if is_async(handler):
        return AsyncRunner(handler, answer, keep_results=keep_results, queue_name=queue)
    return ThreadRunner(handler, answer, order["threads"], keep_results=keep_results, queue_name=queue)


def _sender(link: socket.socket) -> Answer:
    lock = threading.Lock()

    def answer(frame: Mapping[str, Any]) -> None:
        with lock:
            link.sendall(pack(frame))

    return answer


def _obey(orders: BinaryIO, runner: Runner, bodies: BodyStore | None) -> None:
    """Pass the worker's orders to the runner; when the worker is gone, kill the process group."""
    while (order := read_frame(orders)) is not None:
        if "run" in order:
            runner.begin(order["run"], with_body(Message.from_json(order["message"]), bodies), order["queue"])
        elif "stop" in order:
            runner.stop(order["stop"])
        elif "leave" in order:
            runner.leave()
            return
    os.killpg(0, signal.SIGKILL)


_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
