import type { Case, Refusal } from "./case.ts";

/** `contentBlockToV2`, result: v2 `ContentBlock`. */
export const blocksToV2: Case[] = [
  { rule: "9.3", title: "text", in: { block: { type: "text", text: "a" } }, out: { type: "text", text: "a" } },
  {
    rule: "9.3",
    title: "everything a known block has stays",
    in: {
      block: {
        type: "resource_link",
        name: "a",
        uri: "file:///a",
        annotations: { audience: ["user", "critic"], priority: 1 },
        _meta: { m: 1 },
        later: 1,
      },
    },
    out: {
      type: "resource_link",
      name: "a",
      uri: "file:///a",
      annotations: { audience: ["user", "critic"], priority: 1 },
      _meta: { m: 1 },
      later: 1,
    },
  },
  {
    rule: "9.3",
    title: "a priority outside v2's range",
    in: { block: { type: "text", text: "a", annotations: { priority: 5, audience: null } } },
    out: { type: "text", text: "a", annotations: { priority: 1, audience: null } },
  },
  {
    rule: "9.3",
    title: "a priority that is none",
    in: { block: { type: "text", text: "a", annotations: { priority: null } } },
    out: { type: "text", text: "a", annotations: { priority: null } },
  },
  {
    rule: "9.3",
    title: "an unknown type",
    in: { block: { type: "chart", points: [1, 2] } },
    out: { type: "_chart", points: [1, 2] },
  },
  { rule: "9.3", title: "an extension", in: { block: { type: "_x", y: 1 } }, out: { type: "_x", y: 1 } },
  { rule: "9.3", title: "a bare string", in: { block: "hi" }, out: { type: "text", text: "hi" } },
  { rule: "9.3", title: "text without a type", in: { block: { text: "hi" } }, out: { text: "hi", type: "text" } },
  { rule: "9.3", title: "neither type nor text", in: { block: { data: 1 } }, out: { data: 1 }, invalid: true },
  { rule: "9.3", title: "null", in: { block: null }, out: null, invalid: true },
];

const EVERYTHING = { image: true, audio: true, embeddedContext: true };
const NOTHING = { image: false, audio: false, embeddedContext: false };

/** `promptToV1`, result: list of v1 `ContentBlock`. */
export const prompts: Case[] = [
  {
    rule: "9.1",
    title: "text and resource links are always taken",
    in: {
      prompt: [
        { type: "text", text: "a", _meta: { m: 1 } },
        { type: "resource_link", name: "f", uri: "file:///f", icons: [{ src: "https://i" }] },
      ],
      offers: NOTHING,
    },
    out: [
      { type: "text", text: "a", _meta: { m: 1 } },
      { type: "resource_link", name: "f", uri: "file:///f", icons: [{ src: "https://i" }] },
    ],
  },
  {
    rule: "9.1",
    title: "what the agent offers",
    in: {
      prompt: [
        { type: "image", data: "AA==", mimeType: "image/png" },
        { type: "audio", data: "AA==", mimeType: "audio/wav" },
        { type: "resource", resource: { uri: "file:///f", text: "x" } },
      ],
      offers: EVERYTHING,
    },
    out: [
      { type: "image", data: "AA==", mimeType: "image/png" },
      { type: "audio", data: "AA==", mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "file:///f", text: "x" } },
    ],
  },
  {
    rule: "9.3",
    title: "audience roles v1 does not define are left out",
    in: {
      prompt: [
        { type: "text", text: "a", annotations: { audience: ["user", "_critic"], priority: 1 } },
        { type: "text", text: "b", annotations: { audience: ["_critic"], priority: 1 } },
      ],
      offers: NOTHING,
    },
    out: [
      { type: "text", text: "a", annotations: { audience: ["user"], priority: 1 } },
      { type: "text", text: "b", annotations: { priority: 1 } },
    ],
  },
];

/** `promptToV1`, refused. */
export const promptsRefused: Refusal[] = [
  ["image", { type: "image", data: "AA==", mimeType: "image/png" }],
  ["audio", { type: "audio", data: "AA==", mimeType: "audio/wav" }],
  ["resource", { type: "resource", resource: { uri: "file:///f", text: "x" } }],
  ["_sketch", { type: "_sketch" }],
].map(
  ([type, block]): Refusal => ({
    rule: "9.1",
    title: `${type} not offered`,
    in: { prompt: [{ type: "text", text: "a" }, block], offers: NOTHING },
    error: {
      code: -32602,
      message: `The agent does not take prompt content of type "${type}"`,
      data: { index: 1, type },
    },
  }),
);
promptsRefused.push({
  rule: "9.1",
  title: "no type at all",
  in: { prompt: [{ text: "a" }], offers: EVERYTHING },
  error: { code: -32602, message: "prompt[0] is no content block: it has no type", data: { index: 0 } },
});

/** `stopReasonToV2`. */
export const stopReasons: Case[] = [
  ...["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"].map(
    (reason): Case => ({ rule: "9.2", title: reason, in: { reason }, out: reason }),
  ),
  { rule: "9.2", title: "an unknown one", in: { reason: "max_turns" }, out: "_max_turns" },
  { rule: "9.2", title: "error means nothing in v1", in: { reason: "error" }, out: "_error" },
  { rule: "9.2", title: "an extension", in: { reason: "_mine" }, out: "_mine" },
  { rule: "9.2", title: "missing", in: {}, out: undefined },
  { rule: "9.2", title: "empty", in: { reason: "" }, out: undefined },
  { rule: "9.2", title: "no text", in: { reason: 1 }, out: undefined },
];
