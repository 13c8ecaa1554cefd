// The health check of the image: `node healthcheck.mjs [/readyz]`. It asks the address that `serve` has in ACP_SHIFT_OPS for
// /healthz, or for the path given, and ends with 0 when the answer is 200. Where there is no such address, as with a
// bridge on stdio, there is no more to know than that the container runs.
import { get } from "node:http";

const [path = "/healthz"] = process.argv.slice(2);
const ops = process.env.ACP_SHIFT_OPS;

function unhealthy(why) {
  process.stderr.write(`${path} of ${ops}: ${why}\n`);
  process.exitCode = 1;
}

if (ops) {
  const request = get(new URL(path, ops), { timeout: 3000 }, (response) => {
    response.resume();
    if (response.statusCode !== 200) unhealthy(`status ${response.statusCode}`);
  });
  request.on("timeout", () => request.destroy(new Error("no answer in 3 s")));
  request.on("error", (error) => unhealthy(error.message));
}
