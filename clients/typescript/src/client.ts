/** The calls of a message's life, and `call` for every other operation of the API. */
import type { components, operations } from "./openapi.js";
import { exchange, type Settings, type Wish } from "./request.js";

type Schemas = components["schemas"];
export type Message = Schemas["Received"];
export type Settlement = Schemas["Settlement"];
export type NewMessage = Schemas["NewMessage"];

type Success<Op extends keyof operations> = operations[Op]["responses"] extends infer All
  ? { [Status in keyof All & (200 | 201 | 202)]: All[Status] extends { content: { "application/json": infer Body } }
      ? Body
      : undefined }[keyof All & (200 | 201 | 202)]
  : never;

export interface ReceiveOptions extends Partial<Schemas["Receive"]> {
  /** Ends the wait. What the server had delivered by then comes back when its lease ends. */
  signal?: AbortSignal;
}

export class Client {
  constructor(private readonly settings: Settings) {}

  /** Call an operation of the OpenAPI document; `call<"startRedrive">({...})` types the answer. */
  async call<Op extends keyof operations>(wish: Wish): Promise<Success<Op>> {
    return (await exchange(this.settings, wish)) as Success<Op>;
  }

  /** Create a queue. A repetition with equal settings changes nothing. */
  createQueue(name: string, settings: Omit<Schemas["NewQueue"], "name"> = {}) {
    return this.call<"createQueue">({ method: "POST", path: "/v1/queues", body: { ...settings, name }, keyed: true });
  }

  /** Describe a queue: its settings, and its messages by state. */
  getQueue(queue: string) {
    return this.call<"getQueue">({ method: "GET", path: pathOf(queue), repeatable: true });
  }

  /** Send one message. A retry of the request sends it once. */
  send(queue: string, body: unknown, options: Omit<NewMessage, "body"> = {}) {
    const path = `${pathOf(queue)}/messages`;
    return this.call<"sendMessage">({ method: "POST", path, body: { ...options, body }, keyed: true });
  }

  /** Send messages, each accepted or refused alone; with `atomic` all or none. */
  sendBatch(queue: string, messages: Schemas["Batch"]["messages"], options: { atomic?: boolean } = {}) {
    return this.post<"sendMessages">(queue, ":batch", { ...options, messages }, { keyed: true });
  }

  /** Receive messages; of an empty queue wait up to `waitSeconds`. A lost answer is not repeated. */
  async receive(queue: string, { signal, ...options }: ReceiveOptions = {}): Promise<Message[]> {
    const waiting = { waitSeconds: options.waitSeconds ?? 0, signal };
    return (await this.post<"receiveMessages">(queue, ":receive", options, waiting)).messages;
  }

  /** Acknowledge a message: its work is done. Throws `lease-lost` if the delivery is over. */
  ack(queue: string, receiptHandle: string, result?: unknown) {
    return this.settle<"ackMessage">(queue, receiptHandle, "ack", result === undefined ? {} : { result });
  }

  /** Acknowledge many messages; a lost one has the status `lost` in its result. */
  async ackBatch(queue: string, receiptHandles: string[]): Promise<Settlement[]> {
    return (await this.post<"ackMessages">(queue, ":ack", { receiptHandles }, { repeatable: true })).results;
  }

  /** Report a failure: the message is retried after its backoff or `delaySeconds`, or becomes a dead letter. */
  nack(queue: string, receiptHandle: string, failure: Schemas["Nack"] = {}) {
    return this.settle<"nackMessage">(queue, receiptHandle, "nack", failure);
  }

  /** Put a message off, without a failure. */
  defer(queue: string, receiptHandle: string, delaySeconds: number, state?: unknown) {
    return this.settle<"defer">(queue, receiptHandle, "defer", state === undefined ? { delaySeconds } : { delaySeconds, state });
  }

  /** Hold these messages for so many seconds from now. */
  async extend(queue: string, receiptHandles: string[], visibilityTimeoutSeconds: number): Promise<Settlement[]> {
    const body = { receiptHandles, visibilityTimeoutSeconds };
    return (await this.post<"changeVisibilities">(queue, ":change-visibility", body, { repeatable: true })).results;
  }

  /** Say what became of a message. */
  outcome(queue: string, messageId: string) {
    const path = `${pathOf(queue)}/messages/${encodeURIComponent(messageId)}`;
    return this.call<"getMessageOutcome">({ method: "GET", path, repeatable: true });
  }

  private post<Op extends keyof operations>(queue: string, verb: string, body: unknown, options: Partial<Wish>) {
    return this.call<Op>({ method: "POST", path: `${pathOf(queue)}/messages${verb}`, body, ...options });
  }

  private settle<Op extends keyof operations>(queue: string, handle: string, verb: string, body: unknown) {
    const path = `${pathOf(queue)}/messages/${encodeURIComponent(handle)}:${verb}`;
    return this.call<Op>({ method: "POST", path, body, repeatable: verb === "ack" });
  }
}

function pathOf(queue: string): string {
  return `/v1/queues/${encodeURIComponent(queue)}`;
}
