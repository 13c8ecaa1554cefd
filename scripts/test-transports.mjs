// `npm run test:transports`: the end-to-end tests, unchanged, over every transport; `-- ws unix` for some. What they start is
// `acp-shift serve`, reached by a client of that transport (test/fixtures/peers/over.mjs). Without a choice also every fault
// of a network at every step of a conversation, of which `npm test` tries some.
import { join } from "node:path";
import { root, run } from "./installed.mjs";

const TRANSPORTS = ["unix", "tcp", "ws", "sdk-ws", "http", "connect"];
// Traces, and a stderr that nobody reads, have nothing to do with how a client comes.
const TESTS = ["test/e2e", "--exclude", "test/e2e/trace*", "--exclude", "test/e2e/stderr-gone.test.ts"];

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !TRANSPORTS.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`usage: npm run test:transports [-- ${TRANSPORTS.join("|")}…]\n`);
  process.exit(2);
}
for (const transport of chosen.length > 0 ? chosen : TRANSPORTS) {
  process.stdout.write(`\nend-to-end tests over ${transport}\n`);
  vitest(TESTS, { TEST_TRANSPORT: transport });
}
if (chosen.length === 0) {
  process.stdout.write("\nevery fault of a network\n");
  vitest(["test/remote/faults.test.ts", "test/remote/broken-links.test.ts"], { TEST_ALL_FAULTS: "1" });
}

function vitest(words, env) {
  const program = join(root, "node_modules", "vitest", "vitest.mjs");
  run(process.execPath, [program, "run", ...words], root, { ...process.env, ...env });
}
