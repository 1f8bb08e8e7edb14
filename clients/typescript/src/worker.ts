/** A loop that receives, calls a handler for each message, keeps its lease, and settles it. */
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";

import type { Client, Message } from "./client.js";
import { isRefused } from "./errors.js";

/** Thrown by a handler: deliver the message again after so many seconds. It counts as a failure. */
export class Retry extends Error {
  override readonly name: string = "Retry";
  constructor(message: string, readonly delaySeconds?: number) {
    super(message);
  }
}

/** Thrown by a handler: make a dead letter of the message at once. */
export class Reject extends Error {
  override readonly name: string = "Reject";
}

/** Thrown by a handler: put the message off, without a failure. The next delivery has `state`. */
export class Defer extends Error {
  override readonly name: string = "Defer";
  constructor(readonly delaySeconds: number, readonly state?: unknown) {
    super(`deferred by ${delaySeconds} s`);
  }
}

/** What a handler can use beside its message. */
export interface Delivery {
  /** Aborted if the lease was lost or the time to stop is over: what the handler does then does not count. */
  signal: AbortSignal;
}

/** Its result, if there is one, is stored with the outcome of the message. */
export type Handler = (message: Message, delivery: Delivery) => unknown;

export interface WorkerOptions {
  /** How many messages are handled at the same time. */
  concurrency?: number;
  /** How long a lease lasts; it is extended at a third of that. Without it the queue's own setting is used. */
  visibilityTimeoutSeconds?: number;
  waitSeconds?: number;
  /** The name under which the console shows the worker. */
  consumer?: string;
  /** How long running handlers may go on after `stop`. */
  drainSeconds?: number;
  /** The signals of the process that stop the worker. */
  signals?: NodeJS.Signals[];
  /** Is called with what the worker survives: an unreachable server, an error of a settlement. */
  onError?: (error: unknown) => void;
}

const MAX_BATCH = 10;
const PAUSE_AFTER_ERROR_MS = 1000;

export class Worker {
  private readonly stopping = new AbortController();
  private readonly stopped = aborted(this.stopping.signal);
  private readonly running = new Map<string, Promise<void>>();
  private readonly options: Required<Omit<WorkerOptions, "visibilityTimeoutSeconds">> & WorkerOptions;

  constructor(
    private readonly client: Client,
    private readonly queue: string,
    private readonly handler: Handler,
    options: WorkerOptions = {},
  ) {
    this.options = {
      concurrency: 1,
      waitSeconds: 20,
      consumer: `${hostname()}:${process.pid}`,
      drainSeconds: 30,
      signals: ["SIGTERM", "SIGINT"],
      onError: (error) => console.error(error),
      ...options,
    };
  }

  /** Receive no more messages; `run` returns when the handlers have ended or `drainSeconds` are over. */
  readonly stop = (): void => this.stopping.abort();

  /** Work until `stop` or a signal. */
  async run(): Promise<void> {
    const overdue = new AbortController();
    for (const signal of this.options.signals) process.once(signal, this.stop);
    try {
      while (!this.stopping.signal.aborted) await this.receive(overdue.signal);
      await this.drain(overdue);
    } finally {
      for (const signal of this.options.signals) process.removeListener(signal, this.stop);
    }
  }

  private async receive(overdue: AbortSignal): Promise<void> {
    const room = this.options.concurrency - this.running.size;
    if (room <= 0) {
      await Promise.race([...this.running.values(), this.stopped]);
      return;
    }
    try {
      for (const message of await this.messages(room)) this.start(message, overdue);
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      this.options.onError(error);
      await pause(PAUSE_AFTER_ERROR_MS, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
  }

  private messages(room: number): Promise<Message[]> {
    const { visibilityTimeoutSeconds, consumer } = this.options;
    // A handler that runs may end at any time: then its place is filled soon.
    const waitSeconds = this.running.size ? Math.min(1, this.options.waitSeconds) : this.options.waitSeconds;
    const maxMessages = Math.min(room, MAX_BATCH);
    const signal = this.stopping.signal;
    return this.client.receive(this.queue, { maxMessages, waitSeconds, visibilityTimeoutSeconds, consumer, signal });
  }

  private start(message: Message, overdue: AbortSignal): void {
    const handle = message.receiptHandle;
    this.running.set(handle, this.handle(message, overdue).finally(() => this.running.delete(handle)));
  }

  private async handle(message: Message, overdue: AbortSignal): Promise<void> {
    const lost = new AbortController();
    const end = (): void => lost.abort();
    overdue.addEventListener("abort", end, { once: true });
    const heartbeat = setInterval(() => void this.extend(message, lost), (message.leaseSeconds * 1000) / 3);
    try {
      const settle = await this.outcomeOf(message, lost.signal);
      clearInterval(heartbeat);
      if (!lost.signal.aborted) await settle();
    } catch (error) {
      if (!isRefused(error, "lease-lost")) this.options.onError(error);
    } finally {
      clearInterval(heartbeat);
      overdue.removeEventListener("abort", end);
    }
  }

  /** Run the handler; return the call that settles the message. */
  private async outcomeOf(message: Message, signal: AbortSignal): Promise<() => Promise<unknown>> {
    const { client, queue } = this;
    const handle = message.receiptHandle;
    try {
      const result = await this.handler(message, { signal });
      return () => client.ack(queue, handle, result);
    } catch (error) {
      if (error instanceof Defer) return () => client.defer(queue, handle, error.delaySeconds, error.state);
      return () => client.nack(queue, handle, failureOf(error));
    }
  }

  private async extend(message: Message, lost: AbortController): Promise<void> {
    try {
      const [extended] = await this.client.extend(this.queue, [message.receiptHandle], message.leaseSeconds);
      if (extended?.status === "lost") lost.abort();
    } catch (error) {
      this.options.onError(error);
    }
  }

  private async drain(overdue: AbortController): Promise<void> {
    const ended = Promise.all(this.running.values());
    const timer = setTimeout(() => overdue.abort(), this.options.drainSeconds * 1000);
    await Promise.race([ended, aborted(overdue.signal)]);
    clearTimeout(timer);
  }
}

function failureOf(error: unknown) {
  const known = error instanceof Error ? error : new Error(String(error));
  const failure = { errorClass: known.constructor.name, error: known.message, details: known.stack ?? null };
  if (error instanceof Reject) return { ...failure, reason: "rejected" as const };
  return error instanceof Retry && error.delaySeconds !== undefined
    ? { ...failure, delaySeconds: error.delaySeconds }
    : failure;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
