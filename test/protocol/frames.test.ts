// Guards docs/mapping.md §12, "lines up to a limit": what is told of a message too large to be read, from its two ends,
// is true or nothing. A wrong id would settle somebody else's request.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  failure,
  isFrame,
  isRequestId,
  notification,
  readFrameEnds,
  request,
  result,
} from "../../src/protocol/frames.ts";

describe("readFrameEnds", () => {
  const cases: [string, string, string, { id: unknown; isRequest: boolean }][] = [
    ["a request", '{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"', '"}}', { id: 7, isRequest: true }],
    ["the method first", '{"method":"x","id":"a-1","jsonrpc":"2.0","params":["', '"]}', { id: "a-1", isRequest: true }],
    ["the id last", '{"jsonrpc":"2.0","method":"x","params":{"a":"', '"},"id":7}', { id: 7, isRequest: true }],
    [
      "white space",
      ' { "jsonrpc" : "2.0" , "id" : 7 ,\t"method" : "x" , "params" : [',
      "1 ] } ",
      { id: 7, isRequest: true },
    ],
    ["white space at the end", '{"method":"x","params":[', '1] , "id" : "z" } ', { id: "z", isRequest: true }],
    ["a notification", '{"jsonrpc":"2.0","method":"x","params":{"a":"', '"}}', { id: undefined, isRequest: true }],
    ["a result", '{"jsonrpc":"2.0","id":7,"result":{"a":"', '"}}', { id: 7, isRequest: false }],
    ["a result with the id last", '{"jsonrpc":"2.0","result":{"a":"', '"},"id":-3}', { id: -3, isRequest: false }],
    ["an error", '{"jsonrpc":"2.0","id":"e","error":{"code":1,"data":"', '"}}', { id: "e", isRequest: false }],
    ["an escaped id", '{"id":"a\\"b\\u00e9","method":"x","params":"', '"}', { id: 'a"bé', isRequest: true }],
    ["an escaped id at the end", '{"method":"x","params":"', '","id":"a\\"}"}', { id: 'a"}', isRequest: true }],

    ["an id inside the params", '{"method":"x","params":{"id":7,"a":"', '"}}', { id: undefined, isRequest: true }],
    ["a method inside the result", '{"id":7,"result":{"method":"x","a":"', '"}}', { id: 7, isRequest: false }],
    [
      "an id at the end of the params",
      '{"method":"x","params":{"a":"',
      '","id":7}}',
      { id: undefined, isRequest: true },
    ],
    ["an id at the end of a list", '{"method":"x","params":[{"a":"', '","id":7}]}', { id: undefined, isRequest: true }],
    ["an id within text at the end", '{"method":"x","params":"', ' \\"id\\":7}"}', { id: undefined, isRequest: true }],
    ["an id of null", '{"id":null,"method":"x","params":"', '"}', { id: undefined, isRequest: true }],
    ["an id that is no integer", '{"id":1.5,"method":"x","params":"', '"}', { id: undefined, isRequest: true }],
    ["an id that is a list", '{"id":[7],"method":"x","params":"', '"}', { id: undefined, isRequest: true }],
    [
      "an id of which each end has a part",
      '{"method":"x","params":[1],"id":12',
      "345}",
      { id: undefined, isRequest: true },
    ],
    [
      "an id cut off without an end",
      '{"method":"x","params":[1],"id":12',
      '345,"a":""}',
      { id: undefined, isRequest: true },
    ],
    [
      "text cut off that looks like members",
      '{"method":"x","params":{"a":"}, \\"_id\\": 7, ',
      '"}}',
      { id: undefined, isRequest: true },
    ],
    [
      "text cut off that looks like a method",
      '{"id":7,"result":{"a":"}, \\"_method\\": \\"x\\"',
      '"}}',
      { id: 7, isRequest: false },
    ],
    ["no JSON", "progress 1 of 2: id: 7", "####}", { id: undefined, isRequest: false }],
    ["nothing", "", "", { id: undefined, isRequest: false }],
  ];
  test.each(cases)("%s", (_, head, tail, expected) => {
    expect(readFrameEnds(head, tail)).toEqual(expected);
  });

  /** JSON with everything in it that could be taken for members of the message. */
  const junk = fc
    .jsonValue({ maxDepth: 3 })
    .chain((value) =>
      fc.oneof(
        fc.constant(value),
        fc.record({ id: fc.integer(), method: fc.constant("inner"), value: fc.constant(value) }),
        fc.string({ unit: fc.constantFrom(...'{}[],:"\\ id_method7') }),
        fc.constant(JSON.stringify({ id: 9, method: "text", value })),
      ),
    );
  const id = fc.oneof(fc.integer(), fc.string());

  test("is right about any message, wherever its middle is cut out", () => {
    fc.assert(
      fc.property(
        id,
        junk,
        fc.constantFrom("request", "result"),
        fc.boolean(),
        fc.nat(),
        fc.nat(),
        (id, body, kind, idLast, cutHead, cutTail) => {
          const members = kind === "request" ? { method: "outer", params: body } : { result: body };
          const frame = JSON.stringify(
            idLast ? { jsonrpc: "2.0", ...members, id } : { jsonrpc: "2.0", id, ...members },
          );
          // What comes before the body is in the head, what comes after it in the tail; the cuts are within the body.
          const bodyStart = frame.indexOf(kind === "request" ? '"params":' : '"result":') + 9;
          const bodyEnd = frame.length - (idLast ? `,"id":${JSON.stringify(id)}}`.length : 1);
          const head = frame.slice(0, bodyStart + (cutHead % (bodyEnd - bodyStart + 1)));
          const tail = frame.slice(bodyStart + (cutTail % (bodyEnd - bodyStart + 1)));
          expect(readFrameEnds(head, tail), `${head} … ${tail}`).toEqual({ id, isRequest: kind === "request" });
        },
      ),
      { numRuns: 3000 },
    );
  });
});

describe("the frames the bridge makes", () => {
  test("have no member that says nothing", () => {
    expect(request(1, "m")).toEqual({ jsonrpc: "2.0", id: 1, method: "m" });
    expect("params" in request(1, "m")).toBe(false);
    expect("params" in notification("m")).toBe(false);
    expect(notification("m", { a: 1 })).toEqual({ jsonrpc: "2.0", method: "m", params: { a: 1 } });
  });

  test("a result is never absent", () => {
    expect(result("a", undefined)).toEqual({ jsonrpc: "2.0", id: "a", result: null });
    expect(result("a", { b: 1 })).toEqual({ jsonrpc: "2.0", id: "a", result: { b: 1 } });
  });

  test("an error keeps an id of null", () => {
    const error = { code: -32700, message: "no" };
    expect(failure(null, error)).toEqual({ jsonrpc: "2.0", id: null, error });
  });
});

test.each<[unknown, boolean]>([
  [0, true],
  [-1, true],
  ["", true],
  ["a", true],
  [1.5, false],
  [Number.NaN, false],
  [null, false],
  [undefined, false],
  [true, false],
  [[1], false],
])("isRequestId %j: %s", (value, expected) => {
  expect(isRequestId(value)).toBe(expected);
});

test.each<[unknown, boolean]>([
  [{ jsonrpc: "2.0", method: "m" }, true],
  [{ jsonrpc: "2.0", id: 1, result: null }, true],
  [{ jsonrpc: "2.0", error: {} }, true],
  [{ jsonrpc: "2.0", id: 1 }, false],
  [{ jsonrpc: "2.0", method: 7 }, false],
  [{ method: "m" }, false],
  [{ jsonrpc: "1.0", method: "m" }, false],
  [[{ jsonrpc: "2.0", method: "m" }], false],
  ["m", false],
  [null, false],
])("isFrame %j: %s", (value, expected) => {
  expect(isFrame(value)).toBe(expected);
});
