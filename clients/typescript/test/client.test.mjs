// Runs against a console: SIGNALBOX_URL and SIGNALBOX_API_KEY name it. `npm test` after `npm run build`.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { Client, ConnectionLost, Defer, isRefused, Refused, Reject, Retry, Worker } from "../dist/index.js";

const settings = { url: process.env.SIGNALBOX_URL, apiKey: process.env.SIGNALBOX_API_KEY, retrySeconds: 10 };
const client = new Client(settings);
const PATIENCE_MS = 60_000;

async function newQueue(options = {}) {
  const name = `node-${randomUUID().slice(0, 8)}`;
  await client.createQueue(name, { backoffBaseSeconds: 0, maxReceiveCount: 2, ...options });
  return name;
}

async function until(condition, what) {
  const endsAt = Date.now() + PATIENCE_MS;
  for (;;) {
    if (await condition()) return;
    assert.ok(Date.now() < endsAt, what);
    await pause(50);
  }
}

/** Start a worker, wait for the condition, and stop it. */
async function working(queue, handler, condition, options = {}) {
  const errors = [];
  const worker = new Worker(client, queue, handler, { onError: (error) => errors.push(error), ...options });
  const run = worker.run();
  try {
    await until(condition, "the worker");
  } finally {
    worker.stop();
    await run;
  }
  assert.deepEqual(errors, []);
}

test("a message's life", async () => {
  const queue = await newQueue();
  const { messageId } = await client.send(queue, { order: 1 }, { attributes: { colour: "red" } });
  const [message] = await client.receive(queue, { waitSeconds: 5 });
  assert.deepEqual([message.messageId, message.body, message.attributes.colour], [messageId, { order: 1 }, "red"]);
  assert.equal((await client.extend(queue, [message.receiptHandle], 60))[0].status, "changed");
  await client.ack(queue, message.receiptHandle, { total: 7 });
  const outcome = await client.outcome(queue, messageId);
  assert.deepEqual([outcome.outcome, outcome.result], ["acked", { total: 7 }]);
  assert.deepEqual((await client.getQueue(queue)).messages.ready, 0);
});

test("a batch is accepted or refused message by message", async () => {
  const queue = await newQueue();
  const { results } = await client.sendBatch(queue, [{ body: 1 }, { body: 2, delaySeconds: -1 }]);
  assert.deepEqual(results.map(({ status }) => status), ["accepted", "rejected"]);
  const handles = (await client.receive(queue, { maxMessages: 10 })).map((one) => one.receiptHandle);
  const statuses = async () => (await client.ackBatch(queue, handles)).map(({ status }) => status);
  assert.deepEqual([await statuses(), await statuses()], [["acked"], ["lost"]]);
});

test("a refusal says its type, its fields and nothing secret", async () => {
  const queue = await newQueue();
  await assert.rejects(client.send(queue, 1, { delaySeconds: -1 }), (error) => {
    assert.ok(error instanceof Refused && isRefused(error, "invalid-argument"));
    assert.match(error.errors[0].field, /delaySeconds/);
    return true;
  });
  await assert.rejects(client.getQueue(`${queue}-none`), (error) => isRefused(error, "queue-not-found"));
  await client.send(queue, 1);
  const [message] = await client.receive(queue);
  await client.ack(queue, message.receiptHandle);
  await assert.rejects(client.ack(queue, message.receiptHandle), (error) => isRefused(error, "lease-lost"));
  const stranger = new Client({ ...settings, apiKey: "sbk_wrong", retrySeconds: 0 });
  await assert.rejects(stranger.getQueue(queue), (error) => {
    assert.ok(!JSON.stringify([error.message, error.stack]).includes("sbk_wrong"));
    return isRefused(error, "unauthorized");
  });
});

test("a send is repeated with one key, a receive is not repeated, and both end in time", async () => {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push([request.url.split(":").at(-1), request.headers["idempotency-key"]]);
    if (asked.length === 1) return request.socket.destroy();
    response.writeHead(asked.length === 2 ? 503 : 200, { "Content-Type": "application/json", "Retry-After": "0" });
    response.end('{"messageId": "msg_1", "sequence": 1}');
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const flaky = new Client({ ...settings, url: `http://127.0.0.1:${server.address().port}` });
  assert.equal((await flaky.send("q", 1)).messageId, "msg_1");
  assert.equal(new Set(asked.map(([, key]) => key)).size, 1);
  assert.equal(asked.length, 3);
  asked.length = 0;
  await assert.rejects(flaky.receive("q"), ConnectionLost);
  assert.equal(asked.length, 1);
  server.close();
  server.closeAllConnections?.();
});

test("a worker acks, retries, rejects and defers", async () => {
  const queue = await newQueue();
  const seen = [];
  for (const body of ["ack", "retry", "reject", "defer"]) await client.send(queue, body);
  const handler = ({ body, receiveCount, state }) => {
    seen.push([body, state]);
    if (body === "reject") throw new Reject("no such order");
    if (body === "retry" && receiveCount === 1) throw new Retry("later", 0);
    if (body === "defer" && !state) throw new Defer(0, { step: 2 });
    return { of: body };
  };
  const done = async () => {
    const { messages } = await client.getQueue(queue);
    return messages.dead === 1 && messages.ready + messages.leased + messages.scheduled === 0;
  };
  await working(queue, handler, done, { concurrency: 3 });
  assert.deepEqual(seen.filter(([body]) => body === "defer"), [["defer", null], ["defer", { step: 2 }]]);
  assert.equal(seen.filter(([body]) => body === "retry").length, 2);
  assert.equal(seen.filter(([body]) => body === "reject").length, 1);
});

test("a heartbeat keeps the lease of a long handler", async () => {
  const queue = await newQueue();
  await client.send(queue, 1);
  let calls = 0;
  let ended = false;
  const handler = async () => {
    calls += 1;
    await pause(3_500);
    ended = true;
  };
  const done = async () => ended && (await client.getQueue(queue)).messages.leased === 0;
  await working(queue, handler, done, { visibilityTimeoutSeconds: 1.5, concurrency: 2 });
  assert.equal(calls, 1);
});

test("a handler whose lease is lost hears of it, and does not settle", async () => {
  const queue = await newQueue();
  await client.send(queue, 1);
  let heard = false;
  const handler = async (message, { signal }) => {
    if (message.receiveCount > 1) return;
    await client.nack(queue, message.receiptHandle, { delaySeconds: 0 });
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    heard = true;
  };
  const done = async () => heard && (await client.getQueue(queue)).messages.ready === 0;
  await working(queue, handler, done, { visibilityTimeoutSeconds: 1.5, concurrency: 2 });
});

test("SIGTERM drains: the running handler ends and is acknowledged, nothing more is received", async () => {
  const queue = await newQueue();
  await client.sendBatch(queue, [{ body: 1 }, { body: 2 }]);
  const program = `
    import { Client, Worker } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
    const client = new Client({ url: process.env.SIGNALBOX_URL, apiKey: process.env.SIGNALBOX_API_KEY });
    const handler = () => { console.log("began"); return new Promise((resolve) => setTimeout(resolve, 1500)); };
    await new Worker(client, ${JSON.stringify(queue)}, handler).run();
    console.log("ended");`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (text) => {
    said += text;
    if (said === "began\n") child.kill("SIGTERM");
  });
  const [code, signal] = await new Promise((resolve) => child.on("close", (...ended) => resolve(ended)));
  assert.deepEqual([code, signal, said], [0, null, "began\nended\n"]);
  const { messages } = await client.getQueue(queue);
  assert.deepEqual([messages.ready, messages.leased], [1, 0]);
});
