"""The options of a worker, checked when they are set."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from signalbox import arguments, durations
from signalbox.connections import pooling
from signalbox.errors import InvalidArgument
from signalbox.worker.handlers.naming import Handler, name_of

#: A message whose ack waits is done, and would be done again after a crash: so neither long, in seconds, nor many.
MAX_ACK_DELAY_SECONDS = 60.0
MAX_ACK_BATCH = 1000
MAX_PORT = 65_535


def option(default: Any, metavar: str, text: str) -> Any:
    """An option of a worker that its command line has too, with its help text."""
    return field(default=default, metadata={"metavar": metavar, "help": text})


@dataclass
class Options:
    """The options of a worker; all times are in seconds."""

    #: The database, as libpq takes it, or the https:// address of a server.
    dsn: str
    queue: str
    #: A function at the top of a module, plain or async, or its name as `module:function`.
    handler: Handler | str
    _: KW_ONLY
    concurrency: int = option(1, "N", "runs at a time (1)")
    prefetch: int = option(0, "N", "messages held beyond those running, for short runs (0)")
    ack_delay: float = option(0.005, "S", "seconds an ack may wait for others to go with (0.005; 0: none)")
    ack_batch: int = option(100, "N", "acks in one call at most (100; 1: each alone)")
    task_timeout: float | None = option(None, "S", "seconds after which a run is stopped (never)")
    visibility_timeout: float | None = option(None, "S", "seconds of a lease (the queue's setting)")
    heartbeat: float | None = option(None, "S", "seconds between extensions of all leases (a third of the lease)")
    poll_interval: float = option(2.0, "S", "seconds between looks into an empty queue (2)")
    stop_grace: float = option(30.0, "S", "seconds that runs may finish in after a stop (30)")
    cancel_grace: float = option(5.0, "S", "seconds a cancelled async run may take to end (5)")
    tasks_per_process: int | None = option(None, "N", "runs that share a child process (1; async: all)")
    keep_results: bool = option(False, "", "keep what the handler returns, as the message's result")
    bodies: str | None = option(None, "WHERE", "large bodies: a folder or module:function (SIGNALBOX_BODIES)")
    metrics_port: int | None = option(None, "N", "serve /metrics with the durations of its calls there (nowhere)")
    consumer: str | None = option(None, "NAME", "the worker's name in the console (host:pid)")
    #: `module:function` that prepares a child process, where a framework is set up, and loads the handler by calling
    #: what it is given.
    environment: str | None = None
    #: The API key for a server; None: SIGNALBOX_API_KEY.
    api_key: str | None = field(default=None, repr=False)
    #: As for `psycopg.connect`; behind PgBouncer in transaction mode DATABASE_POOLER says that it is None.
    prepare_threshold: int | None = field(default_factory=pooling.prepare_threshold)

    def __post_init__(self) -> None:
        arguments.text("queue", self.queue)
        arguments.optional_text("consumer", self.consumer)
        arguments.optional_text("bodies", self.bodies)
        arguments.count("concurrency", self.concurrency)
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


def _check_port(port: int | None) -> None:
    """Refuse a metrics port out of range, and any port where prometheus-client is not installed."""
    if port is None:
        return
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port <= MAX_PORT:
        raise InvalidArgument(f"metrics_port is {port!r}; allowed: 1 to {MAX_PORT}", field="metrics_port")
    if not durations.KEPT:
        raise InvalidArgument("metrics_port needs prometheus-client, which is not installed", field="metrics_port")
