/** One request: its attempts, and the pauses between them. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import { ConnectionLost, Refused, refusalOf } from "./errors.js";

export interface Settings {
  /** The address of the console, without /v1. */
  url: string;
  /** An API key. It is sent with each request and stands in no error. */
  apiKey: string;
  /** How long one attempt may take, beside the time that a receive waits. */
  timeoutSeconds?: number;
  /** How long a request that may be repeated is repeated. 0 makes one attempt. */
  retrySeconds?: number;
}

export interface Wish {
  method: string;
  path: string;
  body?: unknown;
  query?: Record<string, unknown>;
  /** Whether a second attempt does no harm, although the first may have been carried out. */
  repeatable?: boolean;
  /** Whether the server recognises a repetition by the header Idempotency-Key. */
  keyed?: boolean;
  waitSeconds?: number;
  signal?: AbortSignal | undefined;
}

const FIRST_PAUSE_SECONDS = 0.1;
const MAX_PAUSE_SECONDS = 5;
/** Refusals that pass: the key's rate is used up, or the server cannot work at present. Nothing was carried out. */
const PASSING = new Set([429, 502, 503, 504]);

export async function exchange(settings: Settings, wish: Wish): Promise<unknown> {
  const endsAt = Date.now() + (settings.retrySeconds ?? 30) * 1000;
  const key: Record<string, string> = wish.keyed ? { "Idempotency-Key": randomUUID() } : {};
  for (let pauseSeconds = FIRST_PAUSE_SECONDS; ; pauseSeconds = Math.min(2 * pauseSeconds, MAX_PAUSE_SECONDS)) {
    try {
      return await attempt(settings, wish, key);
    } catch (error) {
      const seconds = Math.max(pauseSeconds * (0.5 + Math.random() / 2), asked(error));
      const isOver = wish.signal?.aborted || Date.now() + seconds * 1000 > endsAt;
      if (isOver || !mayBeRepeated(error, wish)) throw error;
      await pause(seconds * 1000, undefined, { signal: wish.signal });
    }
  }
}

async function attempt(settings: Settings, wish: Wish, key: Record<string, string>): Promise<unknown> {
  const timeout = AbortSignal.timeout(((settings.timeoutSeconds ?? 30) + (wish.waitSeconds ?? 0)) * 1000);
  const ended = new AbortController();
  const end = (): void => ended.abort();
  for (const signal of [timeout, wish.signal]) signal?.addEventListener("abort", end, { once: true });
  if (wish.signal?.aborted) end();
  try {
    const response = await fetch(addressOf(settings, wish), {
      method: wish.method,
      headers: { Authorization: `Bearer ${settings.apiKey}`, "Content-Type": "application/json", ...key },
      body: wish.body === undefined ? null : JSON.stringify(wish.body),
      redirect: "error",
      signal: ended.signal,
    });
    if (!response.ok) throw await refusalOf(response);
    return response.status === 204 ? undefined : await response.json();
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new ConnectionLost(`${wish.method} ${wish.path}: ${causeOf(error)}`, { cause: error });
  } finally {
    wish.signal?.removeEventListener("abort", end);
  }
}

function addressOf(settings: Settings, wish: Wish): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(wish.query ?? {})) {
    if (value !== undefined && value !== null) query.append(name, String(value));
  }
  return `${settings.url.replace(/\/$/, "")}${wish.path}${String(query) ? `?${query}` : ""}`;
}

function mayBeRepeated(error: unknown, wish: Wish): boolean {
  if (error instanceof ConnectionLost) return Boolean(wish.repeatable || wish.keyed);
  return error instanceof Refused && PASSING.has(error.status) && error.type !== "quota-exceeded";
}

function asked(error: unknown): number {
  return error instanceof Refused ? (error.retryAfterSeconds ?? 0) : 0;
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
