/** The client of Signalbox for programs on Node. */
export { Client, type Message, type NewMessage, type ReceiveOptions, type Settlement } from "./client.js";
export { ConnectionLost, isRefused, Refused, type ProblemType } from "./errors.js";
export type { components, operations } from "./openapi.js";
export type { Settings, Wish } from "./request.js";
export { Defer, Reject, Retry, Worker, type Delivery, type Handler, type WorkerOptions } from "./worker.js";
