// Guards "never log a secret": values of environments and headers, anything named like a token, and what looks like a
// secret inside text are masked at any depth; everything else, and the input itself, stays as it is.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { redact } from "../src/redact.ts";

const mask = "[redacted]";

test.each<[string, unknown, unknown]>([
  ["env as pairs", { env: [{ name: "HOME", value: "/h" }] }, { env: [{ name: "HOME", value: mask }] }],
  [
    "env as pairs, with more in them",
    { env: [{ name: "A", value: 5, _meta: { x: "y" } }] },
    { env: [{ name: "A", value: mask, _meta: { x: mask } }] },
  ],
  ["env as an object", { env: { HOME: "/h", N: 5 } }, { env: { HOME: mask, N: mask } }],
  ["env as words", { env: ["A=b"] }, { env: [mask] }],
  ["headers", { headers: [{ name: "X-A", value: "b" }] }, { headers: [{ name: "X-A", value: mask }] }],
  ["headers as an object", { Headers: { "X-A": ["b"] } }, { Headers: { "X-A": [mask] } }],
  ["a number called env", { env: 5 }, { env: 5 }],
  ["a pair with a secret's name", { name: "API_KEY", value: "v" }, { name: "API_KEY", value: mask }],
  ["a pair with any other name", { name: "mode", value: "v" }, { name: "mode", value: "v" }],
  ["deep inside", { a: [{ b: { c: { password: "p" } } }] }, { a: [{ b: { c: { password: mask } } }] }],
  [
    "under a secret's name",
    { credentials: { user: "u", list: [1, "x"] } },
    { credentials: { user: mask, list: [mask, mask] } },
  ],
  [
    "yes, no and nothing",
    { token: null, hasSecret: true, cookie: undefined },
    { token: null, hasSecret: true, cookie: undefined },
  ],
  [
    "numbers of tokens",
    { totalTokens: 5, usage: { tokens: { input: 1 } } },
    { totalTokens: 5, usage: { tokens: { input: 1 } } },
  ],
  ["a number as a password", { password: 1234 }, { password: mask }],
  [
    "the word after an option",
    { args: ["--api-key", "k", "--port", "80"] },
    { args: ["--api-key", mask, "--port", "80"] },
  ],
  ["an option with its value", { args: ["--token=abcdef"] }, { args: [`--token=${mask}`] }],
  ["bytes", { data: new Uint8Array(3) }, { data: "[3 bytes]" }],
  ["a big number", 10n ** 20n, "100000000000000000000"],
  [
    "a key that is special in JavaScript",
    JSON.parse('{"__proto__":{"token":"x"}}'),
    JSON.parse(`{"__proto__":{"token":"${mask}"}}`),
  ],
])("%s", (_, value, expected) => {
  expect(redact(value)).toEqual(expected);
});

test.each([
  "token",
  "accessToken",
  "ACCESS_TOKEN",
  "x-auth-token",
  "secret",
  "clientSecret",
  "password",
  "passwd",
  "passphrase",
  "apiKey",
  "api_key",
  "API-KEY",
  "x-api-key",
  "Authorization",
  "Proxy-Authorization",
  "cookie",
  "Set-Cookie",
  "privateKey",
  "aws_access_key",
  "credential",
])("a text under %s is masked", (key) => {
  expect(redact({ [key]: "v" })).toEqual({ [key]: mask });
});

test.each(["name", "sessionId", "command", "authMethods", "key", "title", "path", "kind"])(
  "a text under %s stays",
  (key) => {
    expect(redact({ [key]: "v" })).toEqual({ [key]: "v" });
  },
);

test.each([
  ["Authorization: Bearer abc.def-ghi", `Authorization: ${mask}`],
  ["your password: hunter2hunter2, keep it", `your password: ${mask}, keep it`],
  ["sent bearer  xyz, then", `sent bearer  ${mask}, then`],
  ["key sk-ant-REDACTED is", `key ${mask} is`],
  ["(sk-proj-abcdefghijkl)", `(${mask})`],
  ["ghp_abcdefghijklmnop1234", mask],
  ["github_pat_11ABCDEFG0abcdefgh", mask],
  ["AKIAABCDEFGHIJKLMNOPQ", mask],
  ["jwt eyJhbGciOiJI.eyJzdWIiOiIx.abc-_", `jwt ${mask}`],
  ["https://user:pw@host/path", `https://${mask}@host/path`],
  ["https://tok@host/path", `https://${mask}@host/path`],
  ["GEMINI_API_KEY=abc PORT=80", `GEMINI_API_KEY=${mask} PORT=80`],
  ["run --token abc --port 80", `run --token ${mask} --port 80`],
  ['{"access_token": "abc", "port": "80"}', `{"access_token": "${mask}", "port": "80"}`],
  ['"{\\"password\\":\\"abc\\"}"', `"{\\"password\\":\\"${mask}"}"`],
  ["Cookie: a=b; c=d\nHost: x", `Cookie: ${mask}\nHost: x`],
  ["x-api-key: abc", `x-api-key: ${mask}`],
])("text %j", (text, expected) => {
  expect(redact({ message: text })).toEqual({ message: expected });
  expect(redact(new Error(text))).toMatchObject({ message: expected });
});

test.each([
  "Unexpected token: } in JSON",
  "task-force-one-two-three",
  "the desk-lamp-in-the-corner",
  "mail me@example.org",
  "file:///a/b@c",
  "max_tokens",
  "no secrets here",
  "ask-me-anything-at-any-time",
  "a=b",
  "https://host/a@b",
])("harmless text %j stays", (text) => {
  expect(redact(text)).toBe(text);
});

test("an error becomes plain data", () => {
  const error = Object.assign(new TypeError("bad"), { code: "EBAD" });
  expect(redact({ error })).toEqual({ error: { name: "TypeError", message: "bad", code: "EBAD", stack: error.stack } });
});

test("what refers to itself, or has no end, ends", () => {
  const loop: Record<string, unknown> = { a: 1 };
  loop["self"] = [loop];
  expect(redact(loop)).toEqual({ a: 1, self: ["[circular]"] });
  let deep: unknown = { token: "t" };
  for (let level = 0; level < 10_000; level++) deep = [deep];
  expect(JSON.stringify(redact(deep))).toContain("[too deep]");
});

describe("for any JSON value", () => {
  test("the input is not changed, and nothing but text and numbers is", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const before = JSON.stringify(value);
        const result = redact(value);
        expect(JSON.stringify(value)).toBe(before);
        expect(shape(result)).toEqual(shape(JSON.parse(before)));
      }),
    );
  });

  test("a secret under a secret's name never comes through", () => {
    const around = (inner: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
      fc.oneof(
        inner,
        fc.array(inner, { minLength: 1, maxLength: 3 }),
        fc.record({ content: inner, other: fc.jsonValue({ maxDepth: 1 }) }),
      );
    const secret = fc
      .constantFrom("token", "apiKey", "env", "headers", "password")
      .map((key) => ({ [key]: { x: "hunter2hunter2" } }));
    fc.assert(
      fc.property(around(around(around(secret))), (value) => {
        expect(JSON.stringify(redact(value))).not.toContain("hunter2");
      }),
    );
  });
});

// Without a bound on backtracking each of these takes minutes, and the test runs into its time limit.
test.each([
  "token",
  "token-",
  "://",
  "://a",
  "--a-",
  "-eyJ",
  "eyJaaaaaaaa.",
  "sk-",
  " sk-",
  "bearer ",
  'token":"',
  "token\\",
  "authorization ",
  "a",
  "=",
])("a megabyte of %j is no burden", (unit) => {
  const text = unit.repeat(Math.ceil(1e6 / unit.length));
  expect(typeof redact(text)).toBe("string");
});

/** The value with its texts and numbers taken out. */
function shape(value: unknown): unknown {
  if (typeof value === "string" || typeof value === "number") return "leaf";
  if (Array.isArray(value)) return value.map(shape);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value).map(([key, item]) => [key, shape(item)]);
}
