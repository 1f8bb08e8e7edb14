"""What a worker is told to do, checked when it is told."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

from signalbox import arguments, pooling
from signalbox.errors import InvalidArgument
from signalbox.worker import exporting
from signalbox.worker.handlers import Handler, name_of

#: A message whose ack waits is done, and would be done again after a crash: so neither long, in seconds, nor many.
MAX_ACK_DELAY_SECONDS = 60.0
MAX_ACK_BATCH = 1000


@dataclass
class Options:
    """The settings of a worker; all times are in seconds."""

    #: The database, as libpq takes it, or the https:// address of a server.
    dsn: str
    queue: str
    #: A function at the top of a module, plain or async, or its name as `module:function`.
    handler: Handler | str
    _: KW_ONLY
    #: Runs at a time.
    concurrency: int = 1
    #: Messages held beyond those running, so that no run waits for a claim: for short tasks.
    prefetch: int = 0
    #: Longest time that the ack of a finished run waits for others to go with it; 0: none waits.
    ack_delay: float = 0.005
    #: Acks in one call, at most; 1: each goes alone.
    ack_batch: int = 100
    #: Time after which a run is stopped and recorded as lock_expired; None: never.
    task_timeout: float | None = None
    #: How long a lease lasts without a heartbeat; None: as the queue says.
    visibility_timeout: float | None = None
    #: Time between two extensions of all leases; None: a third of the lease.
    heartbeat: float | None = None
    #: Longest time between two looks into an empty queue, when no wake-up comes before.
    poll_interval: float = 2.0
    #: Time that runs have to finish once the worker is told to stop.
    stop_grace: float = 30.0
    #: Time that a cancelled run of an async handler has to end.
    cancel_grace: float = 5.0
    #: Runs that share a child process; None: one, or all when the handler is async.
    tasks_per_process: int | None = None
    #: Keep what the handler returns as the message's result.
    keep_results: bool = False
    #: Where large bodies are: a folder, a file:// URL or `module:function` that returns a store; None: nowhere.
    bodies: str | None = None
    #: The worker's name in the console; None: host:pid.
    consumer: str | None = None
    #: Where Prometheus finds what this worker's calls to the database take; None: nowhere.
    metrics_port: int | None = None
    #: `module:function` that prepares a child process and loads the handler in it.
    environment: str | None = None
    #: For a server; None: SIGNALBOX_API_KEY.
    api_key: str | None = field(default=None, repr=False)
    #: As for `psycopg.connect`; behind PgBouncer in transaction mode DATABASE_POOLER says that it is None.
    prepare_threshold: int | None = field(default_factory=pooling.prepare_threshold)

    def __post_init__(self) -> None:
        arguments.text("queue", self.queue)
        arguments.optional_text("consumer", self.consumer)
        arguments.optional_text("bodies", self.bodies)
        arguments.count("concurrency", self.concurrency)
        exporting.check(self.metrics_port)
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
