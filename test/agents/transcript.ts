// A client's view as lines of text, in which two runs can be compared and their differences be read.
import { asArray, asObject, isObject, type JsonObject, without } from "../../src/protocol/json.ts";
import type { Item, View } from "./view.ts";

/** The lines of a view. What the client was not told has none. */
export function transcript({ timeline, configOptions, sessions }: View): string[] {
  return [
    ...timeline.flatMap(itemLines),
    ...(configOptions ?? []).map((option) => `option ${option}`),
    ...asArray(sessions).map((entry) => `listed ${JSON.stringify(entry)}`),
  ];
}

/** The lines of what an `initialize` result promises: each capability by its path, each way to log in. */
export function abilities(hello: JsonObject): string[] {
  return [
    ...paths(asObject(hello["capabilities"]))
      .map((path) => `capability ${path}`)
      .sort(),
    ...asArray(hello["authMethods"]).map((method) => `login ${asObject(method)["type"]}: ${asObject(method)["name"]}`),
  ];
}

function paths(capabilities: JsonObject): string[] {
  return Object.entries(without(capabilities, "_meta")).flatMap(([name, value]) => {
    const below = isObject(value) ? paths(value) : [];
    return below.length === 0 ? [name] : below.map((path) => `${name}.${path}`);
  });
}

/** The lines of what a session has beside its timeline, in the end. */
export function lasting({ configOptions, title }: View): string[] {
  return [`title ${title}`, ...(configOptions ?? []).map((option) => `option ${option}`)];
}

/**
 * The items of a turn with tools called at once, in an order of their own: the tool calls by title, then the permissions
 * by subject, where the first of them was. What the state was between and after them depends on who was faster.
 */
export function inAnyOrder(items: readonly Item[]): Item[] {
  const first = items.findIndex(isOfTools);
  if (first < 0) return [...items];
  const last = items.findLastIndex(isOfTools);
  const within = items.slice(first, last + 1);
  const calls = within.flatMap((item) => (item.type === "tool_call" ? [item] : []));
  const permissions = within.flatMap((item) => (item.type === "permission" ? [item] : []));
  const others = within.filter((item) => !isOfTools(item) && item.type !== "state");
  const rest = items.slice(last + 1);
  return [
    ...items.slice(0, first),
    ...calls.sort(byTitle),
    ...permissions.sort((one, other) => one.subject.localeCompare(other.subject)),
    ...others,
    ...rest.slice(rest.findIndex((item) => item.type !== "state" || item.state.startsWith("idle"))),
  ];
}

/** The items of a replay with tool calls next to each other by title: those called at once are kept as they ended. */
export function neighboursInAnyOrder(items: readonly Item[]): Item[] {
  const start = items.findIndex(({ type }) => type === "tool_call");
  if (start < 0) return [...items];
  const count = [...items.slice(start), undefined].findIndex((item) => item?.type !== "tool_call");
  const calls = items.slice(start, start + count).flatMap((item) => (item.type === "tool_call" ? [item] : []));
  return [...items.slice(0, start), ...calls.sort(byTitle), ...neighboursInAnyOrder(items.slice(start + count))];
}

/**
 * The items of a turn that is cancelled at a permission, without what the agent said after it, and what its tool put
 * out: it may get that far before the cancel reaches it.
 */
export function untilCancelled(items: readonly Item[]): Item[] {
  const asked = items.findIndex(({ type }) => type === "permission");
  return items
    .filter(({ type }, index) => type !== "agent_message" || index < asked)
    .map((item) => (item.type === "tool_call" ? { ...item, content: [] } : item));
}

const byTitle = (one: { title: unknown }, other: { title: unknown }) =>
  String(one.title).localeCompare(String(other.title));

const isOfTools = ({ type }: Item) => type === "tool_call" || type === "permission";

function itemLines(item: Item): string[] {
  switch (item.type) {
    case "tool_call":
      return [
        `tool_call ${item.kind} ${item.status}: ${item.title}`,
        ...item.locations.map((location) => `  at ${location}`),
        ...item.content.flatMap((content) => contentLines(asObject(content))),
      ];
    case "plan":
      return ["plan", ...item.entries.map((entry) => `  ${entry}`)];
    case "permission":
      return [
        `permission for ${item.subject}, asked as ${item.title}`,
        ...item.options.map((option) => `  ${option}`),
        `  answered ${item.answer}`,
      ];
    case "state":
      return [`state ${item.state}`];
    case "error":
      return [`error ${item.code} of ${item.method}`];
    case "notice":
      return [`notice: ${item.title}`];
    default:
      return [`${item.type}: ${JSON.stringify(item.text)}`];
  }
}

function contentLines(content: Record<string, unknown>): string[] {
  if ("changes" in content) {
    const changes = asArray(content["changes"]).map(asObject);
    return [
      ...changes.map(({ operation, path, fileType }) => `  diff ${operation} ${path} ${fileType ?? ""}`.trimEnd()),
      ...String(content["patch"] ?? "no patch")
        .trimEnd()
        .split("\n")
        .map((line) => `    ${line}`),
    ];
  }
  if ("terminal" in content) {
    const { terminal, output, exitStatus } = content;
    return [`  terminal ${terminal}: ${JSON.stringify(output)}, exit ${JSON.stringify(exitStatus)}`];
  }
  return [`  content ${JSON.stringify(content)}`];
}
