"""The runners of the handler in a child process: on threads, or as tasks of an event loop.

`begin`, `stop` and `leave` are called by the thread that listens to the worker, `run` by the main thread.
A thread cannot be stopped, so `stop` only reports its stack; the worker then kills the process.
"""

from __future__ import annotations

import asyncio
import inspect
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from signalbox.messages import Message
from signalbox.tracing import handling
from signalbox.worker.handlers.naming import Handler
from signalbox.worker.handlers.outcomes import DONE, Outcome, bounded, done_with, outcome_of

Answer = Callable[[Mapping[str, Any]], None]


class _Runner:
    """A runner of the handler on messages, until it is asked to leave."""

    def __init__(self, handler: Handler, answer: Answer, *, keep_results: bool = False, queue_name: str = "") -> None:
        self._handler = handler
        self._queue_name = queue_name
        self._keep_results = keep_results
        self._answer = answer

    def _report(self, number: int, outcome: Outcome) -> None:
        self._answer({"run": number, "outcome": outcome.to_json()})

    def _done(self, result: object) -> Outcome:
        return done_with(result) if self._keep_results else DONE


class ThreadRunner(_Runner):
    """The runner of a plain function: on the main thread, and on further ones when there is room for more."""

    def __init__(self, handler: Handler, answer: Answer, capacity: int, **options: Any) -> None:
        super().__init__(handler, answer, **options)
        self._capacity = capacity
        self._waiting: queue.SimpleQueue[tuple[int, Message, str] | None] = queue.SimpleQueue()
        self._threads: dict[int, int] = {}  # the identity of the thread of each run

    def begin(self, number: int, message: Message, queue_name: str = "") -> None:
        self._waiting.put((number, message, queue_name or self._queue_name))

    def stop(self, number: int) -> None:
        frame = sys._current_frames().get(self._threads.get(number, 0))
        stack = "".join(traceback.format_stack(frame)) if frame else ""
        self._answer({"run": number, "stack": bounded(stack)})

    def leave(self) -> None:
        for _ in range(self._capacity):
            self._waiting.put(None)

    def run(self) -> None:
        for _ in range(self._capacity - 1):
            threading.Thread(target=self._work, daemon=True).start()
        self._work()

    def _work(self) -> None:
        while (order := self._waiting.get()) is not None:
            number, message, queue_name = order
            self._threads[number] = threading.get_ident()
            outcome = self._outcome(message, queue_name)
            del self._threads[number]
            self._report(number, outcome)

    def _outcome(self, message: Message, queue_name: str) -> Outcome:
        try:
            with handling(queue_name, message):
                result = self._handler(message)
            if inspect.iscoroutine(result):
                result.close()
                raise TypeError("The handler returned a coroutine: declare it with async def.")
        except BaseException as error:
            return outcome_of(error)
        return self._done(result)


class AsyncRunner(_Runner):
    """The runner of a coroutine function: every run is a task of one event loop, and a stop cancels it."""

    def __init__(self, handler: Handler, answer: Answer, **options: Any) -> None:
        super().__init__(handler, answer, **options)
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._main_thread = threading.get_ident()

    def begin(self, number: int, message: Message, queue_name: str = "") -> None:
        self._loop.call_soon_threadsafe(self._start, number, message, queue_name or self._queue_name)

    def stop(self, number: int) -> None:
        """Cancel the task. Where it blocks the loop, the stack of the loop's thread is reported."""
        stack = "".join(traceback.format_stack(sys._current_frames()[self._main_thread]))
        self._answer({"run": number, "stack": bounded(stack)})
        self._loop.call_soon_threadsafe(self._cancel, number)

    def leave(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()

    def _start(self, number: int, message: Message, queue_name: str) -> None:
        task = self._tasks[number] = self._loop.create_task(self._work(number, message, queue_name))
        task.add_done_callback(lambda task: self._forget(number, task))

    def _cancel(self, number: int) -> None:
        if task := self._tasks.get(number):
            task.cancel()

    async def _work(self, number: int, message: Message, queue_name: str) -> None:
        self._report(number, await self._outcome(message, queue_name))

    def _forget(self, number: int, task: asyncio.Task[None]) -> None:
        del self._tasks[number]
        if task.cancelled():  # before its first step
            self._report(number, Outcome("stopped"))

    async def _outcome(self, message: Message, queue_name: str) -> Outcome:
        try:
            if message.body is not None:
                await asyncio.to_thread(lambda: message.payload)  # fetched in a thread, so that the loop is not blocked
            with handling(queue_name, message):
                result = await self._handler(message)
        except BaseException as error:
            return outcome_of(error)
        return self._done(result)


Runner = ThreadRunner | AsyncRunner
