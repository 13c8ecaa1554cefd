import type { Case } from "./case.ts";

const ID = "00000000-0000-4000-8000-000000000000";
const PROMPT = { method: "session/prompt", sessionId: ID };

const noSuchSession = (title: string, error: { code: number; message: string; data?: unknown }): Case => ({
  rule: "12.1",
  title,
  in: { error, context: PROMPT },
  out: { code: -32002, message: error.message, data: { sessionId: ID, cause: error } },
});

const unchanged = (rule: string, title: string, error: object, context: object = PROMPT): Case => ({
  rule,
  title,
  in: { error, context },
  out: error,
});

/** `errorToV2`, result: v2 `Error`. */
export const errors: Case[] = [
  noSuchSession("-32002 alone", { code: -32002, message: "Resource not found" }),
  noSuchSession("-32002 with the id", {
    code: -32002,
    message: "Resource not found",
    data: { sessionId: ID },
  }),
  noSuchSession("-32002 with the id as a uri", {
    code: -32002,
    message: `Resource not found: session:${ID}`,
    data: { uri: `session:${ID}` },
  }),
  noSuchSession("-32002 with a sentence as a uri", {
    code: -32002,
    message: "Resource not found",
    data: { uri: `Session ${ID} not found` },
  }),
  noSuchSession("-32602, the id in the middle", { code: -32602, message: `Session ${ID} not found` }),
  noSuchSession("-32602, the id at the end", { code: -32602, message: `Session not found: ${ID}` }),
  noSuchSession("-32602, said in data", { code: -32602, message: "Invalid params", data: `Unknown sessionId: ${ID}` }),
  noSuchSession("-32603, said in data.details", {
    code: -32603,
    message: "Internal error",
    data: { details: "Session not found" },
  }),
  noSuchSession("-32603, an invalid identifier", {
    code: -32603,
    message: "Internal error",
    data: { details: `Invalid session identifier "${ID}".\n  Searched in /somewhere.` },
  }),
  noSuchSession("-32603, no rollout", {
    code: -32603,
    message: "Internal error",
    data: { details: `no rollout found for thread id ${ID}` },
  }),
  noSuchSession("-32602, no such session", { code: -32602, message: `no such session: ${ID}` }),
  noSuchSession("-32603, does not exist", { code: -32603, message: `The session "${ID}" does not exist` }),
  {
    rule: "12.1",
    title: "the message on one line",
    in: { error: { code: -32602, message: "Session not found\n  try again" }, context: PROMPT },
    out: {
      code: -32002,
      message: "Session not found try again",
      data: { sessionId: ID, cause: { code: -32602, message: "Session not found\n  try again" } },
    },
  },
  unchanged(
    "12.1",
    "the same words about a request that names no session",
    { code: -32602, message: "Session not found" },
    { method: "session/new" },
  ),
  unchanged("12.1", "-32002 about a file", {
    code: -32002,
    message: "Resource not found",
    data: { uri: "/w/out.txt" },
  }),
  unchanged("12.1", "a mode that is not found", { code: -32602, message: "Session mode plan not found" }),
  unchanged("12.1", "an unknown session mode", { code: -32602, message: "Unknown session mode: plan" }),
  unchanged("12.1", "the words under another code", { code: -32000, message: "Session not found" }),
  unchanged("2.6", "authentication required", { code: -32000, message: "Authentication required" }),
  unchanged("12.2", "a code outside the sets, data a text", { code: 400, message: "bad request", data: "details" }),
  unchanged("12.2", "data a list", { code: -32603, message: "Internal error", data: [{ path: ["cwd"] }] }),
  unchanged("12.1", "the words behind more text than is searched", {
    code: -32602,
    message: `${"-".repeat(4096)} Session not found`,
  }),
  unchanged("12.1", "the words behind more texts than are searched", {
    code: -32602,
    message: "Invalid params",
    data: [...Array.from({ length: 20 }, () => ""), "Session not found"],
  }),
  unchanged("12.2", "data with nothing in it", { code: -32603, message: "Internal error", data: { details: null } }),
  unchanged("12.2", "method not found", { code: -32601, message: "Method not found", data: { method: "x/y" } }),
  {
    rule: "12.2",
    title: "several lines become one",
    in: { error: { code: -32603, message: "First\r\n  second\nthird\n", data: "a\nb" }, context: PROMPT },
    out: { code: -32603, message: "First second third", data: "a\nb" },
  },
  {
    rule: "12.2",
    title: "an empty message",
    in: { error: { code: -32603, message: " \n" }, context: PROMPT },
    out: { code: -32603, message: "Unnamed error" },
  },
  {
    rule: "12.3",
    title: "a code that is no integer",
    in: { error: { code: "E_FAIL", message: "failed", data: 1 }, context: PROMPT },
    out: { code: -32603, message: "failed", data: { cause: { code: "E_FAIL", message: "failed", data: 1 } } },
  },
];

/** `readError`, result: v2 `Error`. */
export const readErrors: Case[] = [
  {
    rule: "12.3",
    title: "a good one",
    in: { value: { code: -1, message: "m", data: { a: 1 } } },
    out: { code: -1, message: "m", data: { a: 1 } },
  },
  { rule: "12.3", title: "no message", in: { value: { code: -1 } }, out: { code: -1, message: "Unnamed error" } },
  {
    rule: "12.3",
    title: "no code",
    in: { value: { message: "m" } },
    out: { code: -32603, message: "m", data: { cause: { message: "m" } } },
  },
  {
    rule: "12.3",
    title: "a fractional code",
    in: { value: { code: 1.5, message: "" } },
    out: { code: -32603, message: "Internal error", data: { cause: { code: 1.5, message: "" } } },
  },
  {
    rule: "12.3",
    title: "a text",
    in: { value: "boom" },
    out: { code: -32603, message: "boom", data: { cause: "boom" } },
  },
  {
    rule: "12.3",
    title: "null",
    in: { value: null },
    out: { code: -32603, message: "Internal error", data: { cause: null } },
  },
];

/** `isBusyError`. */
export const busyErrors: Case[] = [
  ...[
    "A prompt is already running for this session",
    "Session already has an active prompt",
    "Prompt already in progress",
    "Another prompt is being processed",
    "Session is busy",
    "The agent is currently busy",
    "Cannot start: a turn is in progress",
  ].map((message): Case => ({ rule: "9.4", title: message, in: { error: { code: -32603, message } }, out: true })),
  {
    rule: "9.4",
    title: "said in data",
    in: { error: { code: -32603, message: "Internal error", data: { details: "prompt already running" } } },
    out: true,
  },
  ...["The model is busy, try again later", "Internal error", "Session not found", "Permission already granted"].map(
    (message): Case => ({
      rule: "9.4",
      title: `not: ${message}`,
      in: { error: { code: -32603, message } },
      out: false,
    }),
  ),
];
