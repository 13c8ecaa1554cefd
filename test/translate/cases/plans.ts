import type { Case } from "./case.ts";

/** `planToV2` with the plan id `p`, result: v2 `SessionUpdate`. */
export const plans: Case[] = [
  {
    rule: "7.1",
    title: "entries",
    in: {
      update: {
        sessionUpdate: "plan",
        entries: [
          { content: "Look", priority: "high", status: "completed" },
          { content: "Change", priority: "low", status: "pending", _meta: { m: 1 } },
        ],
        _meta: { n: 2 },
        later: 1,
      },
    },
    out: {
      sessionUpdate: "plan_update",
      _meta: { n: 2 },
      later: 1,
      plan: {
        type: "items",
        planId: "p",
        entries: [
          { content: "Look", priority: "high", status: "completed" },
          { content: "Change", priority: "low", status: "pending", _meta: { m: 1 } },
        ],
      },
    },
  },
  {
    rule: "7.2",
    title: "no entries",
    in: { update: { sessionUpdate: "plan", entries: [] } },
    out: { sessionUpdate: "plan_update", plan: { type: "items", planId: "p", entries: [] } },
  },
  {
    rule: "7.2",
    title: "entries that are no list, null or without text",
    in: { update: { sessionUpdate: "plan", entries: null } },
    out: { sessionUpdate: "plan_update", plan: { type: "items", planId: "p", entries: [] } },
  },
  {
    rule: "7.2",
    title: "null entries and entries without text are skipped, missing fields filled",
    in: { update: { sessionUpdate: "plan", entries: [null, "x", { priority: "low" }, { content: "Do" }] } },
    out: {
      sessionUpdate: "plan_update",
      plan: { type: "items", planId: "p", entries: [{ content: "Do", priority: "medium", status: "pending" }] },
    },
  },
  {
    rule: "7.3",
    title: "plan_update keeps its kind, its id and its type",
    in: {
      update: {
        sessionUpdate: "plan_update",
        plan: { type: "items", planId: "own", entries: [{ content: "Do", priority: "urgent", status: "pending" }] },
      },
    },
    out: {
      sessionUpdate: "plan_update",
      plan: { type: "items", planId: "own", entries: [{ content: "Do", priority: "_urgent", status: "pending" }] },
    },
  },
  {
    rule: "7.3",
    title: "plan_update with a file, with an unknown type and no id",
    in: { update: { sessionUpdate: "plan_update", plan: { type: "file", planId: "own", uri: "file:///p.md" } } },
    out: { sessionUpdate: "plan_update", plan: { type: "file", planId: "own", uri: "file:///p.md" } },
  },
  {
    rule: "7.3",
    title: "plan_update of an unknown type, without an id",
    in: { update: { sessionUpdate: "plan_update", plan: { type: "board", columns: [] } } },
    out: { sessionUpdate: "plan_update", plan: { type: "_board", columns: [], planId: "p" } },
  },
  {
    rule: "7.3",
    title: "plan_removed",
    in: { update: { sessionUpdate: "plan_removed", planId: "own" } },
    out: { sessionUpdate: "plan_removed", planId: "own" },
  },
  {
    rule: "7.4",
    title: "unknown priority and status",
    in: { update: { sessionUpdate: "plan", entries: [{ content: "Do", priority: "urgent", status: "blocked" }] } },
    out: {
      sessionUpdate: "plan_update",
      plan: { type: "items", planId: "p", entries: [{ content: "Do", priority: "_urgent", status: "_blocked" }] },
    },
  },
];
