// Guards docs/mapping.md §10, hosted terminals: what is started and how, what is kept of the output, how a terminal ends,
// and that nothing it has started is left behind.
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import { agentFile, built, gone, isRunning, LONG, runHost } from "../transport/processes.ts";
import { faultOf, type Hosted, host } from "./hosted.ts";

const node = process.execPath;
const requests = ["output", "waitForExit", "kill", "release"] as const;

afterEach(() => void vi.unstubAllEnvs());

describe("what is started", () => {
  test("is the command with its arguments, as they are", async () => {
    const { create, result } = host();
    expect(await result(create("printf", ["%s|", "$HOME", "*", "a b", "'"]))).toEqual({
      output: "$HOME|*|a b|'|",
      truncated: false,
      exitStatus: { exitCode: 0, signal: null },
    });
  });

  const lines: [string, string, string[] | null, JsonObject][] = [
    ["a whole command line goes to the shell", "printf a && printf b | tr b c", [], { output: "ac" }],
    ["also with args null", "exit  7", null, { output: "", exitStatus: { exitCode: 7, signal: null } }],
    ["not so with arguments", "printf a", ["b"], { exitStatus: { exitCode: 127, signal: null } }],
    ["not so when the program exists", "./my tool", [], { output: "my tool\n" }],
    ["not so when it is on the PATH", "my tool", [], { output: "my tool\n" }],
    ["a name that is no program is not found", "no-such-program", [], { exitStatus: { exitCode: 127, signal: null } }],
  ];
  test.each(lines)("%s", async (_title, command, args, expected) => {
    const { create, result, directory } = host();
    writeFileSync(join(directory, "my tool"), "#!/bin/sh\necho my tool\n");
    chmodSync(join(directory, "my tool"), 0o755);
    const env = [{ name: "PATH", value: `${directory}:${process.env["PATH"]}` }];
    expect(await result(create(command, [], { args, env }))).toMatchObject(expected);
  });

  test("has the bridge's variables but its settings, and those of the request over them", async () => {
    vi.stubEnv("SHARED", "bridge");
    vi.stubEnv("CHANGED", "bridge");
    vi.stubEnv("ACP_SHIFT_SETTLE", "1s");
    const { script, result } = host();
    const text = `printf '%s ' "$SHARED" "$CHANGED" "$ADDED" "\${ACP_SHIFT_SETTLE-unset}"`;
    const env = [
      { name: "CHANGED", value: "request" },
      { name: "ADDED", value: "a b" },
    ];
    expect(await result(script(text, { env }))).toMatchObject({ output: "bridge request a b unset " });
  });

  test("runs in the session's directory or the one asked for, with an empty stdin", async () => {
    const { script, result, directory } = host();
    expect(await result(script("cat; pwd"))).toMatchObject({ output: `${directory}\n` });
    expect(await result(script("cat; pwd", { cwd: "/" }))).toMatchObject({ output: "/\n" });
    expect(await result(script("cat; pwd", { cwd: null }))).toMatchObject({ output: `${directory}\n` });
  });

  test("leads a process group of its own", async () => {
    const { script, says } = host();
    const terminal = script("echo pid $$; go on");
    const pid = await says(terminal, "pid ");
    expect(process.kill(-pid, 0)).toBe(true);
  });
});

describe("what cannot be started", () => {
  test("exits as in a shell, with the reason as output", async () => {
    const { create, result, reports, directory } = host();
    const plain = join(directory, "plain");
    writeFileSync(plain, "");
    const failed = (output: string, exitCode: number) => ({
      output: expect.stringContaining(output),
      truncated: false,
      exitStatus: { exitCode, signal: null },
    });
    const missing = create("no-such-program");
    expect(reports(missing)).toEqual([]);
    expect(await result(missing)).toEqual(failed("acp-shift: the command no-such-program was not found\n", 127));
    expect(reports(missing)).toEqual([expect.any(String), { exitCode: 127, signal: null }]);
    expect(await result(create(plain))).toEqual(failed(`the command ${plain} may not be executed`, 126));
    expect(await result(create("true", ["x".repeat(1 << 22)]))).toEqual(failed("E2BIG", 126));
  });

  const wrong: [string, JsonObject, string][] = [
    ["no session", { sessionId: undefined }, "sessionId must be a string"],
    ["no command", { command: undefined }, "command must be a string"],
    ["an empty command", { command: "" }, "command must not be empty"],
    ["a command with NUL", { command: "a\0" }, "command must not contain NUL"],
    ["args that are no list", { args: "a" }, "args must be a list"],
    ["an argument that is no string", { args: ["a", 1] }, "args[1] must be a string"],
    ["env that is no list", { env: {} }, "env must be a list"],
    ["a variable without a name", { env: [{ value: "a" }] }, "env[0].name must be a string"],
    ["a variable without a value", { env: [{ name: "a" }] }, "env[0].value must be a string"],
    ["a variable that is no object", { env: ["A=b"] }, "env[0] must be an object"],
    ["a relative cwd", { cwd: "src" }, "cwd must be an absolute path"],
    ["a missing cwd", { cwd: "/no/such" }, "the working directory /no/such does not exist"],
    ["a cwd that is a file", { cwd: node }, `the working directory ${node} is not a directory`],
    ["a negative limit", { outputByteLimit: -1 }, "outputByteLimit must be an unsigned integer"],
    ["a limit that is no integer", { outputByteLimit: 1.5 }, "outputByteLimit must be an unsigned integer"],
  ];
  test.each(wrong)("is refused with the reason: %s", async (_title, params, message) => {
    const { create } = host();
    expect(await faultOf(() => create("true", [], params))).toEqual({ code: -32602, message });
  });
});

describe("output", () => {
  const text = "aé漢😀";
  const limits: [number | null | undefined, string, boolean][] = [
    [undefined, text, false],
    [null, text, false],
    [1e15, text, false],
    [10, text, false],
    [9, "é漢😀", true],
    [8, "漢😀", true],
    [7, "漢😀", true],
    [6, "😀", true],
    [4, "😀", true],
    [3, "", true],
    [0, "", true],
  ];
  test.each(limits)("with the limit %s is the newest whole characters", async (outputByteLimit, output, truncated) => {
    const { create, result, written } = host();
    const terminal = create("printf", [text], { outputByteLimit });
    expect(await result(terminal)).toMatchObject({ output, truncated });
    expect(written(terminal).toString()).toBe(text);
  });

  test("stays within the limit also when it is no text", async () => {
    const { script, result, written } = host();
    const terminal = script(String.raw`printf '\377\377\377ab'`, { outputByteLimit: 5 });
    expect(await result(terminal)).toMatchObject({ output: "\ufffdab", truncated: true });
    expect(written(terminal)).toEqual(Buffer.from([255, 255, 255, 97, 98]));
  });

  test("is kept up to 1 MiB without a limit, up to 16 MiB with one, and reported in full", async () => {
    const { create, result, written } = host();
    const bytes = 17 * 1024 * 1024;
    const flood = (params: JsonObject) => create("head", ["-c", String(bytes), "/dev/zero"], params);
    for (const [params, kept] of [
      [{}, 1024 * 1024],
      [{ outputByteLimit: Number.MAX_SAFE_INTEGER }, 16 * 1024 * 1024],
    ] as const) {
      const terminal = flood(params);
      const { output, truncated } = await result(terminal);
      expect([String(output).length, truncated, written(terminal).length]).toEqual([kept, true, bytes]);
    }
  });

  test("can be asked for while the command runs, and says nothing of an exit then", async () => {
    const { script, terminals, says, go, result } = host();
    const terminal = script("echo one; go on; echo two");
    await says(terminal, "one");
    expect(terminals.output(terminal)).toEqual({ output: "one\n", truncated: false });
    go("on");
    expect(await result(terminal)).toMatchObject({ output: "one\ntwo\n" });
  });

  test("of stdout and stderr comes in the order of its arrival, no character torn apart", async () => {
    const { script, says, go, reports, result, terminals } = host();
    const terminal = script(
      String.raw`printf 'out \303'; go 1; printf 'err \342\202' >&2; go 2; printf '\251'; go 3; printf '\254' >&2`,
    );
    await says(terminal, "out ");
    go("1");
    await says(terminal, "err ");
    expect(terminals.output(terminal)).toMatchObject({ output: "out err " });
    go("2");
    await says(terminal, "é");
    go("3");
    expect(await result(terminal)).toMatchObject({ output: "out err é€" });
    expect(reports(terminal)).toEqual(["out ", "err ", "é", "€", { exitCode: 0, signal: null }]);
  });

  test("that ends within a character is reported to its last byte", async () => {
    const { script, result, written } = host();
    const terminal = script(String.raw`printf 'a\342\202'`);
    await result(terminal);
    expect(written(terminal)).toEqual(Buffer.from([0x61, 0xe2, 0x82]));
  });

  test("of terminals that were never released is kept for the last 64 that ended", async () => {
    const { create, result, terminals } = host();
    const all = [];
    for (let count = 0; count < 66; count++) {
      const terminal = create("printf", [`${count}`]);
      await result(terminal);
      all.push(terminal);
    }
    const outputs = all.map((terminal) => terminals.output(terminal));
    const exitStatus = { exitCode: 0, signal: null };
    expect(outputs.slice(0, 2)).toEqual(Array(2).fill({ output: "", truncated: true, exitStatus }));
    expect(outputs[2]).toEqual({ output: "2", truncated: false, exitStatus });
    expect(outputs.slice(2).map(({ output }) => output)).toEqual(all.slice(2).map((_, index) => `${index + 2}`));
  });
});

describe("the exit", () => {
  const ends: [string, JsonObject][] = [
    ["exit 3", { exitCode: 3, signal: null }],
    ["kill -KILL $$", { exitCode: null, signal: "SIGKILL" }],
    ["kill -TERM $$", { exitCode: null, signal: "SIGTERM" }],
  ];
  test.each(ends)("of `%s` is told to all who ask, once to the handler, after the output", async (text, exit) => {
    const { script, terminals, reports, go } = host();
    const terminal = script(`echo last words; go on; ${text}`);
    const waiting = [terminals.waitForExit(terminal), terminals.waitForExit(terminal)];
    go("on");
    expect(await Promise.all(waiting)).toEqual([exit, exit]);
    expect(await terminals.waitForExit(terminal)).toEqual(exit);
    expect(terminals.output(terminal)).toEqual({ output: "last words\n", truncated: false, exitStatus: exit });
    expect(reports(terminal)).toEqual(["last words\n", exit]);
  });

  test("does not wait for what the command left running, whose output still comes", async () => {
    const { script, terminals, says, go, reports, result } = host();
    const terminal = script("(go on; echo late) & echo early; exit 4");
    const exitStatus = { exitCode: 4, signal: null };
    expect(await result(terminal)).toEqual({ output: "early\n", truncated: false, exitStatus });
    go("on");
    await says(terminal, "late");
    expect(terminals.output(terminal)).toEqual({ output: "early\nlate\n", truncated: false, exitStatus });
    expect(reports(terminal)).toEqual(["early\n", exitStatus, "late\n"]);
  });
});

describe("kill", () => {
  test("ends the command and all it has started, whatever they ignore; the terminal stays", async () => {
    const { script, terminals, says, result } = host();
    const terminal = script(`"${node}" "${agentFile("ignores-everything.mjs")}" & wait`);
    const pid = await says(terminal, "running ");
    expect(terminals.kill(terminal)).toEqual({});
    expect(await result(terminal)).toEqual({
      output: `running ${pid}\n`,
      truncated: false,
      exitStatus: { exitCode: null, signal: "SIGTERM" },
    });
    await gone(pid);
  });

  test("lets a command end by itself after TERM", async () => {
    const { script, terminals, says, result } = host({ ladder: LONG });
    const terminal = script("trap 'echo bye; exit 5' TERM; echo ready; go never");
    await says(terminal, "ready");
    terminals.kill(terminal);
    expect(await result(terminal)).toMatchObject({
      // What a shell says of its child comes by another pipe, before or after.
      output: expect.stringMatching(/^ready\n(.*\n)?bye\n/),
      exitStatus: { exitCode: 5, signal: null },
    });
  });

  test("of a command that has ended succeeds, and ends what it left running", async () => {
    const { script, terminals, says, result } = host();
    const terminal = script("(echo left $(exec sh -c 'echo $PPID'); go on) & exit 0");
    const pid = await says(terminal, "left ");
    const before = await result(terminal);
    expect(terminals.kill(terminal)).toEqual({});
    expect(terminals.kill(terminal)).toEqual({});
    await gone(pid);
    expect(await result(terminal)).toEqual(before);
  });
});

describe("release", () => {
  test("ends what runs, answers who waits, and reports the exit but no more output", async () => {
    const { script, terminals, says, reports } = host({ ladder: LONG });
    const terminal = script("trap 'echo bye; exit 5' TERM; echo pid $$; go never");
    const pid = await says(terminal, "pid ");
    const waiting = terminals.waitForExit(terminal);
    expect(terminals.release(terminal)).toEqual({});
    expect(await waiting).toEqual({ exitCode: 5, signal: null });
    expect(isRunning(pid)).toBe(false);
    expect(reports(terminal)).toEqual([`pid ${pid}\n`, { exitCode: 5, signal: null }]);
  });

  test("ends also what an ended command left running", async () => {
    const { script, terminals, says, result } = host();
    const terminal = script("(echo left $(exec sh -c 'echo $PPID'); go on) & exit 0");
    const pid = await says(terminal, "left ");
    await result(terminal);
    terminals.release(terminal);
    await gone(pid);
  });

  test.each(requests)("leaves nothing to ask for by %s", async (request) => {
    const { create, terminals, result } = host();
    const terminal = create("true");
    await result(terminal);
    terminals.release(terminal);
    expect(await faultOf(() => terminals[request](terminal))).toEqual(unknown(terminal.terminalId));
  });
});

const unknown = (terminalId: string) => ({
  code: -32002,
  message: "the session has no such terminal",
  data: { terminalId },
});

describe.each(requests)("%s", (request) => {
  const others: [string, JsonObject, JsonObject][] = [
    ["an unknown terminal", { sessionId: "s1", terminalId: "t9" }, unknown("t9")],
    ["a terminal of another session", { sessionId: "s2", terminalId: "t1" }, unknown("t1")],
    ["a terminal of no session", { terminalId: "t1" }, unknown("t1")],
    ["no terminal", { sessionId: "s1" }, { code: -32602, message: "terminalId must be a string" }],
  ];
  test.each(others)("is refused for %s", async (_title, params, fault) => {
    const { create, terminals } = host();
    create("true");
    expect(await faultOf(() => terminals[request](params))).toEqual(fault);
  });
});

test("many terminals keep apart", async () => {
  const { script, result, go } = host();
  const all = Array.from({ length: 24 }, (_, index) =>
    script(`printf 'a${index} '; go on; printf b${index}; exit ${index}`),
  );
  go("on");
  const results = await Promise.all(all.map(result));
  expect(results).toEqual(
    all.map((_, index) => ({
      output: `a${index} b${index}`,
      truncated: false,
      exitStatus: { exitCode: index, signal: null },
    })),
  );
});

describe("pause", () => {
  test("leaves the output unread, and the exit unreported, until resume", async () => {
    const { script, terminals, reports, result, directory } = host();
    terminals.pause();
    const terminal = script("echo $$ > pid; echo one; echo two >&2");
    await vi.waitFor(async () => gone(Number(readFileSync(join(directory, "pid"), "utf8"))));
    // The exit of this one is reported only after the pipes of both have been waited for.
    const other = host();
    await other.result(other.script("(go on) & exit 0"));
    expect(terminals.output(terminal)).toEqual({ output: "", truncated: false });
    expect(reports(terminal)).toEqual([]);
    terminals.resume();
    expect(reports(terminal)).toEqual([]);
    expect(await result(terminal)).toMatchObject({ output: expect.stringMatching(/^(one\ntwo\n|two\none\n)$/) });
  });

  test("holds up a flooding command, however often, and loses nothing", async () => {
    let chunks = 0;
    let whilePaused = 0;
    let isPaused = false;
    const { create, result, written } = host({
      onOutput(terminals) {
        chunks++;
        if (isPaused) whilePaused++;
        isPaused = true;
        terminals.pause();
        setImmediate(() => {
          isPaused = false;
          terminals.resume();
        });
      },
    });
    const terminal = create(node, [agentFile("talks.mjs"), "50000"]);
    await result(terminal);
    const lines = written(terminal).toString().split("\n");
    expect([lines.length, lines[49_999]?.split(" ")[0]]).toEqual([50_001, "49999"]);
    expect([chunks > 10, whilePaused]).toEqual([true, 0]);
  });

  test("does not keep a released command from writing its last words, which nobody reads", async () => {
    const { script, terminals, says, reports } = host({ ladder: LONG });
    const terminal = script("trap 'head -c 1000000 /dev/zero; exit 5' TERM; echo ready; go never");
    await says(terminal, "ready");
    terminals.pause();
    const waiting = terminals.waitForExit(terminal);
    terminals.release(terminal);
    const exit = { exitCode: 5, signal: null };
    expect(await waiting).toEqual(exit);
    expect(reports(terminal)).toEqual(["ready\n", exit]);
  });
});

describe("closing", () => {
  const stubborn = (hosted: Hosted, params: JsonObject) =>
    hosted.create(node, [agentFile("ignores-everything.mjs")], params);

  test("a session ends its terminals and no others", async () => {
    const hosted = host();
    const mine = stubborn(hosted, { sessionId: "s1" });
    const other = stubborn(hosted, { sessionId: "s2" });
    const pids = [await hosted.says(mine, "running "), await hosted.says(other, "running ")];
    hosted.terminals.closeSession("s1");
    expect(await faultOf(() => hosted.terminals.output(mine))).toEqual(unknown(mine.terminalId));
    await gone(pids[0] ?? 0);
    expect(isRunning(pids[1] ?? 0)).toBe(true);
    expect(hosted.terminals.output(other)).toMatchObject({ output: `running ${pids[1]}\n` });
  });

  test("all leaves nothing behind, has reported every exit, and takes no more", async () => {
    const hosted = host();
    const held = stubborn(hosted, {});
    const released = stubborn(hosted, {});
    const left = hosted.script("(echo left $(exec sh -c 'echo $PPID'); go on) & exit 0");
    const pids = await Promise.all([
      hosted.says(held, "running "),
      hosted.says(released, "running "),
      hosted.says(left, "left "),
    ]);
    hosted.terminals.release(released);
    await hosted.terminals.closeAll();
    expect(pids.map(isRunning)).toEqual([false, false, false]);
    const killed = { exitCode: null, signal: "SIGKILL" };
    expect([held, released, left].map((terminal) => hosted.reports(terminal).at(-1))).toEqual([
      killed,
      killed,
      { exitCode: 0, signal: null },
    ]);
    expect(await faultOf(() => hosted.create("true"))).toMatchObject({ code: -32603 });
    await hosted.terminals.closeAll();
  });

  test("does not wait for a process out of reach that holds the output open, nor leave it open", async () => {
    const openPipes = () => process.getActiveResourcesInfo().filter((resource) => resource === "PipeWrap").length;
    const before = openPipes();
    const hosted = host();
    const terminal = hosted.create(node, [agentFile("exits-before-its-child.mjs"), "daemon"]);
    const pid = await hosted.says(terminal, "running ");
    onTestFinished(() => void process.kill(pid, "SIGKILL"));
    expect(openPipes()).toBeGreaterThan(before);
    await hosted.terminals.closeAll();
    expect(hosted.reports(terminal).at(-1)).toHaveProperty("exitCode");
    expect(isRunning(pid)).toBe(true);
    await vi.waitFor(() => expect(openPipes()).toBe(before));
  });

  test("is cut short by killNow", async () => {
    const hosted = host({ ladder: LONG });
    const terminal = stubborn(hosted, {});
    const pid = await hosted.says(terminal, "running ");
    const closed = hosted.terminals.closeAll();
    hosted.terminals.killNow();
    await closed;
    expect(isRunning(pid)).toBe(false);
  });
});

test("what runs is killed when this process exits without having closed it", async () => {
  const { stdout, code } = await runHost("leaves-its-terminal.mjs", [
    built("services/terminals"),
    agentFile("ignores-everything.mjs"),
  ]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^running \d+\n$/);
  await gone(Number.parseInt(stdout.slice("running ".length), 10));
});
