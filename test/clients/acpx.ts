// Guards docs/mapping.md §13 with a real v1 client: acpx holds a conversation with the SDK's v2 agent through the built
// acp-shift. Every frame that acpx shows of the agent is valid v1. Run by scripts/test-clients.mjs, on the Node version
// acpx needs and with its runner; ACPX is the path of acpx's program.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { asObject, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { validateFrame } from "../support/schema.ts";

const ACPX = process.env["ACPX"];
assert.ok(ACPX, "ACPX must name acpx's program; run `npm run test:clients`");

const root = fileURLToPath(new URL("../../", import.meta.url));
const quoted = (...words: string[]) => words.map((word) => `"${word}"`).join(" ");
const AGENT = quoted(
  process.execPath,
  join(root, "dist", "cli.js"),
  "--",
  process.execPath,
  join(root, "test", "fixtures", "peers", "sdk-agent-v2.mjs"),
);

/** What acpx wrote: the frames and its own records, one JSON value a line. */
interface Run {
  status: number | null;
  lines: JsonObject[];
  stderr: string;
}

const home = mkdtempSync(join(tmpdir(), "acp-shift-acpx-"));
const started = new Set<ChildProcess>();

/** Starts acpx; `seen` is called with each line it writes. */
function acpx(args: string[], seen: (line: JsonObject) => void = () => {}): Promise<Run> {
  const all = [String(ACPX), "--format", "json", "--ttl", "600", "--agent", AGENT, ...args];
  const env = { ...process.env, HOME: home, USERPROFILE: home };
  const child = spawn(process.execPath, all, { cwd: home, env, stdio: ["ignore", "pipe", "pipe"] });
  started.add(child);
  const lines: JsonObject[] = [];
  let stderr = "";
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = asObject(JSON.parse(text));
    lines.push(line);
    seen(line);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => {
      started.delete(child);
      resolve({ status, lines, stderr });
    });
  });
}

/** A run that must succeed, and in which every frame must be valid v1. */
async function talk(...args: string[]): Promise<JsonObject[]> {
  const { status, lines, stderr } = await acpx(args);
  assert.equal(status, 0, stderr);
  assertValid(lines);
  return lines;
}

function assertValid(lines: readonly JsonObject[]): void {
  const clientAsked = new Map<unknown, string>();
  for (const frame of lines.filter(({ jsonrpc }) => jsonrpc === "2.0")) {
    const { id, method } = frame;
    const isUpdate = method === "session/update";
    if (typeof method === "string" && id !== undefined && method !== "session/request_permission") {
      clientAsked.set(id, method);
    } else if (isUpdate || method === "session/request_permission") {
      assert.equal(validateFrame("v1", "client", frame), undefined);
    } else if ("result" in frame && !isObject(asObject(frame["result"])["outcome"])) {
      assert.equal(validateFrame("v1", "client", frame, clientAsked.get(id)), undefined);
    }
  }
}

const updates = (lines: readonly JsonObject[]) =>
  lines.filter(({ method }) => method === "session/update").map(({ params }) => asObject(asObject(params)["update"]));
const kinds = (lines: readonly JsonObject[]) => updates(lines).map(({ sessionUpdate }) => sessionUpdate);
const said = (lines: readonly JsonObject[]) =>
  updates(lines)
    .filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk")
    .map(({ content }) => asObject(content)["text"])
    .join("");
const stopReason = (lines: readonly JsonObject[]) =>
  lines.map(({ result }) => asObject(result)["stopReason"]).find((reason) => reason !== undefined);

before(async () => {
  await talk("sessions", "new");
});

after(async () => {
  // Ends the process in which acpx keeps the session, and with it the agent.
  await acpx(["sessions", "close"]);
  for (const child of started) child.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
});

test("a turn with everything a v2 agent shows", async () => {
  const lines = await talk("prompt", "#text #whole #thought #tool #edit #terminal #plan #mode");
  assert.equal(said(lines), "Hello from v2One, two");
  assert.equal(stopReason(lines), "end_turn");
  const told = new Set(kinds(lines));
  for (const kind of ["agent_thought_chunk", "tool_call", "tool_call_update", "plan", "current_mode_update"])
    assert.ok(told.has(kind), `no ${kind}`);
  const plan = updates(lines).findLast(({ sessionUpdate }) => sessionUpdate === "plan");
  assert.deepEqual(
    [plan?.["entries"]].flat().map((entry) => asObject(entry)["content"]),
    ["First", "Second"],
  );
});

test("a permission that is given, and one that is refused", async () => {
  assert.equal(said(await talk("--approve-all", "prompt", "#permission")), "Answer: yes");
  assert.equal(said(await talk("--deny-all", "prompt", "#permission")), "Answer: no");
});

test("the mode and an option are set", async () => {
  const [mode] = await talk("set-mode", "code");
  assert.equal(mode?.["modeId"], "code");
  const [option] = await talk("set", "mode", "ask");
  assert.equal(option?.["value"], "ask");
  const [first] = [option?.["configOptions"]].flat();
  assert.equal(asObject(first)["currentValue"], "ask");
});

test("a turn is cancelled", async () => {
  let cancelled: Promise<Run> | undefined;
  const { lines } = await acpx(["prompt", "#wait"], (line) => {
    if (JSON.stringify(line).includes("Working")) cancelled ??= acpx(["cancel"]);
  });
  assert.equal((await cancelled)?.status, 0);
  assertValid(lines);
  assert.equal(stopReason(lines), "cancelled");
});

test("a failed turn is an error, and the session lives on", async () => {
  const { status, lines } = await acpx(["prompt", "#error"]);
  assert.notEqual(status, 0);
  assert.ok(JSON.stringify(lines).includes("The model is out of order"));
  assert.equal(said(await talk("prompt", "#text")), "Hello from v2");
});

test("a conversation of one turn", async () => {
  const lines = await talk("exec", "#text");
  assert.equal(said(lines), "Hello from v2");
  assert.equal(stopReason(lines), "end_turn");
});
