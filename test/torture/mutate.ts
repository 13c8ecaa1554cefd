// Ways to spoil a conversation: in what its frames say, in what they are written in, and in their order.
import { isObject, type JsonObject } from "../../src/protocol/json.ts";
import type { Moment } from "./corpus.ts";
import type { Random } from "./random.ts";

type Mutation = (moments: Moment[], random: Random) => void;

/** Names that mean something to a careless reader of objects. */
const EVIL_NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "then",
  "length",
  "",
];

/** Values no schema expects, as JSON text: some have no literal in the language. */
const EVIL_VALUES = [
  "null",
  "true",
  "0",
  "-0",
  "-1",
  "1.5",
  "1e308",
  "1e999",
  "9007199254740993",
  "4294967296",
  '""',
  '"x"',
  '"_x"',
  '"__proto__"',
  '"constructor"',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u202e\\ufeff\\u2028"',
  '"\\u001b]0;title\\u0007\\u001b[2J"',
  '"../../etc/passwd"',
  '"\\r\\n{\\"jsonrpc\\":\\"2.0\\",\\"method\\":\\"x\\"}"',
  "[]",
  "[null]",
  "[[],{}]",
  "{}",
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"type":"text","text":"x"}',
  '{"toString":1,"valueOf":2,"hasOwnProperty":3}',
] as const;

const places = (value: unknown): [JsonObject | unknown[], string][] => {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as JsonObject;
  return Object.keys(holder).flatMap((key) => [
    [holder, key] as [JsonObject, string],
    ...(holder === value ? places(holder[key]) : []),
  ]);
};

function set(holder: object, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

function evil(random: Random): unknown {
  if (random.oneIn(20)) return JSON.parse(nested(random.pick([50, 1000, 6000]), random.oneIn(2))) as unknown;
  if (random.oneIn(20)) return random.pick(["x", "é", "\u{1f600}", "\n"]).repeat(random.pick([1000, 100_000]));
  return JSON.parse(random.pick(EVIL_VALUES)) as unknown;
}

function nested(depth: number, objects: boolean): string {
  return objects ? `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}` : `${"[".repeat(depth)}${"]".repeat(depth)}`;
}

/** Changes the frame of one moment; nothing happens when the moment is none any more. */
const inFrame =
  (change: (frame: JsonObject, random: Random, moments: Moment[]) => void): Mutation =>
  (moments, random) => {
    const index = random.upTo(moments.length);
    const moment = moments[index];
    const frame = moment === undefined ? undefined : frameOf(moment);
    if (moment === undefined || frame === undefined) return;
    change(frame, random, moments);
    moments[index] = { ...moment, bytes: Buffer.from(write(frame)) };
  };

function frameOf({ bytes }: Moment): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function write(frame: JsonObject): string {
  try {
    return JSON.stringify(frame);
  } catch {
    return "{}";
  }
}

/** A place in the frame; more often within its params, result or error than at the top. */
function somePlace(frame: JsonObject, random: Random): [JsonObject | unknown[], string] | undefined {
  const all = places(frame).filter(([holder, key]) => holder !== frame || (key !== "jsonrpc" && !random.oneIn(2)));
  return all.length === 0 ? undefined : random.pick(all);
}

const STRUCTURAL: Mutation[] = [
  inFrame((frame, random) => {
    const place = somePlace(frame, random);
    if (place !== undefined) set(place[0], place[1], evil(random));
  }),
  inFrame((frame, random) => {
    const place = somePlace(frame, random);
    if (place !== undefined && !Array.isArray(place[0])) delete place[0][place[1]];
  }),
  inFrame((frame, random) => {
    const place = somePlace(frame, random);
    if (place !== undefined) set(place[0], Array.isArray(place[0]) ? "0" : random.pick(EVIL_NAMES), evil(random));
  }),
  // A member under another name of the same object's, or of none.
  inFrame((frame, random) => {
    const place = somePlace(frame, random);
    if (place === undefined || Array.isArray(place[0])) return;
    const [holder, key] = place;
    const value = holder[key];
    delete holder[key];
    set(holder, random.pick([...Object.keys(holder), ...EVIL_NAMES]), value);
  }),
  // A part of one frame in the place of a part of another.
  inFrame((frame, random, moments) => {
    const other = frameOf(random.pick(moments));
    const from = other === undefined ? undefined : somePlace(other, random);
    const to = somePlace(frame, random);
    if (from !== undefined && to !== undefined) set(to[0], to[1], Reflect.get(from[0], from[1]));
  }),
  // An item or a text, many times over.
  inFrame((frame, random) => {
    const place = somePlace(frame, random);
    if (place === undefined) return;
    const value = Reflect.get(place[0], place[1]) as unknown;
    if (typeof value === "string") set(place[0], place[1], value.repeat(random.pick([0, 2, 500])).slice(0, 200_000));
    else
      set(
        place[0],
        place[1],
        Array.from({ length: random.pick([1, 3, 60]) }, () => value),
      );
  }),
  // The id of another frame, or one that looks like it.
  inFrame((frame, random, moments) => {
    const { id } = frameOf(random.pick(moments)) ?? {};
    frame["id"] = random.pick([id, String(id), Number(id), null, evil(random)]);
  }),
  inFrame((frame, random) => {
    const methods = [
      "session/prompt",
      "session/update",
      "session/cancel",
      "$/cancel_request",
      "initialize",
      "_x",
      "x",
      "",
    ];
    frame["method"] = random.pick([...methods, "session/request_permission", "elicitation/create", "__proto__"]);
  }),
];

const ORDER: Mutation[] = [
  (moments, random) => {
    const [one, other] = [random.upTo(moments.length), random.upTo(moments.length)];
    const [first, second] = [moments[one], moments[other]];
    if (first === undefined || second === undefined) return;
    moments[one] = { ...second, at: first.at };
    moments[other] = { ...first, at: second.at };
  },
  (moments, random) => {
    const moment = random.pick(moments);
    const to = random.upTo(moments.length);
    moments.splice(to, 0, { ...moment, at: moments[to]?.at ?? 0 });
  },
  (moments, random) => moments.splice(random.upTo(moments.length), 1),
  (moments, random) => moments.splice(random.upTo(moments.length), 1 + random.upTo(10)),
  // All at once, or much later.
  (moments, random) => {
    const from = random.upTo(moments.length);
    const shift = random.pick([0, 60_000, 4_000_000]);
    for (const [index, moment] of moments.entries())
      if (index >= from) moments[index] = { ...moment, at: shift === 0 ? (moments[from]?.at ?? 0) : moment.at + shift };
  },
  // A peer that talks to itself.
  (moments, random) => {
    const index = random.upTo(moments.length);
    const moment = moments[index];
    if (moment !== undefined) moments[index] = { ...moment, from: moment.from === "client" ? "agent" : "client" };
  },
];

const STRAY = [
  "\u{feff}",
  "\r",
  "\r\n",
  "\n",
  " ",
  "\0",
  "\x1b[31m",
  "\x1b]0;x\x07",
  "{",
  "}",
  "[",
  '"',
  "\\",
  ",",
  "null",
];

const inBytes =
  (change: (moment: Moment, random: Random) => Partial<Moment>): Mutation =>
  (moments, random) => {
    const index = random.upTo(moments.length);
    const moment = moments[index];
    if (moment !== undefined) moments[index] = { ...moment, ...change(moment, random) };
  };

const insert = (bytes: Buffer, at: number, what: Uint8Array) =>
  Buffer.concat([bytes.subarray(0, at), what, bytes.subarray(at)]);

const BYTES: Mutation[] = [
  inBytes(({ bytes }, random) => ({ bytes: bytes.subarray(0, random.upTo(bytes.length + 1)) })),
  inBytes(({ bytes }, random) => ({ bytes: bytes.subarray(random.upTo(bytes.length + 1)) })),
  inBytes((_, random) => ({ ends: random.oneIn(50) })),
  inBytes(({ bytes, cuts }, random) => ({ cuts: [...cuts, random.upTo(bytes.length + 1)].sort((a, b) => a - b) })),
  inBytes(({ bytes }, random) => ({
    bytes: insert(bytes, random.upTo(bytes.length + 1), Buffer.from(random.pick(STRAY))),
  })),
  inBytes(({ bytes }, random) => ({
    bytes: insert(
      bytes,
      random.upTo(bytes.length + 1),
      random.pick([
        Buffer.of(0xff),
        Buffer.of(0xc3),
        Buffer.of(0xed, 0xa0, 0x80),
        Buffer.of(0xf8, 0x88),
        Buffer.of(0xf0, 0x9f),
      ]),
    ),
  })),
  inBytes(({ bytes }, random) => ({ bytes: Buffer.concat([Buffer.from(random.pick(STRAY)), bytes]) })),
  inBytes(({ bytes }, random) => ({ bytes: Buffer.concat([bytes, Buffer.from(random.pick(STRAY))]) })),
  inBytes(({ bytes }, random) => {
    const copy = Buffer.from(bytes);
    if (copy.length > 0) copy[random.upTo(copy.length)] = random.upTo(256);
    return { bytes: copy };
  }),
  inBytes(({ bytes }) => ({
    bytes: Buffer.concat([Buffer.from("["), bytes, Buffer.from(","), bytes, Buffer.from("]")]),
  })),
  inBytes(({ bytes }) => ({ bytes: Buffer.concat([bytes, bytes]) })),
  // A line above the limit of the fuzzed bridge.
  inBytes(({ bytes }, random) => ({
    bytes: insert(bytes, random.pick([0, 1, bytes.length - 1, bytes.length]), Buffer.alloc(600_000, " ")),
  })),
];

/** The conversation with a few mutations made; the original is left as it is. */
export function mutated(original: readonly Moment[], random: Random): Moment[] {
  const moments = [...original];
  for (let left = 1 + random.upTo(4); left > 0; left--) {
    if (moments.length === 0) break;
    const kind = random.upTo(10);
    random.pick(kind < 6 ? STRUCTURAL : kind < 8 ? ORDER : BYTES)(moments, random);
  }
  return moments;
}
