// Guards `acp-shift trace show` (docs/trace.md): what a line holds, which records a filter lets through, how two forms
// stand side by side, and that nothing a peer says steers the terminal.
import { describe, expect, test } from "vitest";
import { UsageError } from "../../src/config/usage-error.ts";
import { createFilter, type Filter, readSince } from "../../src/trace/filter.ts";
import type { TraceRecord } from "../../src/trace/format.ts";
import { compareForms, formsText, linesOf } from "../../src/trace/forms.ts";
import { createPairs, familyText } from "../../src/trace/pairs.ts";
import { createRows, rowText } from "../../src/trace/show.ts";
import { column, cut, pageOf, table, widthOf, wrapped } from "../../src/trace/text.ts";
import { createRecorder, recordedNames, translatedRuns } from "../support/recorded.ts";

const plain = { columns: 120, colour: false };
const rpc = (frame: object) => ({ jsonrpc: "2.0", ...frame });
const update = (sessionId: string, fields: object) =>
  rpc({ method: "session/update", params: { sessionId, update: fields } });
const words = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

/** One record of each kind. */
function sample(): TraceRecord[] {
  const recorder = createRecorder();
  const asked = recorder.frame("client-bridge", rpc({ id: 1, method: "session/list", params: { cwd: "/a" } }));
  recorder.add({ type: "note", what: "changed", event: "path-mapped", rule: "4.2", details: { from: "/a" } }, asked);
  recorder.frame("bridge-agent", rpc({ id: 7, method: "session/list", params: { cwd: "/b" } }), asked);
  recorder.wait(250);
  const failed = recorder.frame("agent-bridge", rpc({ id: 7, error: { code: -32603, message: "no" } }));
  recorder.frame("bridge-client", rpc({ id: 1, error: { code: -32603, message: "no" } }), failed);
  const said = recorder.frame("agent-bridge", update("session-abcdef", words("hi\n\u001b[31mthere")));
  recorder.add({ type: "note", what: "dropped", event: "update-dropped", session: "session-abcdef" }, said);
  recorder.add({ type: "bytes", leg: "agent-bridge", bytes: 3, text: "boo" });
  recorder.add({ type: "stderr", text: "warning" });
  recorder.add({ type: "event", event: "agent-exit", details: { code: 3, signal: null } });
  recorder.add({ type: "dropped", records: 2, bytes: 99, reason: "slow disk" });
  return recorder.end();
}

function shown(records: readonly TraceRecord[], filter: Filter = {}): string[] {
  const passes = createFilter(filter);
  const row = createRows();
  return records
    .map((record) => ({ record, text: rowText(row(record), plain) }))
    .flatMap(({ record, text }) => (passes(record) ? [text] : []));
}

test("a line for each record, aligned", () => {
  expect(shown(sample())).toEqual([
    "                                 part 1                            agent --acp, acp-shift 0.1.0, 2026-01-01T00:00:00.00…",
    '     1     0.001  C→B            ?session/list #1                  {"cwd":"/a"}',
    '     2              └            path-mapped (4.2)                 changed {"from":"/a"}',
    '     3     0.003    B→A          ?session/list #7                  {"cwd":"/b"}',
    "     4     0.254    B←A          !session/list #7                  251 ms  -32603 no",
    "     5     0.255  C←B            !session/list #1                  254 ms  -32603 no",
    '     6     0.256    B←A  abcdef  agent_message_chunk               "hi\\n\\u001b[31mthere"',
    "     7              └    abcdef  update-dropped                    dropped",
    '     8     0.258    B←A          no frame                          "boo"',
    "     9     0.259      A          stderr                            warning",
    '    10     0.260    ·            agent-exit                        {"code":3,"signal":null}',
    "    11     0.261    ✂            dropped                           2 records (99 bytes) are missing here: slow disk",
    "    12     0.262                 end                               status 0, 13 records, 0 dropped",
  ]);
});

test("no line is wider than the page, has a line break or a control character, whatever was said", () => {
  for (const name of recordedNames().filter((name) => name.includes("-full")))
    for (const line of translatedRuns(name).flatMap((records) => shown(records))) {
      expect(widthOf(line)).toBeLessThanOrEqual(120);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
      expect(line).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
    }
});

describe("filters", () => {
  const seqs = (filter: Filter) =>
    shown(sample(), filter)
      .map((line) => Number(line.slice(0, 6)))
      .filter((seq) => seq > 0);
  test.each<[Filter, number[]]>([
    [{}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    [{ session: ["abc"] }, [6, 7, 12]],
    [{ session: ["xyz"] }, [12]],
    [{ method: ["list"] }, [1, 2, 3, 4, 5, 12]],
    [{ method: ["message_chunk", "path"] }, [2, 6, 7, 12]],
    [{ leg: ["client-bridge", "bridge-client"] }, [1, 2, 5, 12]],
    [{ since: 255 }, [5, 6, 7, 8, 9, 10, 11, 12]],
    [{ since: "2026-01-01T00:00:00.258Z" }, [8, 9, 10, 11, 12]],
    [{ grep: /THERE/i }, [6, 7, 12]],
    [{ errors: true }, [4, 5, 7, 8, 10, 11, 12]],
    [{ errors: true, leg: ["bridge-client"] }, [5, 12]],
  ])("%j", (filter, expected) => {
    expect(seqs(filter)).toEqual(expected);
  });

  test.each<[string, string | number]>([
    ["90s", 90_000],
    ["250", 250],
    ["2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00.000Z"],
    ["2026-01-01", "2026-01-01T00:00:00.000Z"],
  ])("--since %s", (written, since) => {
    expect(readSince(written)).toBe(since);
  });
  test.each(["2026-99-99", "soon"])("--since %s means nothing", (written) => {
    expect(() => readSince(written)).toThrow(UsageError);
  });
});

describe("two forms side by side", () => {
  test("what differs is marked", () => {
    const left = { method: "a", params: { gone: 1, kept: [1, 2], said: "x".repeat(40) } };
    const right = { method: "b", params: { kept: [1, 2], said: "x".repeat(40), new: true } };
    expect(formsText(compareForms(left, right), { columns: 63, colour: false })).toEqual([
      "{                                {",
      '  "method": "a"                |   "method": "b"',
      '  "params": {                      "params": {',
      '    "gone": 1                  <',
      '    "kept": [1,2]                    "kept": [1,2]',
      '    "said": "xxxxxxxxxxxxxxxxx       "said": "xxxxxxxxxxxxxxxxx',
      'xxxxxxxxxxxxxxxxxxxxxxx"         xxxxxxxxxxxxxxxxxxxxxxx"',
      '                               >     "new": true',
      "  }                                }",
      "}                                }",
    ]);
  });

  test("in what order fields stand is no difference", () => {
    const left = { method: "a", params: { list: [{ one: 1, two: 2 }], said: "x".repeat(40) } };
    const right = { params: { said: "x".repeat(40), list: [{ two: 2, one: 1 }] }, method: "a" };
    expect(compareForms(left, right).filter(({ mark }) => mark !== "same")).toEqual([]);
  });

  test.each([[{}], [[]], [null], ["x"], [{ a: [{ b: {} }] }]])("%j is one line when it fits", (value) => {
    expect(linesOf(value)).toEqual([JSON.stringify(value)]);
  });

  async function family(seq: number): Promise<string[] | undefined> {
    const stream = (async function* () {
      yield* sample();
    })();
    return familyText(stream, seq, plain);
  }

  test.each([1, 3])("a frame, its other form and the notes, by either number: %i", async (seq) => {
    const text = (await family(seq))?.join("\n") ?? "";
    expect(text).toMatch(/^ +1 .*session\/list/);
    expect(text).toMatch(/"id": 1 +\| +"id": 7/);
    expect(text).toContain("path-mapped (4.2)");
    expect(text).not.toContain("-32603");
  });
  test("what the bridge makes of its own on the occasion of a frame is not its other form", async () => {
    const recorder = createRecorder();
    const said = recorder.frame("agent-bridge", update("s1", words("hi")));
    recorder.frame("bridge-client", update("s1", { sessionUpdate: "state_update", state: "running" }), said);
    recorder.frame("bridge-client", update("s1", { ...words("hi"), messageId: "m" }), said);
    const pairs = createPairs(plain);
    expect(recorder.records.map((record) => pairs(record).length > 0)).toEqual([false, false, false, true]);
  });
  test("a frame that was found in a line of noise has its other form", () => {
    const recorder = createRecorder();
    const noise = recorder.add({ type: "bytes", leg: "agent-bridge", bytes: 9, text: "[…]" });
    const said = recorder.frame("agent-bridge", update("s1", words("hi")), noise);
    recorder.frame("bridge-client", update("s1", words("hi")), said);
    const pairs = createPairs(plain);
    expect(recorder.records.map((record) => pairs(record).length > 0)).toEqual([false, false, false, true]);
  });
  test("one that stands alone, and one that is not there", async () => {
    expect((await family(8))?.[0]).toContain("no frame");
    expect(await family(99)).toBeUndefined();
  });
});

describe("text", () => {
  test.each<[string, number, string]>([
    ["abc", 5, "abc  "],
    ["abcdef", 5, "abcd…"],
    ["日本語", 5, "日本…"],
    ["日本", 5, "日本 "],
    ["e\u0301", 3, "e\u0301  "],
  ])("%j in %i columns", (text, columns, expected) => {
    expect(column(text, columns)).toBe(expected);
  });
  test("a text of megabytes is cut at once", () => {
    expect(cut("x".repeat(10_000_000), 10)).toBe(`${"x".repeat(9)}…`);
  });
  test("wrapped text is whole", () => {
    const text = "日本語 and more".repeat(20);
    const lines = wrapped(text, 7);
    expect(lines.join("")).toBe(text);
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(7);
    expect(wrapped("", 7)).toEqual([""]);
  });
  test("a table's numbers stand right", () => {
    expect(
      table([
        ["a", "b"],
        ["long", 5],
        ["x", "1.5 ms"],
      ]),
    ).toEqual(["a     b", "long       5", "x     1.5 ms"]);
  });
  test.each<[{ isTTY?: boolean }, unknown, string | undefined, boolean]>([
    [{ isTTY: true }, undefined, undefined, true],
    [{ isTTY: true }, undefined, "1", false],
    [{ isTTY: true }, undefined, "", true],
    [{ isTTY: true }, false, undefined, false],
    [{}, undefined, undefined, false],
    [{}, true, "1", true],
  ])("colour on %j, asked for %s, NO_COLOR=%s: %s", (stream, wanted, noColour, colour) => {
    expect(pageOf(stream, wanted, noColour === undefined ? {} : { NO_COLOR: noColour }).colour).toBe(colour);
  });
});
