"""The options of a worker, checked when they are set."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from signalbox import arguments, durations
from signalbox.connections import pooling
from signalbox.errors import InvalidArgument
from signalbox.worker.handlers.naming import Handler, name_of
from signalbox.worker.queue_order import weights_of

#: The longest wait of an ack, in seconds, and the most acks that wait: a crash would repeat their messages.
MAX_ACK_DELAY_SECONDS = 60.0
MAX_ACK_BATCH = 1000
MAX_PORT = 65_535


def option(default: Any, metavar: str, text: str) -> Any:
    """Declare an option that is also one of the command line, with its help text."""
    return field(default=default, metadata={"metavar": metavar, "help": text})


@dataclass
class Options:
    """The options of a worker; all times are in seconds."""

    #: The database, as libpq takes it, or the https:// address of a server.
    dsn: str
    #: A queue, or several separated by commas.
    queue: str
    #: A function at the top of a module, plain or async, or its name as `module:function`.
    handler: Handler | str
    _: KW_ONLY
    order: str = option(
        "strict", "ORDER", "order of several queues: strict (the first has preference, the default) or weighted"
    )
    concurrency: int = option(1, "N", "messages handled at a time (default 1)")
    prefetch: int = option(0, "N", "messages leased ahead, for short handlers (default 0)")
    ack_delay: float = option(
        0.005, "S", "seconds for which an ack may wait to be sent with others (default 0.005; 0: none)"
    )
    ack_batch: int = option(100, "N", "maximum number of acks in one call (default 100)")
    task_timeout: float | None = option(None, "S", "seconds after which a handler is stopped (default: never)")
    visibility_timeout: float | None = option(None, "S", "seconds of a lease (default: the queue's setting)")
    heartbeat: float | None = option(None, "S", "seconds between extensions of leases (default: a third of a lease)")
    poll_interval: float = option(2.0, "S", "seconds between receives from an empty queue (default 2)")
    stop_grace: float = option(30.0, "S", "seconds for handlers to finish after a stop (default 30)")
    cancel_grace: float = option(5.0, "S", "seconds for a cancelled async handler to end (default 5)")
    tasks_per_process: int | None = option(None, "N", "handlers that share a child process (default 1; async: all)")
    keep_results: bool = option(False, "", "keep the handler's return value as the result of the message")
    once: bool = option(False, "", "call handler(message, connection) in a transaction, once for each message")
    bodies: str | None = option(None, "WHERE", "body store: a folder or module:function (default SIGNALBOX_BODIES)")
    metrics_port: int | None = option(
        None, "N", "port that serves /metrics with the durations of calls (default: none)"
    )
    consumer: str | None = option(None, "NAME", "name of the worker in the console (default host:pid)")
    #: `module:function` that prepares a child process, for example sets up a framework. It gets a function that loads
    #: the handler, calls it, and returns the handler.
    environment: str | None = None
    #: The API key for a server; None: SIGNALBOX_API_KEY.
    api_key: str | None = field(default=None, repr=False)
    #: The threshold of `psycopg.connect`; None, and so no prepared statements, with DATABASE_POOLER=transaction.
    prepare_threshold: int | None = field(default_factory=pooling.prepare_threshold)

    def __post_init__(self) -> None:
        self.weights = weights_of(arguments.text("queue", self.queue), arguments.text("order", self.order))
        arguments.optional_text("consumer", self.consumer)
        arguments.optional_text("bodies", self.bodies)
        arguments.count("concurrency", self.concurrency)
        _check_once(self.once, self.dsn)
        _check_port(self.metrics_port)
        if self.prefetch != 0:
            arguments.count("prefetch", self.prefetch)
        if self.tasks_per_process is not None:
            arguments.count("tasks_per_process", self.tasks_per_process)
        if arguments.count("ack_batch", self.ack_batch) > MAX_ACK_BATCH:
            raise InvalidArgument(f"ack_batch must be at most {MAX_ACK_BATCH}", field="ack_batch")
        if arguments.seconds("ack_delay", self.ack_delay) > MAX_ACK_DELAY_SECONDS:
            raise InvalidArgument(f"ack_delay must be at most {MAX_ACK_DELAY_SECONDS:g} seconds", field="ack_delay")
        for name in ("stop_grace", "cancel_grace"):
            arguments.seconds(name, getattr(self, name))
        for name in ("task_timeout", "visibility_timeout", "heartbeat", "poll_interval"):
            if arguments.optional_seconds(name, getattr(self, name)) == 0:
                raise InvalidArgument(f"{name} must be more than zero seconds", field=name)

    @property
    def handler_name(self) -> str:
        """The handler's name, for another process to import."""
        return name_of(self.handler)


def _check_once(once: bool, dsn: str) -> None:
    """Refuse a transaction of handlers over HTTP, and over several databases."""
    if once and dsn.startswith(("http://", "https://", "signalbox-fleet://")):
        raise InvalidArgument("once needs the address of a database: its transaction is there", field="once")


def _check_port(port: int | None) -> None:
    """Refuse a metrics port out of range, and any port where prometheus-client is not installed."""
    if port is None:
        return
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port <= MAX_PORT:
        raise InvalidArgument(f"metrics_port is {port!r}; allowed: 1 to {MAX_PORT}", field="metrics_port")
    if not durations.KEPT:
        raise InvalidArgument("metrics_port needs prometheus-client, which is not installed", field="metrics_port")
