// Guards docs/remote.md, piece by piece: how addresses are read, which of them are this machine's, which requests may pass,
// how messages become lines, and who has to wait.
import { describe, expect, test, vi } from "vitest";
import { UsageError } from "../../src/config/usage-error.ts";
import { addressText, isLocal, parseAddress } from "../../src/remote/address.ts";
import { createGate } from "../../src/remote/gate.ts";
import { hostName, refusalOf } from "../../src/remote/guard.ts";
import { asLine } from "../../src/remote/line.ts";
import { tokenIn, tokenOf } from "../../src/remote/token.ts";

describe("an address", () => {
  test.each<[string, string, boolean]>([
    ["unix:/run/acp.sock", "unix:/run/acp.sock", true],
    ["unix:///run/acp.sock", "unix:/run/acp.sock", true],
    ["unix:/a b/é", "unix:/a b/é", true],
    ["tcp:127.0.0.1:7000", "tcp:127.0.0.1:7000", true],
    ["tcp:localhost:0", "tcp:localhost:0", true],
    ["tcp://127.5.5.5:7000", "tcp:127.5.5.5:7000", true],
    ["tcp:[::1]:7000", "tcp:[::1]:7000", true],
    ["TCP:agent:7000", "tcp:agent:7000", false],
    ["tcp:0.0.0.0:7000", "tcp:0.0.0.0:7000", false],
    ["tcp:[::]:7000", "tcp:[::]:7000", false],
    ["tcp:127.0.0.1.example.org:7000", "tcp:127.0.0.1.example.org:7000", false],
    ["ws://127.0.0.1:7000", "ws://127.0.0.1:7000/acp", true],
    ["http://127.0.0.1:7000/", "ws://127.0.0.1:7000/acp", true],
    ["ws://[::1]:7000/x/y", "ws://[::1]:7000/x/y", true],
    ["wss://acp.example.org", "wss://acp.example.org:443/acp", false],
    ["https://localhost:8443/agent", "wss://localhost:8443/agent", true],
    ["ws://localhost", "ws://localhost:80/acp", true],
  ])("%s", (written, text, local) => {
    const address = parseAddress(written);
    expect(addressText(address)).toBe(text);
    expect(isLocal(address)).toBe(local);
  });

  test.each([
    "",
    "7000",
    "localhost:7000",
    "/run/acp.sock",
    "unix:",
    "tcp:7000",
    "tcp:host",
    "tcp:host:70000",
    "tcp:::1:7000",
    "tcp:[host]:7000",
    "ws://",
    "ws://host:99999",
    "ws://host/a?b=c",
    "ftp://host",
  ])("%j is none", (written) => {
    expect(() => parseAddress(written)).toThrow(UsageError);
  });
});

describe("a request", () => {
  const policy = {
    path: "/acp",
    token: tokenOf("secret"),
    hosts: ["acp.example.org"],
    origins: ["https://editor.example.org"],
  };
  const authorization = "Bearer secret";

  test.each<[string, number | undefined, object]>([
    ["by address", undefined, { headers: { host: "10.1.2.3:80", authorization } }],
    ["by an IPv6 address", undefined, { headers: { host: "[::1]:80", authorization } }],
    ["by localhost", undefined, { headers: { host: "LOCALHOST", authorization } }],
    ["by a name of ours", undefined, { headers: { host: "ACP.example.org:443", authorization } }],
    ["by another name", 403, { headers: { host: "acp.example.org.evil.org", authorization } }],
    ["by no name", 403, { headers: { authorization } }],
    ["by what is no name", 403, { headers: { host: "localhost@evil.org", authorization } }],
    ["with a query", undefined, { url: "/acp?x=1", headers: { host: "localhost", authorization } }],
    ["for something else", 404, { url: "/acp/x", headers: { host: "localhost", authorization } }],
    ["from a page", undefined, { headers: { host: "localhost", origin: "https://editor.example.org", authorization } }],
    [
      "from another page",
      403,
      { headers: { host: "localhost", origin: "https://editor.example.org:1", authorization } },
    ],
    ["from a page without origin", 403, { headers: { host: "localhost", origin: "null", authorization } }],
    [
      "that asks whether it may",
      undefined,
      { method: "OPTIONS", headers: { host: "localhost", origin: "https://editor.example.org" } },
    ],
    ["that asks so from nowhere", 401, { method: "OPTIONS", headers: { host: "localhost" } }],
    ["without a token", 401, { headers: { host: "localhost" } }],
    ["with a longer token", 401, { headers: { host: "localhost", authorization: "Bearer secrets" } }],
    ["with another scheme", 401, { headers: { host: "localhost", authorization: "Basic secret" } }],
    ["with the scheme in capitals", undefined, { headers: { host: "localhost", authorization: "BEARER  secret" } }],
  ])("%s: %j", (_, status, request) => {
    expect(refusalOf({ method: "POST", url: "/acp", headers: {}, ...request }, policy)?.status).toBe(status);
  });

  test("needs no token where none is asked for", () => {
    expect(refusalOf({ url: "/acp", headers: { host: "127.0.0.1" } }, { ...policy, token: undefined })).toBeUndefined();
  });

  test.each([
    ["[::1]:80", "::1"],
    ["a.b:1", "a.b"],
    ["a b", undefined],
    ["a:b", undefined],
  ])("its host %s", (header, name) => expect(hostName(header)).toBe(name));
});

test.each<[string, string]>([
  ['{"a":1}', '{"a":1}\n'],
  ['{\n  "a": 1.50\r\n}', '{   "a": 1.50\r }\n'],
  ['{"a":"x\ny"}', '{"a":"x\ry"}\n'],
])("the message %j is the line %j", (message, line) => {
  expect(asLine(Buffer.from(message)).toString()).toBe(line);
});

test("a token is presented in a notification of its own", () => {
  expect(tokenIn(JSON.parse(tokenOf("secret").line))).toBe("secret");
  expect(tokenIn({ jsonrpc: "2.0", method: "initialize", params: { token: "secret" } })).toBeUndefined();
});

describe("the gate", () => {
  test("when too many wait, the one that has waited longest goes", () => {
    const gate = createGate({ maxConnections: 2, handshakeLimit: 60_000 });
    const dropped: number[] = [];
    const settle = [1, 2, 3, 4].map((number) => gate.wait(() => dropped.push(number)));
    expect(dropped).toEqual([1, 2]);
    settle[2]?.();
    gate.wait(() => dropped.push(5));
    expect(dropped).toEqual([1, 2]);
    gate.close();
    expect(dropped).toEqual([1, 2, 4, 5]);
  });

  test("has so many places, given back once each", () => {
    const gate = createGate({ maxConnections: 2, handshakeLimit: 60_000 });
    const leave = [gate.enter(), gate.enter()];
    expect(gate.enter()).toBeUndefined();
    leave[0]?.();
    leave[0]?.();
    expect(gate.enter()).toBeDefined();
    expect(gate.enter()).toBeUndefined();
  });

  test("lets nobody wait for ever", () => {
    vi.useFakeTimers();
    const gate = createGate({ maxConnections: 2, handshakeLimit: 10_000 });
    const reasons: string[] = [];
    gate.wait((reason) => reasons.push(reason));
    gate.wait((reason) => reasons.push(reason))();
    vi.advanceTimersByTime(10_000);
    vi.useRealTimers();
    expect(reasons).toEqual(["no initialize within 10 s (--handshake-limit)"]);
  });
});
