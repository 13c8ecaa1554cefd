import type { Case } from "./case.ts";

const ALLOW = { optionId: "yes", name: "Yes", kind: "allow_once" };
const REJECT = { optionId: "no", name: "No", kind: "reject_once" };

/** `permissionRequestToV2` in a session whose cwd is `/w`, result: v2 `RequestPermissionRequest`. */
export const permissionRequests: Case[] = [
  {
    rule: "10.1",
    title: "title, subject and options; unknown params and _meta stay",
    in: {
      v1Params: {
        sessionId: "s",
        toolCall: { toolCallId: "t1", title: "rm -rf x", kind: "execute", locations: [{ path: "x" }] },
        options: [ALLOW, { ...REJECT, _meta: { m: 1 } }],
        _meta: { n: 2 },
        later: 1,
      },
      known: { announced: false },
    },
    out: {
      sessionId: "s",
      _meta: { n: 2 },
      later: 1,
      title: "rm -rf x",
      subject: {
        type: "tool_call",
        toolCall: { toolCallId: "t1", title: "rm -rf x", kind: "execute", locations: [{ path: "/w/x" }] },
      },
      options: [ALLOW, { ...REJECT, _meta: { m: 1 } }],
    },
  },
  {
    rule: "10.1",
    title: "option kinds v2 does not define, none at all, no name",
    in: {
      v1Params: {
        sessionId: "s",
        toolCall: { toolCallId: "t1", title: "T" },
        options: [{ optionId: "a", name: "A", kind: "allow_session" }, { optionId: "b" }],
      },
      known: { announced: true },
    },
    out: {
      sessionId: "s",
      title: "T",
      subject: { type: "tool_call", toolCall: { toolCallId: "t1", title: "T" } },
      options: [
        { optionId: "a", name: "A", kind: "_allow_session" },
        { optionId: "b", name: "b", kind: "_unknown" },
      ],
    },
  },
  {
    rule: "10.1",
    title: "options without an id and repeated ids are left out",
    in: {
      v1Params: {
        sessionId: "s",
        toolCall: { toolCallId: "t1", title: "T" },
        options: [ALLOW, { name: "?" }, null, { ...REJECT, optionId: "yes" }],
      },
      known: { announced: true },
    },
    out: {
      sessionId: "s",
      title: "T",
      subject: { type: "tool_call", toolCall: { toolCallId: "t1", title: "T" } },
      options: [ALLOW],
    },
    notes: ["permission-option-dropped", "permission-option-dropped", "permission-option-dropped"],
  },
  {
    rule: "10.1",
    title: "no options: the caller's to answer",
    in: { v1Params: { sessionId: "s", toolCall: { toolCallId: "t1", title: "T" } }, known: { announced: true } },
    out: {
      sessionId: "s",
      title: "T",
      subject: { type: "tool_call", toolCall: { toolCallId: "t1", title: "T" } },
      options: [],
    },
    invalid: true,
  },
  {
    rule: "10.1",
    title: "no usable tool call: no subject",
    in: { v1Params: { sessionId: "s", toolCall: { title: "T" }, options: [ALLOW] }, known: { announced: false } },
    out: { sessionId: "s", title: "T", options: [ALLOW] },
    notes: ["permission-without-tool-call"],
  },
  {
    rule: "10.2",
    title: "a title of the request's own",
    in: {
      v1Params: { sessionId: "s", title: "May I?", toolCall: { toolCallId: "t1", title: "T" }, options: [ALLOW] },
      known: { title: "Known", announced: true },
    },
    out: {
      sessionId: "s",
      title: "May I?",
      subject: { type: "tool_call", toolCall: { toolCallId: "t1", title: "T" } },
      options: [ALLOW],
    },
  },
  {
    rule: "10.2",
    title: "the tracked title",
    in: {
      v1Params: { sessionId: "s", toolCall: { toolCallId: "t1", title: "" }, options: [ALLOW] },
      known: { title: "Known", announced: true },
    },
    out: {
      sessionId: "s",
      title: "Known",
      subject: { type: "tool_call", toolCall: { toolCallId: "t1" } },
      options: [ALLOW],
    },
  },
  {
    rule: "10.2",
    title: "no title anywhere",
    in: {
      v1Params: { sessionId: "s", toolCall: { toolCallId: "t1", title: null }, options: [ALLOW] },
      known: { announced: true },
    },
    out: {
      sessionId: "s",
      title: "Permission required",
      subject: { type: "tool_call", toolCall: { toolCallId: "t1" } },
      options: [ALLOW],
    },
  },
  {
    rule: "10.3",
    title: "empty fields of an announced tool call go",
    in: {
      v1Params: {
        sessionId: "s",
        toolCall: {
          toolCallId: "t1",
          title: "T",
          name: "",
          content: [],
          locations: [],
          rawInput: {},
          rawOutput: null,
          status: "pending",
          later: { a: 1 },
          count: 0,
        },
        options: [ALLOW],
      },
      known: { title: "Known", announced: true },
    },
    out: {
      sessionId: "s",
      title: "T",
      subject: {
        type: "tool_call",
        toolCall: { toolCallId: "t1", title: "T", status: "pending", later: { a: 1 }, count: 0 },
      },
      options: [ALLOW],
    },
  },
  {
    rule: "10.3",
    title: "an empty id is still the id",
    in: {
      v1Params: { sessionId: "s", toolCall: { toolCallId: "", title: "T" }, options: [ALLOW] },
      known: { announced: true },
    },
    out: {
      sessionId: "s",
      title: "T",
      subject: { type: "tool_call", toolCall: { toolCallId: "", title: "T" } },
      options: [ALLOW],
    },
  },
  {
    rule: "10.3",
    title: "empty fields of one never announced stay, null ones go",
    in: {
      v1Params: {
        sessionId: "s",
        toolCall: { toolCallId: "t1", title: "T", content: [], locations: null, rawInput: {} },
        options: [ALLOW],
      },
      known: { announced: false },
    },
    out: {
      sessionId: "s",
      title: "T",
      subject: { type: "tool_call", toolCall: { toolCallId: "t1", title: "T", content: [], rawInput: {} } },
      options: [ALLOW],
    },
  },
];

const CANCELLED = { outcome: { outcome: "cancelled" } };

/** `permissionResultToV1` with the options `yes` and `no` offered, result: v1 `RequestPermissionResponse`. */
export const permissionResults: Case[] = [
  {
    rule: "10.4",
    title: "an offered option, _meta of both",
    in: {
      response: { result: { outcome: { outcome: "selected", optionId: "yes", _meta: { m: 1 } }, _meta: { n: 2 } } },
    },
    out: { outcome: { outcome: "selected", optionId: "yes", _meta: { m: 1 } }, _meta: { n: 2 } },
  },
  {
    rule: "10.5",
    title: "cancelled, _meta of both",
    in: { response: { result: { outcome: { outcome: "cancelled", _meta: { m: 1 } }, _meta: { n: 2 } } } },
    out: { outcome: { outcome: "cancelled", _meta: { m: 1 } }, _meta: { n: 2 } },
  },
  {
    rule: "10.5",
    title: "an option that was not offered",
    in: { response: { result: { outcome: { outcome: "selected", optionId: "always" } } } },
    out: CANCELLED,
  },
  {
    rule: "10.5",
    title: "selected without an option",
    in: { response: { result: { outcome: { outcome: "selected" } } } },
    out: CANCELLED,
  },
  {
    rule: "10.5",
    title: "an unknown outcome that carries an offered option",
    in: { response: { result: { outcome: { outcome: "_approved", optionId: "yes" } } } },
    out: CANCELLED,
  },
  { rule: "10.5", title: "v1's outcome as a text", in: { response: { result: { outcome: "yes" } } }, out: CANCELLED },
  { rule: "10.5", title: "no outcome", in: { response: { result: {} } }, out: CANCELLED },
  { rule: "10.5", title: "no object", in: { response: { result: "yes" } }, out: CANCELLED },
  { rule: "10.5", title: "nothing", in: { response: {} }, out: CANCELLED },
  {
    rule: "10.5",
    title: "an error",
    in: { response: { error: { code: -32800, message: "Cancelled" } } },
    out: CANCELLED,
  },
  {
    rule: "10.5",
    title: "an error beside an approval",
    in: {
      response: {
        error: { code: -32603, message: "x" },
        result: { outcome: { outcome: "selected", optionId: "yes" } },
      },
    },
    out: CANCELLED,
  },
  {
    rule: "10.5",
    title: "_meta that is no object",
    in: { response: { result: { outcome: { outcome: "cancelled", _meta: 1 }, _meta: "x" } } },
    out: CANCELLED,
  },
];
