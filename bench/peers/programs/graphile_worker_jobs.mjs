// graphile-worker: its own worker, ten jobs at once; finished jobs are deleted.
import { once } from "node:events";
import { createRequire } from "node:module";

const { Logger, makeWorkerUtils, runOnce } = createRequire(`${process.cwd()}/`)("graphile-worker");
const [work, url, count, payload] = process.argv.slice(2);
const options = { connectionString: url, logger: new Logger(() => () => {}) };
const data = { payload };

const utils = await makeWorkerUtils(options);
if (work === "prepare") {
  await utils.migrate();
} else if (work === "fill") {
  const statement = "select graphile_worker.add_job('nothing', $1::json) from generate_series(1, $2::int)";
  await utils.withPgClient((client) => client.query(statement, [JSON.stringify(data), count]));
} else {
  console.log("ready");
  await once(process.stdin, "data");
  if (work === "send") {
    for (let sent = 0; sent < count; sent++) await utils.addJob("nothing", data);
  } else {
    await runOnce({ ...options, concurrency: 10, taskList: { nothing: async () => {} } });
  }
}
process.exit(0);
