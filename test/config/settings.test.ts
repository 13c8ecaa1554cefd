// Guards the configuration: one table of options, config/default.json behind it, command line over environment over
// configuration file over profile over defaults, and messages that name the place and what is expected there.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseConfigFile, readConfigFile } from "../../src/config/config-file.ts";
import { loadSettings } from "../../src/config/load.ts";
import { optionName, optionNames, options, readValue, settingNames, variableName } from "../../src/config/options.ts";
import { commandLineSource, environmentSource, readDefaults, resolveSettings } from "../../src/config/settings.ts";
import { UsageError } from "../../src/config/usage-error.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "acp-shift-config-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function file(content: unknown): string {
  const path = join(folder, "config.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

describe("config/default.json", () => {
  test("has every option, and nothing else", () => {
    expect(Object.keys(readDefaults()).sort()).toEqual([...optionNames].sort());
  });

  test("resolves to the documented defaults", () => {
    expect(resolveSettings([])).toEqual({
      agentProtocol: "auto",
      handshakeTimeout: 60_000,
      acceptWindow: 50,
      settle: 50,
      replaySettle: 200,
      restatedMessages: "keep",
      restartAfterLogin: false,
      cancelTimeout: 30_000,
      promptQueue: 64,
      unprompted: "pass",
      stallNotice: 0,
      host: "terminal",
      map: undefined,
      stateDir: undefined,
      stateLimit: 256 * 1024 ** 2,
      linger: 0,
      lingerLimit: 32 * 1024 ** 2,
      maxFrame: 256 * 1024 ** 2,
      termAfter: 2000,
      killAfter: 2000,
      ttyPassthrough: true,
      profile: undefined,
      logLevel: "warn",
      logFile: undefined,
      trace: undefined,
      traceLimit: 256 * 1024 ** 2,
      redact: true,
      connect: undefined,
      tokenFile: undefined,
      listen: undefined,
      allowHost: undefined,
      allowOrigin: undefined,
      tlsCert: undefined,
      tlsKey: undefined,
      maxConnections: 100,
      handshakeLimit: 10_000,
      idleLimit: 0,
      drain: 20_000,
      ops: undefined,
      opsTokenFile: undefined,
      otlp: undefined,
      setByUser: new Set(),
    });
  });
});

test("names are the same everywhere, only spelt as each place spells them", () => {
  expect(optionName("handshakeTimeout")).toBe("handshake-timeout");
  expect(variableName("handshake-timeout")).toBe("ACP_SHIFT_HANDSHAKE_TIMEOUT");
});

describe("a value", () => {
  test.each([
    ["agentProtocol", "2", "2"],
    ["agentProtocol", 1, "1"],
    ["settle", "1s", 1000],
    ["maxFrame", "1MiB", 1024 ** 2],
    ["promptQueue", "0", 0],
    ["promptQueue", 5, 5],
    ["ttyPassthrough", "false", false],
    ["ttyPassthrough", "1", true],
    ["ttyPassthrough", false, false],
    ["logFile", "log.jsonl", "/somewhere/log.jsonl"],
    ["logFile", "/abs/log", "/abs/log"],
    ["profile", "gemini", "gemini"],
  ] as const)("of %s: %j → %j", (setting, written, value) => {
    expect(readValue(options[setting], written, "/somewhere")).toBe(value);
  });

  test.each([
    ["agentProtocol", "3", 'expected one of auto, 1, 2, found "3"'],
    ["agentProtocol", true, "expected one of auto, 1, 2, found true"],
    ["logLevel", "loud", "expected one of trace, debug, info, warn, error, fatal, silent"],
    ["handshakeTimeout", "0", 'expected at least 1ms, found "0"'],
    ["maxFrame", "1GiB", 'expected at most 511MiB, found "1GiB"'],
    ["maxFrame", 10, "expected at least 1KiB, found 10"],
    ["promptQueue", "many", 'expected a whole number, found "many"'],
    ["promptQueue", -1, "expected a whole number, found -1"],
    ["promptQueue", 1.5, "expected a whole number"],
    ["promptQueue", "", "expected a whole number"],
    ["ttyPassthrough", "maybe", 'expected true or false, found "maybe"'],
    ["ttyPassthrough", 1, "expected true or false, found 1"],
    ["logFile", "", 'expected a path, found ""'],
    ["logFile", false, "expected a path, found false"],
    ["profile", 5, "expected a name, found 5"],
    ["settle", ["1s"], 'expected a duration (250ms, 30s, 5m, 1h or plain milliseconds), found ["1s"]'],
  ] as const)("of %s that is no such thing: %j", (setting, written, message) => {
    expect(() => readValue(options[setting], written, "/")).toThrow(UsageError);
    expect(() => readValue(options[setting], written, "/")).toThrow(message);
  });
});

describe("precedence", () => {
  test("is command line, environment, configuration file, profile, defaults", async () => {
    const config = file({ settle: "1ms", "accept-window": "1ms", "term-after": "1ms", profile: "claude" });
    const variables = { ACP_SHIFT_SETTLE: "2ms", ACP_SHIFT_ACCEPT_WINDOW: "2ms", ACP_SHIFT_CONFIG: "/not/this/one" };
    const { settings } = await loadSettings({ config, settle: "3ms" }, variables);
    expect(settings).toMatchObject({
      settle: 3,
      acceptWindow: 2,
      termAfter: 1,
      restatedMessages: "drop",
      killAfter: 2000,
    });
    expect(settings.setByUser).toEqual(new Set(["settle", "acceptWindow", "termAfter", "profile"]));
  });

  test("a file named by the environment is read, an empty variable counts as not given", async () => {
    const config = file({ settle: "1ms" });
    const { settings } = await loadSettings({}, { ACP_SHIFT_CONFIG: config, ACP_SHIFT_SETTLE: "" });
    expect(settings.settle).toBe(1);
  });

  test("null in a file counts as not given", () => {
    const settings = resolveSettings([parseConfigFile("/c.json", '{"settle":null,"log-file":null}')]);
    expect(settings.settle).toBe(50);
    expect(settings.setByUser.size).toBe(0);
  });

  test("each kind of place has its own base for a relative path", async () => {
    const config = file({ "log-file": "log.jsonl" });
    expect((await loadSettings({ config }, {})).settings.logFile).toBe(join(folder, "log.jsonl"));
    const { settings } = await loadSettings({ config, "log-file": "log.jsonl" }, {});
    expect(settings.logFile).toBe(join(process.cwd(), "log.jsonl"));
  });

  test("every option can be given in every place", () => {
    const written: Record<string, unknown> = {
      ...readDefaults(),
      profile: "gemini",
      "log-file": "/l",
      trace: "/t",
      "state-dir": "/s",
      map: "/a=/b",
      connect: "unix:/s",
      "token-file": "/t",
      listen: "unix:/s",
      "allow-host": "a",
      "allow-origin": "https://a",
      "tls-cert": "/c",
      "tls-key": "/k",
      ops: "http://127.0.0.1:9464",
      "ops-token-file": "/token",
      otlp: "http://127.0.0.1:4318",
    };
    const variables = Object.fromEntries(optionNames.map((name) => [variableName(name), String(written[name])]));
    for (const source of [
      commandLineSource(written),
      environmentSource(variables).source,
      parseConfigFile("/c.json", JSON.stringify(written)),
    ]) {
      expect([...resolveSettings([source]).setByUser].sort()).toEqual([...settingNames].sort());
    }
  });
});

describe("a message names the place", () => {
  test("an option", () => {
    expect(() => resolveSettings([commandLineSource({ settle: "x" })])).toThrow(
      /^--settle: expected a duration .*found "x"$/,
    );
  });

  test("a variable", () => {
    const { source } = environmentSource({ ACP_SHIFT_MAX_FRAME: "big" });
    expect(() => resolveSettings([source])).toThrow(/^ACP_SHIFT_MAX_FRAME: expected a size/);
  });

  test("a file and its key, also when the command line wins", () => {
    const source = parseConfigFile("/c.json", '{"settle": true}');
    expect(() => resolveSettings([commandLineSource({ settle: "1s" }), source])).toThrow(
      /^\/c\.json: "settle": expected a duration .*found true$/,
    );
  });

  test.each([
    ['{"setle": 1}', '/c.json: unknown option "setle" (did you mean "settle"?)'],
    ['{"handshakeTimeout": 1}', '/c.json: unknown option "handshakeTimeout" (did you mean "handshake-timeout"?)'],
    ['{"colour": 1}', '/c.json: unknown option "colour"'],
    ['{"config": "x"}', '/c.json: unknown option "config"'],
    ["[]", "/c.json: expected a JSON object of options"],
    ["", "/c.json:1:1: not JSON: the end comes too early"],
    ['{\n  "settle": "1s",\n  "max-frame" 5\n}', '/c.json:3:15: not JSON: unexpected "5"'],
    ['{\n  "settle": 1,\n}', '/c.json:3:1: not JSON: unexpected "}"'],
  ])("a file that cannot be used: %j", (text, message) => {
    expect(() => parseConfigFile("/c.json", text)).toThrow(new UsageError(message));
  });

  test("a profile that does not exist", async () => {
    const config = file({ profile: "gemni" });
    await expect(loadSettings({ config }, {})).rejects.toThrow(
      `${config}: "profile": there is no profile "gemni" (did you mean "gemini"?); there are `,
    );
    await expect(loadSettings({ config: file({}), profile: "x" }, {})).rejects.toThrow(
      '--profile: there is no profile "x"',
    );
  });
});

describe("a named configuration file", () => {
  test("may begin with a BOM", async () => {
    expect((await readConfigFile(file('\uFEFF{"settle":1}')))?.values).toEqual({ settle: 1 });
  });

  test("that is missing is an error", async () => {
    await expect(readConfigFile(join(folder, "no.json"))).rejects.toThrow("no.json: no such configuration file");
  });

  test("that is a folder is an error", async () => {
    await expect(readConfigFile(folder)).rejects.toThrow("expected a configuration file, found a directory");
  });

  test.skipIf(process.getuid?.() === 0 || process.platform === "win32")(
    "that may not be read is an error",
    async () => {
      const path = file({});
      chmodSync(path, 0);
      await expect(readConfigFile(path)).rejects.toThrow("may not be read");
    },
  );
});

test("variables that mean nothing are reported, with the one that was meant", () => {
  const { unknown, source } = environmentSource({
    ACP_SHIFT_SETLE: "1",
    ACP_SHIFT_WHATEVER_ELSE: "1",
    ACP_SHIFT_CONFIG: "x",
    SETTLE: "1",
  });
  expect(unknown).toEqual([
    { name: "ACP_SHIFT_SETLE", meant: "ACP_SHIFT_SETTLE" },
    { name: "ACP_SHIFT_WHATEVER_ELSE" },
  ]);
  expect(source.values).toEqual({});
});
