// pg-boss: fetch and complete, ten jobs at a time, by four callers at once; finished jobs stay in their table.
// Its own work() is a timer around the same two calls.
import { once } from "node:events";
import { createRequire } from "node:module";

const PgBoss = createRequire(`${process.cwd()}/`)("pg-boss");
const [work, url, count, payload] = process.argv.slice(2);
const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false, max: 8 });
const data = { payload };

async function drain() {
  for (;;) {
    const jobs = await boss.fetch("bench", { batchSize: 10 });
    if (!jobs.length) return;
    await boss.complete("bench", jobs.map((job) => job.id));
  }
}

await boss.start();
if (work === "prepare") {
  await boss.createQueue("bench");
} else if (work === "fill") {
  for (let sent = 0; sent < count; sent += 500) {
    await boss.insert(Array.from({ length: 500 }, () => ({ name: "bench", data })));
  }
} else {
  console.log("ready");
  await once(process.stdin, "data");
  if (work === "send") {
    for (let sent = 0; sent < count; sent++) await boss.send("bench", data);
  } else {
    await Promise.all(Array.from({ length: 4 }, drain));
  }
}
process.exit(0);
