// Guards that the first look for secrets at a frame's bytes (docs/trace.md) never passes over what would be replaced,
// however it is spelled, wherever it stands, and whichever way its JSON is written; and that it lets ordinary frames pass.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { looksHarmless } from "../../src/trace/first-look.ts";
import { redactValue } from "../../src/trace/secrets.ts";

const harmless = (json: string): boolean => looksHarmless(Buffer.from(json));

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Each with something the redaction replaces in it. */
const secrets: unknown[] = [
  ...[
    "token",
    "secret",
    "passwd",
    "password",
    "passphrase",
    "authorization",
    "cookie",
    "credential",
    ...["api", "access", "private"].flatMap((kind) => ["", "-", "_", " "].map((between) => `${kind}${between}key`)),
  ].flatMap((name) => [
    { [name]: "planted" },
    { [`my${name}s`]: ["planted"] },
    { name, value: "planted" },
    { configId: name, value: "planted" },
    { args: [`--${name.replace(" ", "-")}`, "planted"] },
    `x ${name}=planted`,
    `x ${name}: planted123`,
    JSON.stringify({ [name]: "planted" }),
    JSON.stringify(JSON.stringify({ [name]: "planted" })),
    { data: base64(`${name}=planted`) },
    { blob: base64(`${name}=planted`) },
  ]),
  ...["env", "environment", "headers", "httpHeaders"].flatMap((name) => [
    { [name]: { A: "planted" } },
    { [name]: [{ name: "A", value: "planted" }] },
  ]),
  "Bearer planted",
  ...["sk-", "sk-ant-", "sk--", "sk-_"].map((key) => `${key}0123456789abcdef`),
  ..."gho_ ghp_ ghr_ ghs_ ghu_ github_pat_ glpat- xoxa- xoxb- xoxp- xoxr- xoxs- npm_ AIza AKIA"
    .split(" ")
    .map((key) => `${key}0123456789abcdef0123`),
  "eyJ0123456789.0123456789.abc",
  "https://me:planted@host/",
  "://planted@host",
];

const isReplaced = (value: unknown): boolean => redactValue(value) !== JSON.stringify(value);

/** The letters of the JSON text in the case they are told, where that leaves it JSON. */
function recased(json: string, upper: (index: number) => boolean): string {
  return json.replace(/[a-z]/gi, (letter, index: number) =>
    json[index - 1] === "\\" ? letter : upper(index) ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

/** The characters of its strings written as their numbers where told; slashes escaped where told. */
function escaped(json: string, which: (index: number) => boolean): string {
  return json.replace(/\\.|[A-Za-z@:_-]|\//g, (found, index: number) => {
    const inString = (json.slice(0, index).match(/(?<!\\)(?:\\\\)*"/g)?.length ?? 0) % 2 === 1;
    if (!inString || found.startsWith("\\") || !which(index)) return found;
    return found === "/" ? "\\/" : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

test("each of them has something to be replaced", () => {
  expect(secrets.filter((secret) => !isReplaced(secret))).toEqual([]);
});

describe("is seen", () => {
  test.each([
    ["as it is", (json: string) => json],
    ["in capitals, where they say the same", (json: string) => recased(json, () => true)],
    ["in mixed case, where it says the same", (json: string) => recased(json, (index) => index % 2 === 0)],
    ["all of it written as numbers", (json: string) => escaped(json, () => true)],
    ["every other letter written as its number", (json: string) => escaped(json, (index) => index % 2 === 0)],
  ])("%s", (_, write) => {
    const missed = secrets.flatMap((secret) =>
      ["", "x", "é漢"].flatMap((after) => {
        const json = write(JSON.stringify({ value: secret, after }));
        return isReplaced(JSON.parse(json)) && harmless(json) ? [json] : [];
      }),
    );
    expect(missed).toEqual([]);
  });
});

test("whatever it passes over has nothing to be replaced", () => {
  const word = fc.oneof(
    fc.constantFrom(
      ..."token secret passwd passphrase api access private - _ key Key authorization cookie credential env".split(" "),
      ..."environment headers httpHeaders Bearer sk- ghp_ github_pat_ eyJ . AKIA AIza npm_ xoxb- :// @ := u:p@".split(
        " ",
      ),
      ...['"', "\\", "/", "\n", " ", "abcdefgh", "0123456789abcdef", "data", "blob", "args", "name", "value", "ſK"],
    ),
    fc.string({ maxLength: 3 }),
  );
  const plain = fc.array(word, { maxLength: 6 }).map((words) => words.join(""));
  const text = fc.oneof(
    plain,
    plain.map(base64),
    plain.map((inner) => JSON.stringify({ [inner]: inner })),
    fc.dictionary(plain, plain, { maxKeys: 2 }).map((inner) => JSON.stringify(inner)),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      text,
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(plain, tie("tree"), { maxKeys: 3 }),
      fc.record({ name: plain, value: text }),
    ),
  }));
  fc.assert(
    fc.property(tree, fc.infiniteStream(fc.boolean()), fc.constantFrom(0, 0, 1, 2), (value, coin, spaces) => {
      const json = JSON.stringify(value, null, spaces);
      const written = spaces === 0 ? escaped(json, () => coin.next().value && coin.next().value) : json;
      expect(JSON.parse(written)).toEqual(value);
      if (harmless(written)) expect(redactValue(value)).toBe(JSON.stringify(value));
    }),
    { numRuns: 3000 },
  );
});

test("most frames of real conversations pass", () => {
  const folder = fileURLToPath(new URL("../fixtures/traces", import.meta.url));
  const lines = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(`${folder}/${name}`, "utf8").split("\n"))
    .filter((line) => line !== "");
  expect(lines.length).toBeGreaterThan(100);
  expect(lines.filter(harmless).length / lines.length).toBeGreaterThan(0.6);
});
