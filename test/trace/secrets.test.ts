// Guards that a trace tells no secret (docs/trace.md): one is planted in every place the schemas of both versions have
// room for one, and none is left; what is no secret stays.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Event, Side } from "../../src/bridge/events.ts";
import { createLogger } from "../../src/logging.ts";
import { asArray, asObject, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { mayHoldSecrets, redact } from "../../src/redact.ts";
import { openRecorder } from "../../src/trace/recorder.ts";
import { redactFrame, redactText, redactValue } from "../../src/trace/secrets.ts";
import { traceDirectory } from "../support/trace-file.ts";

const require = createRequire(import.meta.url);
const schemas = ["v1/schema.json", "v1/schema.unstable.json", "v2/schema.json", "v2/schema.unstable.json"];

interface Planted {
  name: string;
  method: string;
  frame: JsonObject;
  /** What must be gone, and what must stay. */
  secrets: string[];
  ordinary: string[];
}

/** For each method's params and result a frame with all members, and a secret in each place; `variant` chooses in unions. */
function plant(file: string, variant: number): Planted[] {
  const document = JSON.parse(readFileSync(require.resolve(`@agentclientprotocol/sdk/schema/${file}`), "utf8"));
  const definitions = asObject(document["$defs"]);
  return Object.entries(definitions).flatMap(([definition, node]) => {
    if (!isObject(node) || typeof node["x-method"] !== "string") return [];
    const method = node["x-method"];
    const planted: Planted = { name: `${file} ${definition}`, method, frame: {}, secrets: [], ordinary: [] };
    const value = fill(node, "", planted, definitions, variant, 0);
    const body = definition.endsWith("Response") ? { result: value } : { method, params: value };
    return [{ ...planted, frame: { jsonrpc: "2.0", id: 1, ...body } }];
  });
}

function fill(
  node: JsonObject,
  key: string,
  planted: Planted,
  definitions: JsonObject,
  variant: number,
  depth: number,
): unknown {
  const secret = () => {
    const text = `planted${planted.secrets.length}value`;
    planted.secrets.push(text);
    return text;
  };
  const ordinary = () => {
    const text = `ordinary${planted.ordinary.length}`;
    planted.ordinary.push(text);
    return text;
  };
  const inner = (child: unknown, name: string) => fill(asObject(child), name, planted, definitions, variant, depth + 1);

  if (/^(env|headers)$/i.test(key)) {
    const isList = JSON.stringify(node).includes('"array"');
    return isList ? [{ name: ordinary(), value: secret() }] : { [ordinary()]: secret() };
  }
  if (key === "args") return ["--token", secret(), `--api-key=${secret()}`, ordinary()];
  if (key === "url" || key === "baseUrl") return `https://user:${secret()}@host/${ordinary()}?token=${secret()}`;
  if (node["contentEncoding"] === "base64" || key === "blob")
    return Buffer.from(`API_KEY=${secret()}\n`).toString("base64");
  if (typeof node["$ref"] === "string") return inner(definitions[node["$ref"].slice("#/$defs/".length)], key);
  if ("const" in node) return node["const"];
  if (Array.isArray(node["enum"])) return node["enum"][0];
  const variants = asArray(node["anyOf"] ?? node["oneOf"]).filter(
    (branch) => isObject(branch) && branch["type"] !== "null",
  );
  const chosen = variants.length === 0 ? undefined : inner(variants[variant % variants.length], key);
  const types = asArray(node["type"]).concat(node["type"] ?? []);
  if (isObject(node["properties"])) {
    const own = Object.entries(node["properties"]).map(([name, child]) => [
      name,
      depth > 12 ? null : inner(child, name),
    ]);
    const all = asArray(node["allOf"]).map((part) => inner(part, key));
    return Object.assign({}, ...all, chosen, Object.fromEntries(own));
  }
  if (chosen !== undefined) return chosen;
  if (asArray(node["allOf"]).length > 0) return inner(asArray(node["allOf"])[0], key);
  if (types.includes("array")) return depth > 12 ? [] : [inner(node["items"], key)];
  if (key === "content" && isObject(node["additionalProperties"])) return { answer: secret() };
  if (types.includes("integer") || types.includes("number")) return 7;
  if (types.includes("boolean")) return true;
  if (/(id|name)$/i.test(key)) return ordinary();
  if (types.includes("string")) return `${ordinary()} sent Authorization: Bearer ${secret()}`;
  // Anything at all may stand here.
  return {
    note: ordinary(),
    apiKey: secret(),
    inner: [{ password: secret(), cookies: [secret()] }, { headers: { "X-Any": secret() } }],
    environment: { [ordinary()]: secret() },
    text: `export GITHUB_TOKEN=${secret()}; curl https://me:${secret()}@host/`,
  };
}

const all = schemas.flatMap((file) => Array.from({ length: 24 }, (_, variant) => plant(file, variant)).flat());

test("secrets are planted wherever there is room", () => {
  const places = new Set(
    all.flatMap(({ frame }) => [...JSON.stringify(frame).matchAll(/"(\w+)":/g)].map(([, k]) => k)),
  );
  for (const place of ["env", "headers", "args", "_meta", "rawInput", "rawOutput", "content", "url", "blob", "data"])
    expect(places).toContain(place);
  expect(new Set(all.map(({ method }) => method)).size).toBeGreaterThan(35);
  expect(all.reduce((sum, { secrets }) => sum + secrets.length, 0)).toBeGreaterThan(10_000);
});

test.each(schemas)("none is left in a frame of %s, and what is ordinary stays", (file) => {
  const faults = all.flatMap(({ name, method, frame, secrets, ordinary }) => {
    if (!name.startsWith(file)) return [];
    const json = JSON.stringify(frame);
    const written = redactFrame(frame, Buffer.from(json), method) ?? json;
    const decoded = written + decodedBase64(written);
    const left = secrets.filter((secret) => decoded.includes(secret));
    // In what a person enters to log in nothing is told from a secret.
    const lost = /^auth/.test(method) ? [] : ordinary.filter((text) => json.includes(text) && !written.includes(text));
    return left.length + lost.length === 0 ? [] : [{ name, left: left.slice(0, 3), lost: lost.slice(0, 3), written }];
  });
  expect(faults.slice(0, 2)).toEqual([]);
});

function decodedBase64(json: string): string {
  return [...json.matchAll(/"(?:data|blob)":"([^"]*)"/g)].map(([, text = ""]) => Buffer.from(text, "base64")).join();
}

test("none is left in the file, on whichever leg, in whichever record it passes", async () => {
  const directory = traceDirectory();
  const path = join(directory, "trace.jsonl");
  const recorder = openRecorder({
    target: path,
    limit: 2 ** 30,
    redact: true,
    onFault: (_, error) => expect.fail(error.message),
  });
  const words = (number: number) => `said Authorization: Bearer plantedelsewhere${number}value`;
  recorder.begin({ agentCommand: ["agent", "--token", "plantedelsewhere0value"], note: words(1) });
  const log = recorder.listening(createLogger({ logLevel: "silent", logFile: undefined }));
  const others: Record<Side, Side> = { client: "agent", agent: "client" };
  const pass = (from: Side, frame: JsonObject, as: "sent" | "forwarded") => {
    const text = JSON.stringify(frame);
    recorder.event({ type: "frame", from, value: frame, line: Buffer.from(text) }, recorder.now());
    if (as === "sent") recorder.sent(others[from], frame, text);
    else recorder.forwarded(others[from], Buffer.from(text));
    recorder.settled();
  };
  const some = all.filter(({ name }, index) => name.includes("unstable") && index % 5 === 0);
  for (const [id, { method, frame }] of some.entries())
    for (const [from, as] of [
      ["client", "sent"],
      ["agent", "forwarded"],
    ] as const) {
      if ("result" in frame) pass(others[from], { jsonrpc: "2.0", id, method, params: {} }, as);
      pass(from, { ...frame, id }, as);
    }
  recorder.stderr(words(2));
  recorder.untidy(Buffer.from(words(3)));
  log.warn("agent-noise", { text: words(4), token: "plantedelsewhere5value" });
  const output = Buffer.from(words(6)).toString("base64");
  const told = { type: "terminal", sessionId: "s", terminalId: "t", change: { data: output, env: { A: words(7) } } };
  recorder.event(told as unknown as Event, recorder.now());
  recorder.event({ type: "not-json", line: Buffer.from(words(8)) }, recorder.now());
  recorder.event({ type: "oversized", from: "agent", bytes: 9, head: words(9), tail: words(10) }, recorder.now());
  await recorder.end(0);

  const text = readFileSync(path, "utf8");
  expect(text.split("\n").length).toBeGreaterThan(4 * some.length);
  expect(text.match(/ordinary\d+/g)?.length).toBeGreaterThan(1000);
  const left = [...`${text}${decodedBase64(text)}`.matchAll(/.{0,60}planted(?:elsewhere)?\d+value/g)].map(
    ([found]) => found,
  );
  expect(left.slice(0, 5)).toEqual([]);
});

test.each<[string, string, JsonObject]>([
  ["a login", "authenticate", { params: { methodId: "key", _meta: { anything: "planted" } } }],
  ["a login in v2", "auth/login", { params: { methodId: "key", code: "planted", deep: [{ pin: 1234567 }] } }],
  ["what a person entered", "elicitation/create", { result: { action: "accept", content: { colour: "planted" } } }],
  ["the query of a page to log in on", "elicitation/create", { params: { url: "https://a/b?code=planted#planted" } }],
  ["an option named like one", "session/set_config_option", { params: { configId: "apiKey", value: "planted" } }],
  ["a name written with escapes", "x", JSON.parse('{"params":{"to\\u006ben":"planted"}}')],
])("%s is replaced", (_, method, frame) => {
  const json = JSON.stringify(frame).replace("token", "to\\u006ben");
  const written = redactFrame(frame, json, method);
  expect(written).toContain("[redacted]");
  expect(written).not.toMatch(/planted|1234567/);
});

test("a frame in which nothing is replaced is left as it was written, spaces and all", () => {
  const line = '{ "jsonrpc":"2.0", "method":"x", "params":{"tokens":5, "env":[]} }';
  expect(redactFrame(JSON.parse(line), line, "x")).toBeUndefined();
});

test("terminal output and stored history among the events", () => {
  const data = Buffer.from("DB_PASSWORD=planted\nplain\n").toString("base64");
  const event = JSON.parse(redactValue({ sessionId: "s1", change: { data } }));
  expect(Buffer.from(String(asObject(asObject(event)["change"])["data"]), "base64").toString()).toBe(
    "DB_PASSWORD=[redacted]\nplain\n",
  );
  expect(redactValue({ value: [{ env: { A: "planted" } }] })).not.toContain("planted");
  expect(redactText("x-api-key: planted123")).not.toContain("planted123");
});

test("what the first look lets pass has nothing to be replaced", () => {
  const word = fc.constantFrom(
    ..."token secret password api-key Api_Key authorization cookie credential env headers Bearer sk- ghp_ eyJ AKIA://@:=".split(
      " ",
    ),
    ...[
      '"',
      "\\",
      "/",
      "\n",
      "\t",
      " ",
      "-",
      "abcdefgh",
      "0123456789abcdef",
      "u:p@",
      "://",
      "Env",
      "args",
      "name",
      "value",
    ],
  );
  const text = fc.array(word, { maxLength: 8 }).map((words) => words.join(""));
  const value = fc.oneof(text, fc.dictionary(text, text), fc.array(fc.record({ name: text, value: text })));
  fc.assert(
    fc.property(fc.dictionary(text, value), (object) => {
      const json = JSON.stringify(object);
      if (!mayHoldSecrets(json)) expect(redact(object)).toEqual(object);
    }),
    { numRuns: 2000 },
  );
});
